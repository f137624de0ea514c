"""Calls that need several applications at once: studies of drives and recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from giveway.core.errors import UnknownNameError
from giveway.drive.roads import road_of
from giveway.reports.results import Results
from giveway.study.analysis import DRAWS
from giveway.study.creation import Plan
from giveway.study.creation import create_study as write_study
from giveway.study.design import StudyDesign, parse_design, study_id_from
from giveway.study.sources import find_sources
from giveway.study.workspace import Study, open_study


def create_study(
    out: Path | str,
    *,
    clips: Path | str,
    num_clips: int = 36,
    anchors: int = 2,
    seconds: float = 10.0,
    seed: int = 0,
    recorded: str | None = None,
    video: bool = False,
    data: Path | str | None = None,
    texts: Path | None = None,
    **settings: Any,
) -> Study:
    """Turn recordings or logs into a balanced rating study.

    Args:
        out: study folder to create.
        clips: a data root, the logs of drives, exported failures, or a folder with one of these per condition.
        num_clips: main clips, broken ones included.
        anchors: clips among them whose motion is broken on purpose.
        seconds: length of a clip.
        seed: of choice and orders.
        recorded: condition with recorded traffic.
        video: also render MP4 files and show them first.
        data: for logs of drives: the recordings, for their maps.
        texts: translation file.
        settings: other fields of the declaration, e.g. ``title``, ``contact``, ``order={"clips_per_rater": 10}``.

    Raises:
        ConfigError: a field that does not exist or a value that is not allowed.
        EmptySelectionError: too few clips.
    """
    content = _declaration(Path(out).name, settings, seconds=seconds, seed=seed, video=video)
    folder = None if data is None else Path(data)
    write_study(
        find_sources(Path(clips), road_of=lambda case: road_of(case, folder)),
        Path(out),
        parse_design(content, where="create_study"),
        Plan(num_clips=num_clips, num_anchors=anchors, recorded=recorded, video=video),
        texts=texts,
    )
    return open_study(Path(out))


def serve_study(
    study: Study | Path | str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    database: str | None = None,
    https: bool = False,
    on_ready: Callable[[str, str], None] | None = None,
) -> None:
    """Put a study on the web until stopped.

    Args:
        study: an opened study or its folder.
        host: address to bind; the default is reachable from this machine only.
        port: 0 for any free one.
        database: database URL; SQLite in the folder without it.
        https: raters come through HTTPS: secure cookies.
        on_ready: called with the address and the researcher's token; both are printed without it.

    Raises:
        UsageError: the port cannot be bound.
    """
    from giveway.serve.web.server import researcher_token, serve

    token, _ = researcher_token()
    tell = on_ready or (
        lambda address, secret: print(
            f"raters       {address}\nresearchers  {address}/researcher\ntoken        {secret}", flush=True
        )
    )
    opened = study if isinstance(study, Study) else open_study(Path(study), url=database)
    serve(opened, host=host, port=port, token=token, https=https, on_ready=lambda address: tell(address, token))


def analyze_study(study: Study | Path | str, *, draws: int = DRAWS, database: str | None = None) -> Results:
    """Results of a study: tables ``conditions``, ``differences``, ``agreement``, ``exclusions``, figure ``ratings``.

    Args:
        study: an opened study or its folder.
        draws: bootstrap draws.
        database: database URL; SQLite in the folder without it.
    """
    if isinstance(study, Study):
        address = study.engine.url.render_as_string(hide_password=False)
        return Results.open(study.folder, draws=draws, database=database or address)
    return Results.open(study, draws=draws, database=database)


def _declaration(name: str, settings: Mapping[str, Any], *, seconds: float, seed: int, video: bool) -> dict[str, Any]:
    """The declaration of a study as plain values; what is nested is merged."""
    for field in settings:
        if field not in StudyDesign.model_fields:
            raise UnknownNameError("field of a study", field, StudyDesign.model_fields)
    clips = {"duration_s": seconds, "player": "video" if video else "canvas", **settings.get("clips", {})}
    order = {"seed": seed, **settings.get("order", {})}
    return {"id": study_id_from(name), **settings, "clips": clips, "order": order}

"""``giveway list``, ``status``, ``report`` and ``cite``: components and any result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from giveway.cli.command import Call, command, single
from giveway.cli.envelope import Done, failed_cells, failure_lines
from giveway.cli.options import Opt
from giveway.cli.tables import listing
from giveway.core.errors import UnknownNameError

list_app, status_app, report_app, cite_app = single(), single(), single(), single()

Results = Annotated[Path, "A store, a study folder, or a folder that holds several of them."]
KINDS = ("datasets", "predictors", "planners", "drivers", "roads", "metrics", "searches", "presets", "switches")
"""Words of ``giveway list``."""


@command(list_app, "list")
def list_components(
    call: Call,
    kind: Annotated[str, f"{', '.join(KINDS)}."],
    name: Annotated[str | None, "Print all that is known about this one."] = None,
) -> Done:
    """List datasets, predictors, metrics and other components."""
    if kind not in KINDS:
        raise UnknownNameError("kind of component", kind, KINDS, where="giveway list")
    found = _components(kind)
    if name is not None:
        if name not in found:
            raise UnknownNameError(kind.removesuffix("s"), name, found, where=f"giveway list {kind}")
        found = {name: found[name]}
        facts = [(fact, str(value)) for fact, value in found[name].items() if value not in (None, "")]
        text = [f"{fact:<10} {value}".replace("\n", f"\n{'':<11}") for fact, value in [("name", name), *facts]]
        return Done(result={"kind": kind, kind: [{"name": name, **found[name]}]}, text=text)
    heads = list(dict.fromkeys(fact for facts in found.values() for fact in facts if fact in SHOWN))
    rows = [(name, *(str(facts.get(head, "")) for head in heads)) for name, facts in found.items()]
    return Done(
        result={"kind": kind, kind: [{"name": name, **facts} for name, facts in found.items()]},
        text=listing(kind, ("name", *heads), rows, notes=[f"more about one of them: giveway list {kind} NAME"]),
    )


SHOWN = ("title", "printed", "paper", "clean", "about")
"""Facts in the listing; all of them are in the document and in ``giveway list KIND NAME``."""


@command(status_app)
def status(
    call: Call,
    store: Annotated[str, "Store, training or study: a folder, or s3://… for a store."],
    *,
    verify: Annotated[bool, "Read every file again and compare it with its digest."] = False,
) -> Done:
    """Count cells of a store: done, failed, missing, damaged."""
    from giveway.core.urls import is_url
    from giveway.experiments import status as status_of
    from giveway.experiments import verify as verify_store
    from giveway.experiments.places import readable_store
    from giveway.experiments.store import STORE_FILE
    from giveway.reports.results import Results

    altered, runs = (), ()
    if is_url(store) or (Path(store) / STORE_FILE).is_file():
        opened = readable_store(store)
        altered = verify_store(opened) if verify else ()
        state, runs = status_of(opened), opened.provenance()
    else:
        results = Results.open(store)
        state, runs = results.status, results.runs
    damaged = list({d.key: d for d in (*state.damaged, *state.documents, *altered)}.values())
    failures = failed_cells(state.failures)
    last: Mapping[str, Any] = runs[-1] if runs else {}
    cells = {name: getattr(state, name) for name in ("total", "done", "failed", "missing")}
    text = [f"{state.done} of {state.total} done, {state.failed} failed, {state.missing} missing"]
    text += ["a run is active"] if state.running else []
    text += [f"last run {last['run']} started {last['started']}"] if "run" in last else []
    text += [*failure_lines(failures), *(f"damaged: {d.key} ({d.reason})" for d in damaged)]
    if verify:
        text.append(
            "start the same run again to mend cells" if altered else "every file with a digest is what was written"
        )
    return Done(
        result={
            "store": store,
            "cells": cells,
            "running": state.running,
            "runs": len(runs),
            "last_run": last.get("run"),
            "damaged": damaged,
            "failed": failures,
        },
        text=text,
        holds=not altered,
    )


@command(report_app)
def report(
    call: Call,
    folder: Results,
    *,
    out: Annotated[Path, "Folder for the site; an older site there is replaced."],
    title: Annotated[str | None, "Heading of the first page."] = None,
    data: Path | None = None,
    recorded: Annotated[Path | None, "INTERACTION recordings that generated motion is compared with."] = None,
    samples: Annotated[int, Opt("Cells with per-sample tables, per store.", min=0)] = 500,
    max_replays: int = 200,
    draws: Annotated[int, "Bootstrap draws for studies."] = 2000,
    database: str | None = None,
) -> Done:
    """Write a static site of results that opens from disk."""
    from giveway.reports.content import PageLimits
    from giveway.reports.find import make_report

    with call.counting("writing") as count:
        made = make_report(
            folder,
            out,
            title=title,
            limits=PageLimits(samples=samples, replays=max_replays),
            data=data,
            recorded=recorded,
            draws=draws,
            database=database,
            progress=lambda files, name: count(files, 0, name),
        )
    sections = [{"id": s.id, "title": s.title, "kind": s.kind, "pages": len(s.pages)} for s in made.parts]
    return Done(
        result={"page": made.page, "files": made.files, "sections": sections},
        text=[*(f"{s.title}: {s.pages[0].lead}" for s in made.parts), f"{made.files} files; open {made.page}"],
    )


@command(cite_app)
def cite(
    call: Call,
    folder: Results,
    *,
    format: Annotated[Literal["text", "bibtex"], "text or bibtex."] = "text",
    out: Annotated[Path | None, "Write to this file instead of printing."] = None,
) -> Done:
    """Print references for what results used."""
    from giveway.core.files import write_text
    from giveway.reports.find import citations_of
    from giveway.reports.find import cite as cite_folder

    found = [{"key": c.key, "text": c.text, "for": c.used_for, "bibtex": c.bibtex} for c in citations_of(folder)]
    text = cite_folder(folder, form=format)
    if out is not None:
        write_text(out, text)
        text = f"{len(found)} references written to {out}"
    return Done(result={"out": out, "citations": found}, text=text)


def _components(kind: str) -> dict[str, dict[str, Any]]:
    """Name to facts."""
    if kind == "presets":
        from giveway.gaps.presets import PRESETS

        counted = ("datasets", "t0", "n_input", "models")
        return {
            name: {**values, "about": ", ".join(f"{len(values[n])} {n}" for n in counted if n in values)}
            for name, values in PRESETS.items()
        }
    if kind == "switches":
        from giveway.gaps.profile import PROFILES, Profile

        return {
            name: {**{which: getattr(PROFILES[which], name) for which in PROFILES}, "effect": field.description}
            for name, field in Profile.model_fields.items()
        }
    if kind == "drivers":
        from giveway.generate.drivers.cars import PolicyDriver, baselines
        from giveway.sim.drivers import DRIVERS

        attacking = {"policy": PolicyDriver, **baselines()}
        known = {name: {"of": "drive", **_facts(DRIVERS.get(name))} for name in DRIVERS.names()}
        named = {name if name not in known else f"{name} (generate)": maker for name, maker in attacking.items()}
        return known | {name: {"of": "generate", **_facts(maker)} for name, maker in named.items()}
    from giveway.components import registry_of

    registry = registry_of(kind.removesuffix("s") if kind != "searches" else "search")
    return {name: _facts(registry.get(name)) for name in registry.names()}


def _facts(component: Any) -> dict[str, Any]:
    """What a component says about itself: its fact sheet, and the first sentence of its docstring."""
    info = getattr(component, "info", None)
    known = {f.name: getattr(info, f.name) for f in dataclasses.fields(info)} if dataclasses.is_dataclass(info) else {}
    about = " ".join((component.__doc__ or "").strip().split("\n\n")[0].split())
    return {**{fact: value for fact, value in known.items() if fact != "name"}, "about": about}

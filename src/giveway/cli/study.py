"""``giveway study``: ask people whether it looks real."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from giveway.cli.output import print_json
from giveway.core.errors import UsageError
from giveway.core.files import write_text
from giveway.core.origins import banner

if TYPE_CHECKING:
    from giveway.study.creation import Progress

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

StudyFolder = Annotated[Path, typer.Argument(help="Study folder.")]
DatabaseUrl = Annotated[
    str | None,
    typer.Option("--database", envvar="GIVEWAY_STUDY_DATABASE", help="Database URL; default SQLite in the folder."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def create(
    clips: Annotated[
        Path,
        typer.Option(
            "--clips", help="A data root, the logs of giveway drive run, or one such subfolder per condition."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Study folder to create.")],
    num_clips: Annotated[int, typer.Option(min=1, max=2000, help="Main clips, broken ones included.")] = 36,
    anchors: Annotated[int, typer.Option(min=0, max=20, help="Clips with motion broken on purpose.")] = 2,
    practice: Annotated[int, typer.Option(min=0, max=6, help="Practice clips.")] = 2,
    checks: Annotated[int, typer.Option(min=0, max=10, help="Attention checks.")] = 2,
    repeats: Annotated[float, typer.Option(min=0, max=1, help="Share of clips shown twice.")] = 0.1,
    per_rater: Annotated[
        int | None, typer.Option(min=1, max=40, help="Clips one person sees; default all, at most 40.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.5, max=60, help="Length of a clip.")] = 10.0,
    up: Annotated[str, typer.Option(help="Orientation: north or ego.")] = "north",
    recorded: Annotated[str | None, typer.Option(help="Condition with recorded traffic.")] = None,
    origin: Annotated[
        str | None,
        typer.Option(help="recorded: your word, kept in the study, that unmarked files were recorded in real traffic."),
    ] = None,
    template: Annotated[
        str, typer.Option(help="balanced, or published: the printed form of the SANDWICH study, word for word.")
    ] = "balanced",
    video: Annotated[bool, typer.Option("--video", help="Also render MP4 files and show them first.")] = False,
    title: Annotated[str | None, typer.Option(help="Title that raters read.")] = None,
    contact: Annotated[str, typer.Option(help="Whom raters can ask.")] = "",
    language: Annotated[str, typer.Option(help="Language of the texts.")] = "en",
    texts: Annotated[Path | None, typer.Option(help="Translation file; see docs.")] = None,
    data: Annotated[Path | None, typer.Option(help="For drive logs: the recordings, for their maps.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of choice and orders.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Turn a folder of logs or recordings into a balanced study."""
    from giveway.drive.roads import road_of
    from giveway.study.creation import Plan, create_study
    from giveway.study.design import parse_design, study_id_from
    from giveway.study.sources import find_sources
    from giveway.study.templates import published_plan

    content: dict[str, Any] = {
        "id": study_id_from(out.name),
        "contact": contact,
        "language": language,
        "clips": {"duration_s": seconds, "up": up, "player": "video" if video else "canvas"},
        "order": {
            "seed": seed,
            "clips_per_rater": per_rater,
            "repeat_share": repeats,
            "attention_checks": checks,
            "practice_clips": practice,
        },
    }
    if title is not None:
        content["title"] = title
    if origin is not None:
        content["origin"] = origin
    if texts is not None and not texts.is_file():
        raise UsageError("there is no such translation file", where=texts)
    plan = Plan(num_clips=num_clips, num_anchors=anchors, recorded=recorded, video=video)
    if template == "published":
        content, plan = published_plan(content, plan)
    elif template != "balanced":
        raise UsageError(f"unknown template {template!r}", found="known: balanced, published")
    design = parse_design(content, where="options of giveway study create")
    with _progress("cutting clips", quiet=as_json) as progress:
        made = create_study(
            find_sources(clips, road_of=lambda case: road_of(case, data)),
            out,
            design,
            plan,
            texts=texts,
            progress=progress,
        )
    counts: dict[str, int] = {}
    for clip in made.clips:
        name = "practice" if clip.role == "practice" else clip.condition
        counts[name] = counts.get(name, 0) + 1
    origins = list(dict.fromkeys(str(clip.origin) for clip in made.clips if clip.role == "main"))
    if as_json:
        print_json(
            {
                "study": out,
                "origin": origins,
                "id": design.id,
                "clips": counts,
                "seed": seed,
                "warnings": made.warnings,
            }
        )
        return
    if said := banner("what raters see", origins):
        typer.echo(said)
    typer.echo(f"study {design.id!r} in {out}: {', '.join(f'{n} {name}' for name, n in counts.items())}")
    for warning in made.warnings:
        typer.echo(f"  note: {warning}", err=True)
    typer.echo(f"  look at and change {out / 'study.toml'}, then: giveway study serve {out}")


@app.command()
def serve(
    study: StudyFolder,
    host: Annotated[
        str, typer.Option(help="Address to bind; the default is reachable from this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")] = 8000,
    database: DatabaseUrl = None,
    https: Annotated[bool, typer.Option("--https", help="Raters come through HTTPS: secure cookies.")] = False,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Trust a proxy on this machine about clients.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line per request.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a study on the web."""
    from giveway.serve.web.server import TOKEN_VARIABLE, is_loopback, researcher_token
    from giveway.serve.web.server import serve as run
    from giveway.study.workspace import open_study

    token, is_new = researcher_token()
    opened = open_study(study, url=database)

    def announce(address: str) -> None:
        if as_json:
            print_json({"address": address, "researcher": f"{address}/researcher", "token": token if is_new else None})
        else:
            typer.echo(f"raters       {address}")
            typer.echo(f"researchers  {address}/researcher")
            typer.echo(f"token        {token}" if is_new else f"token        (from {TOKEN_VARIABLE})")
        if not is_loopback(host):
            typer.echo(
                f"warning: {host} can be reached from other machines; put a proxy with HTTPS in front and give --https"
                if not https
                else f"warning: {host} can be reached from other machines",
                err=True,
            )
        import sys

        sys.stdout.flush()

    run(
        opened,
        host=host,
        port=port,
        token=token,
        https=https,
        behind_proxy=behind_proxy,
        access_log=not quiet,
        on_ready=announce,
    )


@app.command()
def export(
    study: StudyFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder for the tables.")],
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write the answers as tables with a code book."""
    from giveway.study.export import export_study
    from giveway.study.workspace import open_study

    files = export_study(open_study(study, url=database), out)
    if as_json:
        print_json({"files": files})
    else:
        for path in files:
            typer.echo(str(path))


@app.command()
def analyze(
    study: StudyFolder,
    out: Annotated[Path | None, typer.Option("--out", help="HTML report; default report.html in the folder.")] = None,
    draws: Annotated[int, typer.Option(min=100, max=100_000, help="Bootstrap draws.")] = 2000,
    no_model: Annotated[bool, typer.Option("--no-model", help="Leave the mixed model out.")] = False,
    one_way: Annotated[
        bool, typer.Option("--one-way", help="Also intervals of kappa for these raters, and for these clips, only.")
    ] = False,
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Print the tables, with and without exclusions, and write an HTML report."""
    from giveway.study.analysis import analyze_study
    from giveway.study.pages import html_report
    from giveway.study.report import text_report
    from giveway.study.workspace import open_study

    opened = open_study(study, url=database)
    analysis = analyze_study(
        opened, draws=draws, with_model=not no_model, over=("both", "clips", "raters") if one_way else ("both",)
    )
    path = out or study / "report.html"
    write_text(path, html_report(opened, analysis))
    if as_json:
        print_json({"report": path, "analysis": analysis})
    else:
        typer.echo(text_report(analysis))
        typer.echo(f"report: {path}")


@app.command()
def rehearse(
    study: StudyFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder for the copy that is answered.")],
    raters: Annotated[int, typer.Option(min=1, max=2000, help="Simulated raters.")] = 30,
    seed: Annotated[int, typer.Option(help="Seed of their answers.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Let simulated raters answer a copy of a study, to see its tables before people come."""
    from giveway.study.rehearsal import rehearse as run

    made = run(study, out, num_raters=raters, seed=seed)
    if as_json:
        print_json({"study": out, "raters": raters, "clips": len(made.stimuli), "seed": seed})
        return
    typer.echo(f"{raters} simulated raters went through a copy of {study}; their answers mean nothing")
    typer.echo(f"  next: giveway study analyze {out}")


@app.command()
def power(
    raters: Annotated[int, typer.Option(min=2, max=10_000, help="Raters.")] = 30,
    clips: Annotated[int, typer.Option(min=2, max=1000, help="Clips per condition.")] = 12,
    rater_sd: Annotated[float, typer.Option(min=0, max=5, help="Spread of raters [logit].")] = 0.8,
    clip_sd: Annotated[float, typer.Option(min=0, max=5, help="Spread of clips [logit].")] = 0.7,
    alpha: Annotated[float, typer.Option(min=0.0001, max=0.5, help="Two-sided level.")] = 0.05,
    wanted: Annotated[float, typer.Option("--power", min=0.1, max=0.999, help="Wanted power.")] = 0.8,
    draws: Annotated[int, typer.Option(min=50, max=100_000, help="Simulated studies per effect.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    as_json: AsJson = False,
) -> None:
    """How large a difference between two conditions a study of this size can detect."""
    from giveway.core.seeds import stream
    from giveway.study.power import simulate_power

    curve = simulate_power(
        num_raters=raters,
        clips_per_condition=clips,
        rater_sd=rater_sd,
        clip_sd=clip_sd,
        alpha=alpha,
        power=wanted,
        draws=draws,
        rng=stream(seed, "power"),
    )
    if as_json:
        print_json(curve)
        return
    typer.echo(f"{raters} raters, {clips} clips per condition, {draws} simulated studies per line")
    typer.echo("  shift [logit]   difference of means   power")
    for point in curve.points:
        typer.echo(f"  {point.effect_logit:10.2f} {point.difference:18.2f} {point.power:12.2f}")
    if curve.detectable_logit == curve.detectable_logit:
        typer.echo(
            f"power {wanted:g} is reached at a shift of {curve.detectable_logit:.2f} logit, "
            f"a difference of {curve.detectable_difference:.2f} points"
        )
    else:
        typer.echo(f"power {wanted:g} is not reached; ask more people or show more clips")


@app.command()
def payments(
    study: StudyFolder,
    delete: Annotated[bool, typer.Option("--delete", help="Forget all external ids.")] = False,
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """External ids with completion codes, for paying people; ``--delete`` forgets them."""
    from giveway.study.forgetting import forget_deleted
    from giveway.study.monitor import delete_external_ids
    from giveway.study.monitor import payments as list_payments
    from giveway.study.workspace import open_study

    opened = open_study(study, url=database)
    if delete:
        count = delete_external_ids(opened)
        gone = forget_deleted(opened.engine)
        if as_json:
            print_json({"deleted": count, "gone_from_files": gone})
        else:
            typer.echo(f"{count} external ids deleted")
            if not gone:
                typer.echo("  note: the database is busy, so their bytes stay in its files; run this again", err=True)
        return
    rows = list_payments(opened)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        name = row["external_id"] or "(sealed with another key)"
        typer.echo(f"{name}\t{row['completion_code'] or 'not finished'}")


@contextlib.contextmanager
def _progress(what: str, *, quiet: bool) -> Generator[Progress | None]:
    """A bar on a terminal, a line per tenth otherwise."""
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        said = -1

        def say(done: int, total: int, name: str) -> None:
            nonlocal said
            if (tenth := 10 * done // max(1, total)) > said:
                said = tenth
                typer.echo(f"{what}: {done} of {total} ({name})", err=True)

        yield say
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task(what)

        def update(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{what}: {name}")

        yield update

"""``giveway study``: ask people whether it looks real; ``giveway agree``: how far raters agree."""

from __future__ import annotations

from collections import Counter
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal

from giveway.cli.command import Call, command, group, single
from giveway.cli.envelope import Done
from giveway.cli.options import Opt
from giveway.cli.tables import listing
from giveway.core.errors import UsageError
from giveway.core.files import write_text
from giveway.core.origins import banner

app = group("Ask people whether traffic looks real.")
agree_app = single()

Folder = Annotated[Path, "Study folder."]
STUDY = ("study",)


@command(app, needs=STUDY)
def create(
    call: Call,
    clips: Annotated[Path, "Recordings, a folder of giveway drive run, or one such subfolder per condition."],
    *,
    out: Annotated[Path, "Study folder to create."],
    num_clips: Annotated[int, Opt("Main clips, broken ones included.", min=1, max=2000)] = 36,
    anchors: Annotated[int, Opt("Clips with motion broken on purpose.", min=0, max=20)] = 2,
    practice: Annotated[int, Opt("Practice clips.", min=0, max=6)] = 2,
    checks: Annotated[int, Opt("Attention checks.", min=0, max=10)] = 2,
    repeats: Annotated[float, Opt("Share of clips shown twice.", min=0, max=1)] = 0.1,
    per_rater: Annotated[int | None, Opt("Clips one person sees; all, at most 40, without it.", min=1, max=40)] = None,
    seconds: Annotated[float, Opt("Length of a clip.", min=0.5, max=60)] = 10.0,
    up: Annotated[str, "Orientation: north or ego."] = "north",
    recorded: Annotated[str | None, "Condition with recorded traffic."] = None,
    origin: Annotated[str | None, "recorded: your word that unmarked files were recorded in real traffic."] = None,
    template: Annotated[
        Literal["balanced", "published"], "published: the printed form of the SANDWICH study."
    ] = "balanced",
    video: Annotated[bool, "Also render MP4 files and show them first."] = False,
    title: Annotated[str | None, "Title that raters read."] = None,
    contact: Annotated[str, "Whom raters can ask."] = "",
    language: Annotated[str, "Language of the texts."] = "en",
    texts: Annotated[Path | None, "Translation file; see docs."] = None,
    data: Path | None = None,
    seed: Annotated[int, "Seed of choice and orders."] = 0,
) -> Done:
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
        **({} if title is None else {"title": title}),
        **({} if origin is None else {"origin": origin}),
    }
    if texts is not None and not texts.is_file():
        raise UsageError("there is no such translation file", where=texts)
    plan = Plan(num_clips=num_clips, num_anchors=anchors, recorded=recorded, video=video)
    if template == "published":
        content, plan = published_plan(content, plan)
    design = parse_design(content, where="options of giveway study create")
    sources = find_sources(clips, road_of=lambda case: road_of(case, data))
    with call.counting("cutting clips") as progress:
        made = create_study(sources, out, design, plan, texts=texts, progress=progress)
    counts = Counter("practice" if clip.role == "practice" else clip.condition for clip in made.clips)
    origins = list(dict.fromkeys(str(clip.origin) for clip in made.clips if clip.role == "main"))
    for warning in made.warnings:
        call.warn(warning)
    return Done(
        result={"study": out, "origin": origins, "id": design.id, "clips": counts, "seed": seed},
        text=[
            banner("what raters see", origins) or "",
            f"study {design.id!r} in {out}: {', '.join(f'{n} {name}' for name, n in counts.items())}",
            f"  look at and change {out / 'study.toml'}, then: giveway study serve {out}",
        ],
    )


@command(app, needs=STUDY)
def rehearse(
    call: Call,
    study: Folder,
    *,
    out: Annotated[Path, "Folder for the copy that is answered."],
    raters: Annotated[int, Opt("Simulated raters.", min=1, max=2000)] = 30,
    seed: Annotated[int, "Seed of their answers."] = 0,
) -> Done:
    """Let simulated raters answer a copy of a study."""
    from giveway.study.rehearsal import rehearse as run

    made = run(study, out, num_raters=raters, seed=seed)
    return Done(
        result={"study": out, "raters": raters, "clips": len(made.stimuli), "seed": seed},
        text=[
            f"{raters} simulated raters went through a copy of {study}; their answers mean nothing",
            f"  next: giveway study analyze {out}",
        ],
    )


@command(app)
def power(
    call: Call,
    *,
    raters: Annotated[int, Opt("Raters.", min=2, max=10_000)] = 30,
    clips: Annotated[int, Opt("Clips per condition.", min=2, max=1000)] = 12,
    rater_sd: Annotated[float, Opt("Spread of raters [logit].", min=0, max=5)] = 0.8,
    clip_sd: Annotated[float, Opt("Spread of clips [logit].", min=0, max=5)] = 0.7,
    alpha: Annotated[float, Opt("Two-sided level.", min=0.0001, max=0.5)] = 0.05,
    wanted: Annotated[float, Opt("Wanted power.", ("--power",), min=0.1, max=0.999)] = 0.8,
    draws: Annotated[int, "Simulated studies per effect."] = 1000,
    seed: int = 0,
) -> Done:
    """Print what difference a study of this size can detect."""
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
    reached = (
        f"power {wanted:g} is not reached; ask more people or show more clips"
        if isnan(curve.detectable_logit)
        else f"power {wanted:g} is reached at a shift of {curve.detectable_logit:.2f} logit, "
        f"a difference of {curve.detectable_difference:.2f} points"
    )
    rows = [(f"{point.effect_logit:.2f}", point.difference, point.power) for point in curve.points]
    heads = ("shift [logit]", "difference of means", "power")
    return Done(
        result={"curve": curve},
        text=[
            f"{raters} raters, {clips} clips per condition, {draws} simulated studies per line",
            listing("Power", heads, rows, notes=[reached], form=".2f"),
        ],
    )


@command(app, needs=STUDY)
def serve(
    call: Call,
    study: Folder,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    database: str | None = None,
    https: Annotated[bool, "Raters come through HTTPS: secure cookies."] = False,
    behind_proxy: Annotated[bool, "Trust a proxy on this machine about clients."] = False,
) -> None:
    """Put a study on the web; --quiet: no line per request."""
    from giveway.serve.web.server import TOKEN_VARIABLE, is_loopback, researcher_token
    from giveway.serve.web.server import serve as run
    from giveway.study.workspace import open_study

    token, is_new = researcher_token()
    opened = open_study(study, url=database)

    def announce(address: str) -> None:
        if not is_loopback(host):
            call.warn(
                f"{host} can be reached from other machines"
                + ("" if https else "; put a proxy with HTTPS in front and give --https")
            )
        call.finish(
            Done(
                result={"address": address, "researcher": f"{address}/researcher", "token": token if is_new else None},
                text=[
                    f"raters       {address}",
                    f"researchers  {address}/researcher",
                    f"token        {token}" if is_new else f"token        (from {TOKEN_VARIABLE})",
                ],
            )
        )

    run(
        opened,
        host=host,
        port=port,
        token=token,
        https=https,
        behind_proxy=behind_proxy,
        access_log=not call.is_quiet,
        on_ready=announce,
    )


@command(app, needs=STUDY)
def analyze(
    call: Call,
    study: Folder,
    *,
    out: Annotated[Path | None, "HTML report; report.html in the folder without it."] = None,
    draws: Annotated[int, Opt("Bootstrap draws.", min=100, max=100_000)] = 2000,
    no_model: Annotated[bool, "Leave the mixed model out."] = False,
    one_way: Annotated[bool, "Also intervals of kappa for these raters, and for these clips, only."] = False,
    database: str | None = None,
) -> Done:
    """Print the tables, with and without exclusions; write a report."""
    from giveway.study.analysis import analyze_study
    from giveway.study.pages import html_report
    from giveway.study.report import text_report
    from giveway.study.workspace import open_study

    opened = open_study(study, url=database)
    over = ("both", "clips", "raters") if one_way else ("both",)
    analysis = analyze_study(opened, draws=draws, with_model=not no_model, over=over)
    path = out or study / "report.html"
    write_text(path, html_report(opened, analysis))
    return Done(result={"report": path, "analysis": analysis}, text=[text_report(analysis), f"report: {path}"])


@command(app, needs=STUDY)
def export(
    call: Call, study: Folder, *, out: Annotated[Path, "Folder for the tables."], database: str | None = None
) -> Done:
    """Write the answers as tables with a code book."""
    from giveway.study.export import export_study
    from giveway.study.workspace import open_study

    files = export_study(open_study(study, url=database), out)
    return Done(result={"files": files}, text=[str(path) for path in files])


@command(app, needs=STUDY)
def payments(
    call: Call,
    study: Folder,
    *,
    delete: Annotated[bool, "Forget all external ids."] = False,
    database: str | None = None,
) -> Done:
    """Print external ids with completion codes, for paying people."""
    from giveway.study.forgetting import forget_deleted
    from giveway.study.monitor import delete_external_ids
    from giveway.study.monitor import payments as list_payments
    from giveway.study.workspace import open_study

    opened = open_study(study, url=database)
    if delete:
        count, is_gone = delete_external_ids(opened), forget_deleted(opened.engine)
        if not is_gone:
            call.warn("the database is busy, so their bytes stay in its files; run this again")
        result = {"payments": [], "deleted": count, "gone_from_files": is_gone}
        return Done(result=result, text=f"{count} external ids deleted")
    rows = list_payments(opened)
    lines = [
        f"{row['external_id'] or '(sealed with another key)'}\t{row['completion_code'] or 'not finished'}"
        for row in rows
    ]
    return Done(result={"payments": rows, "deleted": 0, "gone_from_files": None}, text=lines)


@command(agree_app)
def agree(
    call: Call,
    file: Annotated[Path, "Counts table (header = categories) or rows of clip, rater, rating."],
    *,
    counts: Annotated[bool, "Read as a counts table, whatever the header."] = False,
    long: Annotated[bool, "Read as long rows, whatever the header."] = False,
    categories: Annotated[str | None, "All categories, lowest first, by commas; or their number."] = None,
    weights: Annotated[Literal["quadratic", "linear", "identity"], "Weights of partial agreement."] = "quadratic",
    draws: int = 2000,
    over: Annotated[Literal["both", "clips", "raters"], "What the interval takes as a sample."] = "both",
    level: Annotated[float, "Coverage of the intervals, between 0 and 1."] = 0.95,
    seed: Annotated[int, "Seed of the bootstrap."] = 0,
) -> Done:
    """Measure agreement of raters: weighted Fleiss kappa, AC2, alpha."""
    from giveway.stats.agreement_of import agreement

    if counts and long:
        raise UsageError("--counts and --long exclude each other", hint="give one of them, or none")
    found = agreement(
        file,
        weights=weights,
        layout="counts" if counts else "long" if long else None,
        categories=_categories(categories),
        draws=draws,
        level=level,
        over=(over,),
        seed=seed,
    )
    for warning in found.warnings:
        call.warn(warning)
    names = ("kappa_corrected", "kappa_as_printed", "observed", "expected", "ac2", "alpha", "band", "band_rule")
    names += (
        "warnings",
        "standard_error",
        "intervals",
        "num_clips",
        "num_raters",
        "num_ratings",
        "categories",
        "weights",
    )
    first = found.main_interval
    interval = {
        "interval": None if first is None else [first.low, first.high],
        "interval_label": None if first is None else f"{first.label} ({first.how})",
    }
    notes = ["not for reporting: the kappa as printed counts every rater as agreeing with himself"]
    if first is not None:
        ends = "not defined" if isnan(first.low) else f"{first.low:.4f} to {first.high:.4f}"
        notes.insert(0, f"{first.level:.0%} interval {first.label}: {ends} ({first.how})")
    rows = [
        (f"weighted Fleiss kappa, corrected ({weights} weights)", found.kappa_corrected),
        ("the same as printed (self-pairs)", found.kappa_as_printed),
        ("Gwet's AC2", found.ac2),
        ("Krippendorff's alpha", found.alpha),
        ("agreement observed", found.observed),
        ("agreement by chance", found.expected),
    ]
    who = "" if found.num_raters is None else f", {found.num_raters} raters"
    notes.append(
        f"footnote: Landis and Koch would say {found.band!r} (bands as printed, two decimals); "
        "agreement is not evidence of realism"
    )
    return Done(
        result={**{name: getattr(found, name) for name in names}, **interval, "seed": seed},
        text=[
            f"{found.num_clips} clips{who}, {found.num_ratings} ratings, {len(found.categories)} categories",
            listing("Agreement", ("measure", "value"), rows, notes=notes, form=".4f"),
        ],
    )


def _categories(text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) == 1 and names[0].isdigit() and 2 <= int(names[0]) <= 100:
        return [str(j) for j in range(1, int(names[0]) + 1)]
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise UsageError(
            "--categories needs at least two different names",
            found=repr(text),
            hint="--categories 1,2,3,4,5 or --categories 5",
        )
    return names

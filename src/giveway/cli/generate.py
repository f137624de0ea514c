"""``giveway generate``: traffic that makes a planner fail although it could have coped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from giveway.cli.command import ON_ENGINE, RUNS, Call, command, group
from giveway.cli.envelope import Done, failed_cells
from giveway.cli.generate_bench import bench
from giveway.cli.options import Opt, TableFormat
from giveway.cli.settings import given, merged, settings_from
from giveway.core.errors import EmptySelectionError, UsageError

if TYPE_CHECKING:
    from giveway.experiments import RunSummary
    from giveway.generate.spec import CampaignSpec

app = group("Search traffic that makes a planner fail although it could have coped.")

Store = Annotated[Path, "Result store of giveway generate run."]


@command(app)
def prior(
    call: Call,
    folder: Annotated[Path, "Folder that holds the recordings."],
    *,
    dataset: str,
    out: Annotated[Path, "File to write (JSON)."],
    max_recordings: int | None = None,
) -> Done:
    """Fit the naturalness prior of the reward to recorded traffic."""
    from giveway.data import DATASETS
    from giveway.generate.prior import fit_prior, save_prior

    adapter = DATASETS.get(dataset)
    recordings = list(adapter.recordings(folder))[:max_recordings]
    call.say(f"{len(recordings)} recordings")
    fitted = fit_prior(scene for recording in recordings for scene in adapter.scenes(recording))
    save_prior(fitted, out)
    if any(origin != "recorded" for origin in fitted["origin"]):
        call.warn("these recordings are synthetic: the prior tells how our traffic model drives, not how people do")
    if fitted["pooled"]:
        call.warn(f"too few recorded steps of their own, pooled with others: {'; '.join(fitted['pooled'])}")
    return Done(
        result={name: fitted[name] for name in ("steps", "pooled", "origin", "mean_raw")} | {"prior": out},
        text=f"{out}: {sum(fitted['steps'].values())} steps, mean cost of recorded traffic {fitted['mean_raw']:.4f}",
    )


@command(app, adds=("max_hours",), needs=("generate/torch", "generate/safetensors"))
def train(
    call: Call,
    spec: Annotated[Path | None, "TOML file; options override its fields."] = None,
    *,
    out: Annotated[Path, "Training folder; run again to go on."],
    road: str | None = None,
    planner: Annotated[Sequence[str], "Planner to learn against; several drive a share of the worlds each."] = (),
    cars: int | None = None,
    traffic: Annotated[int | None, "Bystanders, 0 to 12."] = None,
    env_steps: int | None = None,
    algorithm: Annotated[str | None, "maddpg, maddpg_discrete, matd3 or mappo."] = None,
    reward: Annotated[str | None, "graded, v1 (of release 0.1), or legacy (published)."] = None,
    actions: Annotated[str | None, "lateral (pedal, lateral speed) or steering."] = None,
    observation: Annotated[str | None, "relative, or artefact for the published one."] = None,
    ticks: int | None = None,
    worlds: int | None = None,
    round_steps: Annotated[int | None, Opt("Environment steps between checkpoints.", min=100)] = None,
    warm_steps: Annotated[int | None, Opt("Steps first driven by a scripted car that actors clone.", min=0)] = None,
    prior: Annotated[Path | None, "How people drive, from 'giveway generate prior'; bounds of comfort without."] = None,
    policy: Annotated[Path | None, "Policy file or training folder whose actors to begin with."] = None,
    seed: int | None = None,
    max_rounds: Annotated[int | None, Opt("Stop after N rounds now.", min=1)] = None,
    force: Annotated[bool, "Train although the reward does not rank success above doing nothing."] = False,
    settings: Sequence[str] = (),
) -> Done:
    """Train cars against a planner; run again to resume."""
    from giveway.experiments.specs import validated
    from giveway.generate.learning.config import LearningConfig
    from giveway.generate.objective.weights import RewardWeights, V1Weights
    from giveway.generate.prior import is_synthetic
    from giveway.generate.protocol import egos_of
    from giveway.generate.spec import TrainingSpec
    from giveway.generate.train import train as run_training

    parts = {"learning": LearningConfig.model_fields, "weights": (*RewardWeights._fields, *V1Weights._fields)}
    values = merged(
        spec,
        given(
            planner=list(planner),
            road=road,
            cars=cars,
            traffic=traffic,
            env_steps=env_steps,
            algorithm=algorithm,
            reward=reward,
            actions=actions,
            observation=observation,
            ticks=ticks,
            worlds=worlds,
            round_steps=round_steps,
            prior=prior,
            policy=policy,
            seed=seed,
            learning={"warm_steps": warm_steps} if warm_steps is not None else None,
        ),
        settings_from(settings, TrainingSpec.model_fields, parts),
    )
    chosen = validated(TrainingSpec, values, where="giveway generate train")
    if chosen.reward == "graded" and chosen.prior is None:
        call.warn("no prior of recorded driving: bounds of comfort say what is natural (giveway generate prior)")
    elif chosen.prior is not None and is_synthetic(chosen.prior):
        call.warn("the prior was fitted to synthetic recordings: it tells how our traffic model drives")
    made = run_training(
        chosen,
        out,
        max_rounds=max_rounds,
        max_hours=call.values["max_hours"],
        progress=call.progress(),
        force=force,
    )
    best = made.best.report
    found = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in best.evaluation.items())
    return Done(
        result={
            "policy": out,
            "steps": made.rounds[-1].report.steps,
            "resumed_at": made.resumed_at,
            "best_round": best.round,
            "evaluation": dict(best.evaluation),
            "history": [one.report for one in made.rounds],
            "objective": {one.name: one.mean for one in made.objective.earned} if made.objective else None,
        },
        stopped=made.stopped,
        text=[
            f"{made.missing} rounds are missing; start the same command again to go on" if made.missing else "",
            f"{out}: best of {len(made.rounds)} rounds at {best.steps} steps; {found}",
            f"next: giveway generate run --policy {out} --planner {' --planner '.join(egos_of(chosen.planner))} "
            "--out failures",
        ],
    )


def _needs(values: Mapping[str, Any]) -> list[str]:
    """Libraries of the default driver and search."""
    return [
        *(["generate/safetensors"] if values["driver"] is None and values["spec"] is None else []),
        *(["generate/pymoo"] if values["search"] is None and values["spec"] is None else []),
    ]


@command(app, adds=RUNS, needs=_needs)
def run(
    call: Call,
    spec: Annotated[Path | None, "TOML file; options override its fields."] = None,
    *,
    out: Annotated[Path, "Result store; run again to resume."],
    planner: Annotated[
        Sequence[str],
        "Planner under test: a name of giveway list planners, or package.module:Class; repeatable, a campaign each.",
    ] = (),
    road: str | None = None,
    budget: int | None = None,
    driver: Annotated[
        str | None, "policy, or without learning: no_attack, idm, random_actions, program, cut_in, maneuver."
    ] = None,
    policy: Path | None = None,
    search: Annotated[str | None, "Search: nsga2, cma_es, map_elites or random."] = None,
    perturb: Annotated[
        bool | None, Opt("Drive dangerous tests again with a push to near cars.", ("--perturb/--no-perturb",))
    ] = None,
    cars: Annotated[int | None, "Learned cars; must be those of the policy."] = None,
    deadline: float | None = None,
    ticks: Annotated[int | None, "Longest test in ticks of 0.1 s; that of the training without it."] = None,
    seed: int | None = None,
    campaigns: Annotated[int | None, Opt("Number of campaigns, with consecutive seeds.", min=1, max=10_000)] = None,
    settings: Sequence[str] = (),
) -> Done:
    """Search starts, drive the cars, keep failures as cases."""
    from giveway.experiments.specs import validated
    from giveway.generate.experiment import planned_campaigns
    from giveway.generate.run import run_campaigns
    from giveway.generate.spec import CampaignSpec

    values = merged(
        spec,
        given(
            planner=list(planner),
            road=road,
            budget=budget,
            driver=driver,
            policy=policy,
            search=search,
            perturb=perturb,
            cars=cars,
            deadline_s=deadline,
            ticks=ticks,
            seed=seed,
            campaigns=campaigns,
        ),
        settings_from(settings, CampaignSpec.model_fields),
    )
    chosen = validated(CampaignSpec, values, where="giveway generate run")
    if call.is_dry:
        planned = planned_campaigns(chosen)[0]
        tests, world = len(planned) * chosen.budget, planned[0].settings["world"]
        disk = round(0.03 * tests, 1)
        return Done(
            result={"tests": tests, "simulated_s": tests * world["steps"] / 10, "disk_mb": disk, "world": world},
            text=f"{tests} tests of up to {world['steps'] / 10:.0f} s, about {disk} MB",
        )
    summary = run_campaigns(
        chosen,
        out,
        engine=_engine(call),
        rerun=call.values["rerun"] or "failed",
        limit=call.values["limit"],
        max_hours=call.values["max_hours"],
        progress=call.progress(),
    )
    return _found(out, chosen, summary)


def _engine(call: Call) -> Any:
    """Campaigns follow one another in this process unless workers are asked for."""
    from giveway.cli.engine import make_engine

    local = call.values["engine"] == "local"
    return make_engine({**call.values, "workers": call.values["workers"] or (1 if local else None)}, here=True)


def _found(out: Path, spec: CampaignSpec, summary: RunSummary) -> Done:
    """What the tests of some campaigns have brought."""
    from giveway.core.origins import Origin, banner
    from giveway.generate.failures import campaigns_of, write_cases
    from giveway.generate.summary import graded
    from giveway.metrics import measure_campaign

    campaigns, cases = campaigns_of(spec, out), write_cases(out)
    results = [result for campaign in campaigns for result in campaign.results]
    measures = measure_campaign(results)
    counts = {name: getattr(summary, name) for name in ("total", "done", "skipped", "failed", "missing")}
    rates = ", ".join(
        f"{name.removesuffix('_rate').replace('_', ' ')} {measures[name]:.3f}"
        for name in ("violation_rate", "at_fault_rate", "avoidable_rate")
    )
    grades = graded(results)
    found = measures["findings"]
    return Done(
        result={
            "store": out,
            "cells": counts,
            "origin": [Origin.GENERATED],
            "cases": cases,
            "measures": measures,
            "grades": grades,
            "campaigns": [{"label": c.label, "tests": len(c.results)} for c in campaigns],
        },
        text=[
            banner("the traffic", [Origin.GENERATED]),
            f"{len(results)} tests, rates: {rates}",
            "failures: " + ", ".join(f"{name} {count}" for name, count in grades.items()),
            f"{found:.0f} tests ended because the planner raised, hung or gave no plan" if found else "",
            f"{summary.missing} tests are missing; start the same command again to go on" if summary.missing else "",
            f"{cases} failures in {out}/cases; more about them: giveway generate table {out}",
        ],
        failures=failed_cells(summary.failures),
        stopped=summary.stopped and summary.missing > 0,
    )


command(
    app,
    adds=ON_ENGINE,
    needs=lambda values: [
        *("generate/safetensors", "generate/pymoo", "generate/cma"),
        *(["generate/torch"] if values["trainings"] else []),
    ],
)(bench)


@command(app, needs=("generate/cma", "generate/safetensors"))
def harden(
    call: Call,
    *,
    out: Annotated[Path, "Folder for the tuned planner; run again to resume."],
    planner: Annotated[str, "Built-in planner whose parameters are tuned: idm or a lattice."] = "idm",
    road: str = "straight",
    budget: Annotated[int, "Tests of each search for failures."] = 512,
    generations: Annotated[int, Opt("Generations of eight candidates each.", min=1, max=1000)] = 20,
    seed: int = 0,
) -> Done:
    """Tune a planner on found failures; test on others and fresh attackers."""
    from giveway.generate.harden import harden as run_hardening

    made = run_hardening(
        out, planner=planner, road=road, budget=budget, generations=generations, seed=seed, say=call.say
    )
    return Done(
        result={
            "planner": f"tuned:{out / 'tuned.json'}",
            "parameters": dict(made.parameters),
            "score": made.score,
            "checks": [{**asdict(check), "change": check.change} for check in made.checks],
            "tradeoff": made.tradeoff,
        },
        text=[made.table().text(), f"return {made.score[0]:.2f}, tuned {made.score[1]:.2f}"],
    )


@command(app)
def table(
    call: Call,
    store: Store,
    name: Annotated[str, "measures, or failures for every one of them."] = "measures",
    *,
    realism: Annotated[bool, "Also compare the motion of the cars with recorded ones."] = False,
    data: Annotated[Path | None, "Recordings to compare with; synthetic ones are made without it."] = None,
    format: TableFormat = "text",
    out: Annotated[Path | None, "Write to this file instead of printing."] = None,
) -> Done:
    """Print failures by grade, what of them is avoidable, and diversity."""
    from giveway.reports.results import Results

    if name != "measures" and (realism or data):
        raise UsageError("only measures are compared with recordings", where="--realism, --data", found=f"table {name}")
    choices = {"realism": realism, "recorded": data} if name == "measures" else {}
    return call.table(Results.open(store, kind="campaign").table(name, **choices), format, out)


@command(app)
def export(
    call: Call,
    store: Store,
    *,
    out: Annotated[Path, "Folder to write."],
    format: Annotated[Literal["cases", "openscenario"], "cases (JSON with recordings) or openscenario."] = "cases",
    counting: Annotated[bool, "Only failures of grade A, B or C that are avoidable."] = False,
) -> Done:
    """Write failures as cases for drive and study, or as OpenSCENARIO."""
    from giveway.generate.export.cases import write_failures
    from giveway.generate.export.openscenario import write_scenarios
    from giveway.generate.failures import stored_campaigns, stored_failures

    found = [f for campaign in stored_campaigns(store) for f in stored_failures(store, campaign)]
    failures = [f for f in found if f.result.counts or not counting]
    if not failures:
        raise EmptySelectionError(
            "there is no failure to export", where=store, hint="run more tests, or another planner"
        )
    if format == "cases":
        write_failures(out, failures)
        files = [out / "cases.json", out / "failures.json", out / "recordings"]
    else:
        files = write_scenarios(out, failures)
    return Done(result={"failures": len(failures), "files": files}, text=f"{len(failures)} failures in {out}")

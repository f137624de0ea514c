"""``giveway generate train``: learn surrounding cars against a planner, with a live line."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from giveway.cli.output import print_json
from giveway.core.errors import MissingDependencyError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from giveway.generate.learning.training import RoundReport, Tick

LINE_EVERY_S = 10.0


def train(
    out: Path = typer.Option(..., "--out", "-o", help="Training folder; run again to go on."),
    road: str = typer.Option(
        "straight", "--road", "-r", help="straight, merge, roundabout, four_way, or a lanelet2 map (.osm)."
    ),
    ego: str = typer.Option("lattice", "--ego", "-e", help="idm, lattice, constant_speed, or package.module:Class."),
    cars: int = typer.Option(3, "--cars", "-k", help="Learning cars, 1 to 4."),
    traffic: int = typer.Option(0, "--traffic", help="Bystanders, 0 to 12."),
    steps: int = typer.Option(500_000, "--steps", min=1, max=1_000_000_000, help="Environment steps."),
    algorithm: str = typer.Option("maddpg", "--algorithm", "-a", help="maddpg or matd3."),
    reward: str = typer.Option("full", "--reward", help="full, or legacy for the published one."),
    actions: str = typer.Option("lateral", "--actions", help="lateral (pedal, lateral speed) or steering."),
    observation: str = typer.Option("relative", "--observation", help="relative, or artefact for the published one."),
    episode_steps: int = typer.Option(150, "--episode-steps", min=10, max=2000, help="Longest episode, 0.1 s each."),
    worlds: int = typer.Option(32, "--worlds", "-w", min=1, max=4096, help="Worlds stepped together."),
    round_steps: int = typer.Option(25_000, "--round-steps", min=100, help="Steps between checkpoints."),
    warm_steps: int = typer.Option(
        0,
        "--warm-steps",
        min=0,
        help="Steps driven first by a scripted car that cuts in; the actors begin as its clones.",
    ),
    setting: list[str] = typer.Option([], "--set", help="Learning setting NAME=VALUE; may be repeated."),
    weight: list[str] = typer.Option([], "--weight", help="Weight of the reward NAME=VALUE; may be repeated."),
    keep_replay: bool = typer.Option(False, "--keep-replay", help="Keep the replay, so that it can be extended later."),
    seed: int = typer.Option(0, "--seed", help="Root of all random streams."),
    max_rounds: int | None = typer.Option(None, "--max-rounds", min=1, help="Stop after so many rounds now."),
    max_hours: float | None = typer.Option(
        None, "--max-hours", min=0.0, help="Begin no further round after this time; the same command goes on."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Train k cars against a planner; killed at any moment, the same command goes on."""
    config, run = _prepare(algorithm, [*setting, *([f"warm_steps={warm_steps}"] if warm_steps else [])])
    from giveway.generate.campaign.cutting_in import CutInDriver
    from giveway.generate.evaluation.training_measures import SCORE, policy_evaluation
    from giveway.generate.learning.session import TrainingPlan
    from giveway.generate.policies import world_name
    from giveway.generate.worlds import Worlds, WorldSettings

    if actions == "maneuvers":
        raise UsageError(
            "MADDPG here learns continuous actions", where="--actions", found=actions, hint="lateral or steering"
        )
    if warm_steps and actions != "lateral":
        raise UsageError(
            "the scripted car needs lateral actions", where="--warm-steps", found=actions, hint="--actions lateral"
        )
    kind: Any = {"actions": actions, "observation": observation, "reward": reward, "weights": _weights(weight)}
    settings = WorldSettings(road=road, ego=ego, cars=cars, traffic=traffic, steps=episode_steps, **kind)
    made = Worlds(settings, n_worlds=worlds)
    plan = TrainingPlan(
        steps=steps,
        round_steps=round_steps,
        score=SCORE,
        settings={"world": settings.as_dict()},
        keep_replay=keep_replay,
    )
    with _live(steps, quiet=False) as (on_tick, on_round):
        result = run(
            made,
            config,
            plan,
            out,
            seed=seed,
            world=world_name(settings),
            made={"world": settings.as_dict(), "algorithm": config.algorithm},
            evaluate=policy_evaluation(settings, seed=seed),
            demonstrator=CutInDriver() if warm_steps else None,
            on_tick=on_tick,
            on_round=on_round,
            max_rounds=max_rounds,
            max_hours=max_hours,
        )
    made.close()
    best = next(r for r in result.history if r.round == result.best_round)
    if as_json:
        print_json(
            {
                "ok": True,
                "policy": out / "policy.safetensors",
                "steps": result.history[-1].steps,
                "resumed_at": result.resumed_at,
                "best_round": result.best_round,
                "evaluation": dict(best.evaluation),
                "history": list(result.history),
            }
        )
        return
    found = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in best.evaluation.items())
    typer.echo(f"{out}/policy.safetensors: best of {len(result.history)} rounds at {best.steps} steps; {found}")


def _named(items: list[str], option: str, example: str) -> dict[str, Any]:
    """Values of NAME=VALUE texts: JSON where they are, else the text."""
    import json

    values: dict[str, Any] = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals:
            raise UsageError("a setting is NAME=VALUE", where=option, found=item, hint=f"{option} {example}")
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values


def _weights(items: list[str]) -> Any:
    """Weights of the full reward."""
    import math

    from giveway.generate.environment.arrays import RewardWeights

    values = _named(items, "--weight", "terminal_scale=5")
    for name, value in values.items():
        if name not in RewardWeights._fields:
            raise UnknownNameError("weight of the reward", name, RewardWeights._fields, where="--weight")
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise UsageError("a weight is a number", where=f"--weight {name}", found=value, hint=f"--weight {name}=0.5")
    return RewardWeights(**{name: float(value) for name, value in values.items()})


def _prepare(algorithm: str, setting: list[str]) -> tuple[Any, Any]:
    values: dict[str, Any] = {"algorithm": algorithm, **_named(setting, "--set", "gamma=0.95")}
    try:
        from giveway.generate.learning.config import LearningConfig
        from giveway.generate.learning.session import run_training
    except ImportError as error:
        raise MissingDependencyError("torch", extra="generate", purpose="training") from error
    return LearningConfig.of(values, where="--set"), run_training


@contextmanager
def _live(total: int, *, quiet: bool) -> Generator[tuple[Any, Any]]:
    """Functions that show ticks and rounds: a bar on a terminal, plain lines otherwise."""
    began = time.monotonic()
    first: list[int] = []

    def text(tick: Tick) -> str:
        if not first:
            first.append(tick.steps)
        rate = (tick.steps - first[0]) / max(time.monotonic() - began, 1e-9)
        if tick.stage != "learning":
            return f"{rate:.0f} steps/s, {tick.stage} the scripted cars"
        return f"{rate:.0f} steps/s, noise {tick.noise:.3f}, return {tick.mean_return:.2f}"

    def said(report: RoundReport) -> str:
        measures = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in report.evaluation.items())
        return f"{report.steps} steps, return {report.mean_return:.2f}, loss {report.critic_loss:.3f}; {measures}"

    if sys.stderr.isatty() and not quiet:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=total)
            yield (
                lambda tick: bar.update(task, completed=tick.steps, description=text(tick)),
                lambda report: bar.console.print(said(report), markup=False, highlight=False),
            )
        return
    last = [began]

    def line(tick: Tick) -> None:
        current = text(tick)
        if time.monotonic() - last[0] >= LINE_EVERY_S:
            last[0] = time.monotonic()
            sys.stderr.write(f"{tick.steps}/{total} ({100 * tick.steps / total:.0f} %), {current}\n")
            sys.stderr.flush()

    def after(report: RoundReport) -> None:
        sys.stderr.write(said(report) + "\n")
        sys.stderr.flush()

    yield line, after

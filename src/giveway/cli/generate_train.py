"""``giveway generate train``: learn surrounding cars against a planner, with a live line."""

from __future__ import annotations

from pathlib import Path

import typer

from giveway.cli.output import print_json
from giveway.cli.training_options import named_values, reward_weights


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
    prior: Path | None = typer.Option(
        None, "--prior", help="How people drive, a file of 'giveway generate prior'; the shipped one without it."
    ),
    keep_replay: bool = typer.Option(False, "--keep-replay", hidden=True, help="Of release 0.1; has no effect."),
    seed: int = typer.Option(0, "--seed", help="Root of all random streams."),
    max_rounds: int | None = typer.Option(None, "--max-rounds", min=1, help="Stop after so many rounds now."),
    max_hours: float | None = typer.Option(
        None, "--max-hours", min=0.0, help="Begin no further round after this time; the same command goes on."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Train k cars against a planner; killed at any moment, the same command goes on."""
    asked = named_values([*setting, *([f"warm_steps={warm_steps}"] if warm_steps else [])], "--set", "gamma=0.95")
    from giveway.experiments import default_progress
    from giveway.experiments.specs import validated
    from giveway.generate.spec import TrainingSpec
    from giveway.generate.train import train as run_training

    values = {
        "planner": ego,
        "road": road,
        "cars": cars,
        "traffic": traffic,
        "env_steps": steps,
        "algorithm": algorithm,
        "reward": reward,
        "actions": actions,
        "observation": observation,
        "ticks": episode_steps,
        "worlds": worlds,
        "round_steps": round_steps,
        "learning": asked,
        "weights": reward_weights(weight),
        "prior": prior,
        "seed": seed,
    }
    spec = validated(TrainingSpec, values, where="giveway generate train")
    made = run_training(spec, out, max_rounds=max_rounds, max_hours=max_hours, progress=default_progress())
    best, last = made.best.report, made.rounds[-1].report
    if as_json:
        print_json(
            {
                "ok": True,
                "policy": out,
                "steps": last.steps,
                "resumed_at": made.resumed_at,
                "best_round": best.round,
                "evaluation": dict(best.evaluation),
                "history": [one.report for one in made.rounds],
            }
        )
        return
    found = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in best.evaluation.items())
    typer.echo(f"{out}: best of {len(made.rounds)} rounds at {best.steps} steps; {found}")
    typer.echo(f"  next: giveway generate run --policy {out} --ego {ego} --out failures")

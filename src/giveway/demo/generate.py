"""A chapter on generated traffic: the shipped policy against a planner, and the failures it found."""

from __future__ import annotations

from pathlib import Path

from giveway.demo.chapter import Chapter, Section
from giveway.experiments.threads import limited_threads
from giveway.generate.campaign.campaign import CampaignSpec
from giveway.generate.campaign.drivers import CarDriver, PolicyDriver, baseline
from giveway.generate.campaign.kept import run_into_store, stored_campaigns, stored_failures
from giveway.generate.evaluation.measures import all_measures
from giveway.generate.export.cases import write_failures
from giveway.generate.policies import open_policy, settings_for

BUDGET, ROAD, EGO = 60, "straight", "lattice"
FOLDER = Path("generate")
RECORDINGS = Path("recordings") / "interaction"
"""What the motion of generated traffic is compared with, on every page of the demo."""
SHOWN = (
    ("violation_rate", "failures"),
    ("at_fault_rate", "of them the ego's fault"),
    ("avoidable_at_fault_rate", "avoidable and at fault"),
)


def _run(root: Path, seed: int) -> tuple[Section, ...]:
    folder = root / FOLDER / "results"
    policy = open_policy(None, ego=EGO)
    settings = settings_for(policy, road=ROAD, ego=EGO)
    drivers: tuple[tuple[str, CarDriver], ...] = (
        ("nobody attacks", baseline("no_attack")),
        ("random actions", baseline("random_actions")),
        ("the shipped policy", PolicyDriver(policy)),
    )
    rows = [("cars driven by", "tests", *(title for _, title in SHOWN))]
    with limited_threads(1):
        for title, driver in drivers:
            spec = CampaignSpec(
                search="random" if title == "nobody attacks" else "nsga2",
                perturb=False,
                budget=BUDGET,
                seed=seed,
            )
            done = run_into_store(settings, driver, spec, folder)
            measures = all_measures(done.results)
            rows.append((title, str(len(done.results)), *(f"{measures[name]:.2f}" for name, _ in SHOWN)))
    failures = [f for campaign in stored_campaigns(folder) for f in stored_failures(folder, campaign)]
    write_failures(root / FOLDER / "cases", failures)
    return (
        Section(
            heading="Which traffic makes a planner fail although it could have coped?",
            text=f"Three cars around the default planner, {BUDGET} tests each. A failure "
            "counts only if it is the ego's fault and a careful driver would have avoided it.",
            command=f"giveway generate run --planner {EGO} --budget {BUDGET} --no-perturb --out results && "
            "giveway report results --out site",
            table=tuple(rows),
            links=(("the cases", FOLDER / "cases" / "cases.json"),),
        ),
    )


chapter = Chapter(name="generate", title="Generated traffic", run=_run)

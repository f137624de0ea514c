"""A chapter on generated traffic: the shipped policy against a planner, and the failures it found."""

from __future__ import annotations

from pathlib import Path

from giveway.demo.chapter import Chapter, Section
from giveway.generate.export.cases import write_failures
from giveway.generate.failures import campaigns_of, stored_campaigns, stored_failures
from giveway.generate.run import run_campaigns
from giveway.generate.spec import CampaignSpec
from giveway.metrics import measure_campaign

BUDGET, ROAD, EGO = 60, "straight", "lattice"
FOLDER = Path("generate")
RECORDINGS = Path("recordings") / "interaction"
"""What the motion of generated traffic is compared with, on every page of the demo."""
DRIVERS = (
    ("nobody attacks", "no_attack", "random"),
    ("random actions", "random_actions", "nsga2"),
    ("the shipped policy", "policy", "nsga2"),
)
"""Who drives, for the table: title, driver, search."""
SHOWN = (
    ("violation_rate", "failures"),
    ("at_fault_rate", "A: the ego's fault"),
    ("avoidable_rate", "A, B or C, and avoidable"),
)


def _run(root: Path, seed: int) -> tuple[Section, ...]:
    folder = root / FOLDER / "results"
    rows = [("cars driven by", "tests", *(title for _, title in SHOWN))]
    for title, driver, search in DRIVERS:
        spec = CampaignSpec(
            planner=(EGO,), road=ROAD, driver=driver, search=search, perturb=False, budget=BUDGET, seed=seed
        )
        run_campaigns(spec, folder)
        results = campaigns_of(spec, folder)[0].results
        measures = measure_campaign(results)
        rows.append((title, str(len(results)), *(f"{measures[name]:.2f}" for name, _ in SHOWN)))
    failures = [f for campaign in stored_campaigns(folder) for f in stored_failures(folder, campaign)]
    write_failures(root / FOLDER / "cases", failures)
    return (
        Section(
            heading="Which traffic makes a planner fail although it could have coped?",
            text=f"Three cars around the default planner, {BUDGET} tests each. A failure "
            "counts only if its grade is A, B or C and a careful driver would have avoided it.",
            command=f"giveway generate run --planner {EGO} --budget {BUDGET} --no-perturb --out results && "
            "giveway report results --out site",
            table=tuple(rows),
            links=(("the cases", FOLDER / "cases" / "cases.json"),),
        ),
    )


chapter = Chapter(name="generate", title="Generated traffic", run=_run)

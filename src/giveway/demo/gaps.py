"""A chapter on gap acceptance: the benchmark on synthetic recordings."""

from __future__ import annotations

from pathlib import Path

from giveway.core.files import write_text
from giveway.demo.chapter import Chapter, Section
from giveway.gaps.figures import benchmark_figure, save_figure
from giveway.gaps.presets import preset
from giveway.gaps.run import benchmark
from giveway.gaps.tables import benchmark_table

TABLES = (("auc", "constant"), ("ade", "constant"))


def _run(root: Path, seed: int) -> tuple[Section, ...]:
    folder = root / "gaps" / "results"
    summary, results = benchmark(preset("demo", seed=seed), folder)
    frame = results.frame()
    figure = Path("gaps") / "figure.png"
    save_figure(benchmark_figure(frame), root / figure)
    sections = [
        Section(
            heading="Who predicts human drivers best?",
            text=f"{summary.done + summary.skipped} of {summary.total} cells (model, dataset, prediction time, split). "
            "Short marks are random splits, the long one their mean, a cross the critical split. The drivers are "
            "synthetic: the numbers say nothing about people.",
            command="giveway gaps run --preset demo --out results && giveway gaps figure results --out figure.png",
            image=figure,
        )
    ]
    for metric, t0 in TABLES:
        table = benchmark_table(frame, metric=metric, t0=t0)
        file = Path("gaps") / f"{metric}_{t0}.tex"
        write_text(root / file, table.latex())
        sections.append(
            Section(
                heading=table.title,
                command=f"giveway gaps table results --metric {metric} --t0 {t0}",
                table=table,
                links=(("the same in LaTeX", file),),
            )
        )
    return tuple(sections)


chapter = Chapter(name="gaps", title="Gap acceptance", run=_run)

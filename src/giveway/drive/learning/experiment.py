"""Trainings of planners as an experiment: one cell per round; the rounds of a training are a chain. Needs no torch."""

from __future__ import annotations

import math
import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from giveway.core.case import Case, case_dict
from giveway.core.checked import Expect, read_sealed, read_weights
from giveway.core.errors import EmptySelectionError, StoreError, UnknownNameError, UsageError
from giveway.core.extras import require
from giveway.core.sealed_files import write_document, write_weights
from giveway.drive.case_sets import CaseScenes
from giveway.drive.environment import prepared_for_ego
from giveway.drive.learning.evaluation import evaluate_planner
from giveway.drive.learning.settings import LearningSettings, PlannerTrainingSpec
from giveway.drive.scenes import SceneSource, data_of
from giveway.drive.spec import cases_and_folders
from giveway.drive.standard import split_of
from giveway.experiments import Artifacts, Cell, CellResult, Context, Inputs, Measurement, content_key
from giveway.experiments.files import plain
from giveway.experiments.specs import validated
from giveway.planning import features
from giveway.planning.learned import LearnedPlanner, planner_bytes
from giveway.sim.views.ego_batch import EgoCases

KIND = "planner_training"
PLANNER_FILE = "planner.safetensors"
"""Attachment of every round: the planner after it."""

VERSIONS = {"training": 1, "features": features.VERSION}
STATE_FILE, WEIGHTS_FILE = "state.json", "learner-{round:05d}.safetensors"
STATE = Expect(error=StoreError, what="the state of a training", hint="its rounds are learned again")


class PlannerTraining:
    """Rounds of a training."""

    name = KIND
    Spec = PlannerTrainingSpec

    def resolve(self, spec: PlannerTrainingSpec, roots: Mapping[str, Path | str], artifacts: Artifacts) -> Inputs:
        """Read the cases and digest their recordings.

        Raises:
            MissingDependencyError: without PyTorch.
            UnknownNameError, ConfigError: settings of learning that do not exist or are out of range.
            EmptySelectionError: no case to learn on.
        """
        require_torch()
        settings_of(spec.learning)
        cases, folders = cases_and_folders(spec.cases, spec.data, spec.max_cases, roots)
        parts = split_cases(cases, spec.split)
        source = CaseScenes(folders)
        data = content_key([data_of(case, source) for case in cases])
        return Inputs(
            fingerprints={"cases": content_key([case.fingerprint for case in cases]), "recordings": data},
            machine={"roots": {name: str(root.resolve()) for name, root in folders.items()}},
            found=(parts, data),
        )

    def cells(self, spec: PlannerTrainingSpec, inputs: Inputs) -> Sequence[Cell]:
        """One cell per round."""
        (train, judge), data = inputs.found
        params = {"planner": spec.planner, "seed": spec.seed}
        settings = {
            "learning": settings_of(spec.learning).model_dump(mode="json"),
            "train": content_key([case_dict(case) for case in train]),
            "judge": content_key([case_dict(case) for case in judge]),
            "traffic": spec.traffic,
            "worlds": spec.worlds,
            "env_steps": spec.env_steps,
            "demonstrator": spec.demonstrator if spec.planner == "imitation" else "",
        }
        chain = content_key([params, settings, data, VERSIONS])
        return [
            Cell(
                kind=KIND,
                params={**params, "round": number, "env_steps": spec.env_steps * number // spec.rounds},
                settings=settings,
                data=data,
                versions=VERSIONS,
                chain=chain,
            )
            for number in range(1, spec.rounds + 1)
        ]

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult]]:
        """Learn the rounds that have no result; what that needs of the rounds before is in scratch.

        Raises:
            UsageError: in another process than the one that planned the training.
            StoreError: a round that was learned again is another one than before.
        """
        require_torch()
        from giveway.predictors.torch_setup import one_torch_thread

        found = _here.get()
        if found is None:
            raise UsageError("a planner is trained in the process that starts the training", where=batch[0].label())
        known = [context.known(cell) for cell in batch]
        missing = [number for number, result in enumerate(known, 1) if result is None]
        with one_torch_thread():
            learner, judge = _learner(batch[0], *found)
            folder = context.scratch("state")
            done, measures = _restored(learner, folder, first=missing[0])
            # A round whose state was written but whose result was not is done, and only judged again.
            for number in range(min(done + 1, missing[0]) if done else 1, missing[-1] + 1):
                cell, before = batch[number - 1], known[number - 1]
                if number > done:
                    goal = int(cell.params["env_steps"])
                    measures = learner.run_round(number, goal, lambda n, text: context.message(f"{n} steps, {text}"))
                    _write_state(learner, folder, number, measures)
                planner = learner.planner({"env_steps": learner.steps, **_facts(cell)})
                result = _result(number, learner.steps, planner, {**measures, **evaluate_planner(planner, judge)})
                if before is None:
                    yield cell, result
                elif before.info != plain(result.info):
                    raise StoreError(
                        "a round that had to be learned again is not the one in the store",
                        where=cell.label(),
                        hint="go on with the release and on the kind of machine that it began with, or train into a "
                        "new folder",
                    )


Found = tuple[Sequence[Case], Sequence[Case], SceneSource]
_here: ContextVar[Found | None] = ContextVar("training of this process", default=None)


@contextmanager
def in_this_process(spec: PlannerTrainingSpec) -> Generator[None]:
    """Within it, the training of a specification has its cases."""
    cases, folders = cases_and_folders(spec.cases, spec.data, spec.max_cases)
    token = _here.set((*split_cases(cases, spec.split), CaseScenes(folders)))
    try:
        yield
    finally:
        _here.reset(token)


def split_cases(cases: Sequence[Case], split: str) -> tuple[Sequence[Case], Sequence[Case]]:
    """Cases to learn on and cases to pick the best round with.

    Raises:
        EmptySelectionError: one of them has none.
    """
    if split == "all":
        return cases, cases
    parts = tuple([case for case in cases if split_of(case.recording) == name] for name in ("train", "validation"))
    if not all(parts):
        raise EmptySelectionError(
            "there are no cases to learn on, or none to pick the best round with",
            where="cases",
            found=f"{len(parts[0])} of training, {len(parts[1])} of validation recordings, {len(cases)} in all",
            hint="mine more recordings, or learn and pick on all of them: --split all",
        )
    return parts[0], parts[1]


def settings_of(values: Mapping[str, Any]) -> LearningSettings:
    """Settings of learning.

    Raises:
        UnknownNameError: a setting that does not exist.
        ConfigError: a value out of range.
    """
    for name in values:
        if name not in LearningSettings.model_fields:
            raise UnknownNameError("learning setting", name, LearningSettings.model_fields, where="--set")
    return validated(LearningSettings, values, where="--set")


def require_torch() -> None:
    """Refuse to train without PyTorch.

    Raises:
        MissingDependencyError: saying how to install it.
    """
    require(["generate/torch", "generate/gymnasium"], purpose="training a planner")


def _learner(cell: Cell, train: Sequence[Case], judge: Sequence[Case], source: SceneSource) -> tuple[Any, EgoCases]:
    """The learner of a training at its beginning, and the cases that it is judged on."""
    from giveway.drive.learning.imitation import Imitation
    from giveway.drive.learning.ppo import Ppo

    told, seed = cell.settings, int(cell.params["seed"])
    settings = LearningSettings(**told["learning"])
    ready = [prepared_for_ego(cases, source, traffic=told["traffic"]) for cases in (train, judge)]
    more = {"env_steps": int(told["env_steps"]), "seed": seed}
    if cell.params["planner"] == "imitation":
        return Imitation(ready[0], settings, demonstrator=told["demonstrator"], **more), ready[1]
    return Ppo(ready[0], settings, worlds=int(told["worlds"]), **more), ready[1]


def _facts(cell: Cell) -> dict[str, Any]:
    """What a planner says about its training."""
    return {"seed": cell.params["seed"], "cases": cell.settings["train"], "demonstrator": cell.settings["demonstrator"]}


def _result(number: int, steps: int, planner: LearnedPlanner, measures: Mapping[str, float]) -> CellResult:
    return CellResult(
        measurements=tuple(Measurement(metric=name, value=value, num_samples=1) for name, value in measures.items()),
        attachments={PLANNER_FILE: planner_bytes(planner)},
        info={"round": number, "steps": steps, "planner": planner.fingerprint, "measures": dict(measures)},
    )


def _write_state(learner: Any, folder: Path, number: int, measures: Mapping[str, float]) -> None:
    """Write what the next round needs; an interrupted write leaves the state before it in force."""
    name = WEIGHTS_FILE.format(round=number)
    write_weights(folder / name, learner.trained.tensors(), framework="torch")
    write_document(folder / STATE_FILE, {"round": number, "steps": learner.steps, "measures": measures})
    for old in folder.glob("learner-*.safetensors"):
        if old.name != name:
            old.unlink(missing_ok=True)


def _restored(learner: Any, folder: Path, *, first: int) -> tuple[int, Mapping[str, float]]:
    """Put a learner back to where its last round left it.

    Returns:
        Number of that round and its measures; 0 if there is none that is whole and not past the first one wanted.
    """
    try:
        state = read_sealed(folder / STATE_FILE, expect=STATE, needs_seal=True).document
        number = int(state["round"])
        tensors, _ = read_weights(folder / WEIGHTS_FILE.format(round=number), framework="torch", expect=STATE)
    except StoreError:
        number, tensors, state = 0, {}, {}
    if not 0 < number <= first:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return 0, {}
    learner.trained.restore(tensors)
    learner.steps = int(state["steps"])
    return number, {n: math.nan if v is None else float(v) for n, v in state["measures"].items()}


PLANNER_TRAINING = PlannerTraining()

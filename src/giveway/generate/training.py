"""Trainings as an experiment: one cell per round; the rounds of a training are a chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveway.core.errors import MissingDependencyError, StoreError, UnknownNameError, UsageError
from giveway.experiments import Artifacts, Cell, CellResult, Context, Inputs, Measurement, content_key
from giveway.experiments.files import plain
from giveway.generate.drivers.cutting_in import CutInDriver
from giveway.generate.evaluation.training_measures import policy_evaluation
from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.policy import load_policy, policy_bytes
from giveway.generate.learning.rounds import KIND, POLICY_FILE, round_ends
from giveway.generate.objective.weights import RewardWeights, V1Weights
from giveway.generate.policies import check_world, policy_called, world_name
from giveway.generate.several import SeveralEgos, worlds_of
from giveway.generate.spec import TrainingSpec
from giveway.generate.world_files import files_digest, planner_facts, world_facts, world_files, world_of_cell
from giveway.generate.worlds import WorldSettings

if TYPE_CHECKING:
    from giveway.generate.learning.session import Round
    from giveway.generate.learning.training import Tick

VERSIONS = {"training": 2}
OF_A_ROUND = ("round", "env_steps")
"""Parameters in which the cells of a training differ."""


class TrainingExperiment:
    """Rounds of a training."""

    name = KIND
    Spec = TrainingSpec

    def resolve(self, spec: TrainingSpec, roots: Mapping[str, Path | str], artifacts: Artifacts) -> Inputs:
        """Refuse what cannot be learned; the files of worlds are fingerprinted.

        Raises:
            MissingDependencyError: without PyTorch.
            UnknownNameError: a setting of learning or a weight that does not exist.
            UsageError: worlds that cannot be made, actions that cannot be learned or demonstrated.
        """
        require_torch()
        world = world_of(spec)
        check_world(world)
        digest = files_digest(world)
        fingerprints = {"worlds": digest} if digest else {}
        machine: dict[str, Any] = {"files": world_files(world)}
        if spec.policy is not None:
            policy = load_policy(spec.policy)
            fingerprints[str(spec.policy)] = policy.fingerprint
            machine["policies"] = {policy.fingerprint: str(spec.policy.resolve())}
        return Inputs(fingerprints=fingerprints, machine=machine, found=digest)

    def cells(self, spec: TrainingSpec, inputs: Inputs) -> Sequence[Cell]:
        """One cell per round."""
        config, world = learning_of(spec), world_of(spec)
        facts = world_facts(world)
        version, parameters = planner_facts(spec.planner)
        versions = {**VERSIONS, "planner_version": version}
        params = {"planner": spec.planner, "road": facts["road"], "algorithm": config.algorithm, "seed": spec.seed}
        settings = {
            "learning": config.model_dump(mode="json"),
            "world": facts,
            "planner_parameters": parameters,
            "worlds": spec.worlds,
            "round_steps": spec.round_steps,
            "score": spec.score,
            "made": {"method": spec.method} if spec.method else {"algorithm": config.algorithm},
            **({} if spec.policy is None else {"begins_as": load_policy(spec.policy).fingerprint}),
        }
        ends = round_ends(
            env_steps=spec.env_steps,
            round_steps=spec.round_steps,
            worlds=spec.worlds,
            warm_steps=config.warm_steps,
        )
        chain = content_key([params, settings, inputs.found, versions])
        return [
            Cell(
                kind=KIND,
                params={**params, "round": number, "env_steps": steps},
                settings=settings,
                data=inputs.found,
                versions=versions,
                chain=chain,
            )
            for number, steps in enumerate(ends, 1)
        ]

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult]]:
        """Learn the rounds that have no result.

        What learning needs of the rounds before is in scratch. If that is gone, they are learned again and compared
        with their results.

        Raises:
            StoreError: a round that was learned again is another one than before.
            DataError: the map or the prior is another one.
        """
        require_torch()
        from giveway.generate.learning.session import learn_rounds
        from giveway.generate.learning.training import Training

        known = [context.known(cell) for cell in batch]
        missing = [number for number, result in enumerate(known, 1) if result is None]
        settings, seed = batch[0].settings, batch[0].params["seed"]
        world = world_of_cell(batch[0], context.machine)
        config = LearningConfig.of(settings["learning"])
        ends = [int(cell.params["env_steps"]) for cell in batch[: missing[-1]]]
        worlds = worlds_of(world, settings["worlds"])
        try:
            training = Training(
                worlds,
                config,
                seed=seed,
                steps=ends[-1],
                world=world_name(world),
                made={"world": settings["world"], **settings["made"]},
                demonstrator=_script if config.warm_steps else None,
            )
            if "begins_as" in settings:
                training.begin_as(policy_called(settings["begins_as"], context.machine["policies"]))
            for one in learn_rounds(
                training,
                ends,
                context.scratch("state"),
                first=missing[0],
                evaluate=policy_evaluation(world, seed=seed),
                on_tick=lambda tick: context.message(_progress(tick, training.rounds < missing[0])),
            ):
                cell, before = batch[one.report.round - 1], known[one.report.round - 1]
                result = round_result(one)
                if before is None:
                    yield cell, result
                elif before.info != plain(result.info):
                    raise StoreError(
                        "a round that had to be learned again is not the one in the store",
                        where=cell.label(),
                        hint="go on with the release and on the kind of machine that it began with, or train into a "
                        "new folder",
                    )
        finally:
            worlds.close()


def round_result(one: Round) -> CellResult:
    """The result of a round, with the policy after it."""
    report = one.report
    return CellResult(
        measurements=tuple(
            Measurement(metric=name, value=value, num_samples=report.episodes)
            for name, value in report.measures.items()
        ),
        attachments={POLICY_FILE: policy_bytes(one.policy)},
        info={"report": report.as_dict(), "policy": one.policy.fingerprint},
    )


def require_torch() -> None:
    """Refuse to train without PyTorch.

    Raises:
        MissingDependencyError: saying how to install it.
    """
    try:
        import torch  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise MissingDependencyError("torch", extra="generate", purpose="training") from error


def learning_of(spec: TrainingSpec) -> LearningConfig:
    """Settings of learning.

    Raises:
        UnknownNameError: a setting that does not exist.
        ConfigError: a value out of range.
    """
    of_policy: dict[str, Any] = {}
    if spec.policy is not None:
        info = load_policy(spec.policy).info
        of_policy = {"hidden": info.hidden, "shared_actor": info.shared, "normalize_observations": True}
    values = {"algorithm": spec.algorithm, **of_policy, **spec.learning}
    return LearningConfig.of(values, where="--set", warm=spec.policy is not None)


def world_of(spec: TrainingSpec) -> WorldSettings:
    """Worlds to learn in.

    Shaping by F = gamma Phi(s') - Phi(s) leaves the best policy as it is only with the gamma of the learner (Ng, Harada
    and Russell 1999), so that is the discount of the reward unless one is given.

    Raises:
        UnknownNameError: a weight of the reward that does not exist.
        UsageError: actions that cannot be learned or demonstrated.
    """
    fields = V1Weights._fields if spec.reward == "v1" else RewardWeights._fields
    for name in spec.weights:
        if name not in fields:
            raise UnknownNameError("weight of the reward", name, fields, where="weights")
    config = learning_of(spec)
    actions = "maneuvers" if config.is_discrete else spec.actions
    if actions == "maneuvers" and not config.is_discrete:
        raise UsageError(
            "only maddpg_discrete learns maneuvers",
            where="--actions",
            found=spec.actions,
            hint="lateral or steering, or --algorithm maddpg_discrete",
        )
    if config.warm_steps and actions != "lateral":
        raise UsageError(
            "the scripted car needs lateral actions",
            where="--warm-steps",
            found=actions,
            hint="--actions lateral",
        )
    kind: Any = {"actions": actions, "observation": spec.observation, "reward": spec.reward}
    return WorldSettings(
        road=spec.road,
        ego=spec.planner,
        cars=spec.cars,
        traffic=spec.traffic,
        steps=spec.ticks,
        prior=spec.prior,
        weights=RewardWeights(**{"discount": config.gamma, **({} if spec.reward == "v1" else spec.weights)}),
        v1=V1Weights(**(spec.weights if spec.reward == "v1" else {})),
        **kind,
    )


def _script(worlds: Any, seen: Any) -> Any:
    """Scripted cars that cut in, against one planner or several."""
    return worlds.act(CutInDriver(), seen) if isinstance(worlds, SeveralEgos) else CutInDriver()(worlds, seen)


def _progress(tick: Tick, again: bool) -> str:
    """How far a training is, in a line."""
    where = "learning earlier rounds again, " if again else ""
    if tick.stage != "learning":
        return f"{where}{tick.steps} steps, {tick.stage} the scripted cars"
    return f"{where}{tick.steps} steps, noise {tick.noise:.3f}, return {tick.mean_return:.2f}"


TRAINING = TrainingExperiment()

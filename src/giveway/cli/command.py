"""The one way to make a command: options by name, engine, progress, plug-ins, ``--json`` and exit codes.

::

    @command(app, adds=RUNS)
    def run(call: Call, spec: Annotated[Path | None, "TOML file."] = None, *, out: Path, seed: int = 0) -> Done:
        '''Compute something.'''
        return call.ran(run_something(spec, out, engine=call.engine(), progress=call.progress()))

Positional parameters are arguments, keyword-only ones options, see :mod:`giveway.cli.options`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from giveway.cli.envelope import Done, failed_cells, is_table, print_done, table_rows
from giveway.cli.needs import needs_of
from giveway.cli.options import ENGINE, EVERY, RUN, SHARED, Opt
from giveway.cli.progress import counting
from giveway.core.errors import UnknownNameError
from giveway.core.extras import require
from giveway.core.files import write_text
from giveway.core.urls import local_path

if TYPE_CHECKING:
    from giveway.experiments import Executor, Progress
    from giveway.reports.results import Results

HELP = {"help_option_names": ["-h", "--help"]}
ON_ENGINE = tuple(ENGINE)
"""Options of a command that computes on an engine."""
RUNS = (*RUN, *ENGINE)
"""Options of a command that runs the cells of a store."""
Needs = Sequence[str] | Callable[[Mapping[str, Any]], Sequence[str]]
"""Optional libraries that a command needs, or a function of its values that gives them."""


class Group(TyperGroup):
    """A group that suggests the nearest command for a misspelt one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As usual, but an unknown name gets the nearest known ones."""
        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            raise UnknownNameError("command", args[0], names, where=ctx.command_path)
        return super().resolve_command(ctx, args)


def group(help: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(
        help=help, cls=Group, no_args_is_help=True, add_completion=False, rich_markup_mode=None, context_settings=HELP
    )


def single() -> typer.Typer:
    """Home of a command that is in no group."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=HELP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What every command can use.

    Attributes:
        command: its words, without ``giveway``.
        values: of the options in :data:`~giveway.cli.options.RUN`, ``ENGINE`` and ``EVERY`` that it has.
        warnings: those so far; they stand in the document as well.
    """

    command: str
    values: Mapping[str, Any]
    warnings: list[str] = field(default_factory=list[str])

    @property
    def as_json(self) -> bool:
        """Whether ``--json`` was given."""
        return bool(self.values.get("json"))

    @property
    def is_quiet(self) -> bool:
        """Whether ``--quiet`` was given."""
        return bool(self.values.get("quiet"))

    @property
    def is_dry(self) -> bool:
        """Whether ``--dry-run`` was given."""
        return bool(self.values.get("dry_run"))

    def warn(self, text: str) -> None:
        """A warning on standard error and in the document."""
        self.warnings.append(text)
        sys.stderr.write(f"note: {text}\n")

    def say(self, text: str) -> None:
        """A line about what is going on, on standard error."""
        if not self.is_quiet:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def progress(self) -> Progress:
        """Where a run reports how far it is."""
        from giveway.experiments import default_progress
        from giveway.experiments.progress import SilentProgress

        return SilentProgress() if self.is_quiet else default_progress()

    def counting(self, title: str) -> AbstractContextManager[Callable[[int, int, str], None]]:
        """A function to be called with (done, total, what comes next)."""
        return counting(title, quiet=self.is_quiet)

    def engine(self, *, here: bool = False) -> Executor:
        """The engine that the options ask for.

        Args:
            here: for cells that cannot harm their process: one local worker without limits is this process.
        """
        from giveway.cli.engine import make_engine

        return make_engine(self.values, here=here)

    def num_workers(self) -> int | None:
        """Number of workers that the engine would have; None if that is left to this machine."""
        from giveway.cli.engine import expected_workers

        return expected_workers(self.values)

    def ran(self, results: Results, *texts: Any, table: Any = None, **more: Any) -> Done:
        """What a run into a store has done: leaderboard, number of cells, failures.

        Args:
            results: of the store.
            texts: printed below.
            table: leaderboard.
            more: further entries of the result.
        """
        state, runs = results.status, results.runs
        cells = {name: getattr(state, name) for name in ("total", "done", "failed", "missing")}
        counts = runs[-1].get("counts", {}) if runs else {}
        cells.update(counts)
        asked = runs[-1]["plan"] if runs else ""
        planned = {key for plan in results.store.plans() if plan.name == asked for key in plan.keys}
        stopped = bool(counts.get("stopped")) and cells["missing"] > 0
        counted = {"computed": "done", "were there": "skipped", "failed": "failed", "missing": "missing"}
        line = ", ".join(f"{cells[name]} {word}" for word, name in counted.items() if name in cells)
        shown = {} if table is None else {"table": table_rows(table)}
        return Done(
            result={"store": results.place, "cells": cells, **shown, **more},
            text=[table or "", f"cells: {line}", "stopped; start the same command again to go on" * stopped, *texts],
            failures=failed_cells([f for f in state.failures if f.key in planned]),
            stopped=stopped,
        )

    def table(self, made: Any, format: str, out: Path | None, **facts: Any) -> Done:
        """A table in a format, printed or written to a file.

        Args:
            made: with a method per format.
            format: name of the method.
            out: file; printed without it.
            facts: further entries of the result.
        """
        text = made if format == "text" and out is None and is_table(made) else getattr(made, format)()
        if out is not None:
            write_text(out, text)
            text = f"table written to {out}"
        return Done(result={**facts, "out": out, "table": table_rows(made)}, text=text)

    def finish(self, done: Done) -> None:
        """Print what was done; for commands that go on afterwards."""
        print_done(done, self.command, self.warnings, as_json=self.as_json)


def command(
    app: typer.Typer, name: str | None = None, *, adds: Sequence[str] = (), needs: Needs = ()
) -> Callable[[Callable[..., Done | None]], Callable[..., Done | None]]:
    """Make a function a command.

    Args:
        app: group, see :func:`group` and :func:`single`.
        name: of the command; that of the function by default.
        adds: options of :data:`~giveway.cli.options.RUN` and ``ENGINE`` that it has, in :attr:`Call.values`.
        needs: see :data:`Needs`; what options need by themselves is known, see :mod:`giveway.cli.needs`.
    """
    added = {**{name: {**RUN, **ENGINE}[name] for name in adds}, **EVERY}

    def register(function: Callable[..., Done | None]) -> Callable[..., Done | None]:
        def invoke(context: typer.Context, **values: Any) -> None:
            words = context.command_path.split()[1:]
            call = Call(command=" ".join(words), values={name: values.pop(name) for name in added})
            call.warnings.extend(context.obj or ())
            if isinstance(out := values.get("out"), Path):
                local_path(out, where="--out")
            _load_plugins(call.values["plugin"])
            asked = needs(values) if callable(needs) else needs
            if lacking := needs_of({**values, **call.values}, asked):
                require(lacking, purpose=f"giveway {call.command}")
            done = function(call, **values)
            if done is not None:
                call.finish(done)
                if not done.ok:
                    raise SystemExit(130) if done.stopped else typer.Exit(done.exit_code)

        own, hints = (
            list(inspect.signature(function).parameters.values())[1:],
            get_type_hints(function, None, None, True),
        )
        parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        parameters += [_declared(parameter, hints[parameter.name]) for parameter in own]
        parameters += [_option(name, kind, default, opt) for name, (kind, default, opt) in added.items()]
        invoke.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
        invoke.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        invoke.__doc__, invoke.__name__ = function.__doc__, function.__name__
        app.command(name)(invoke)
        return function

    return register


def _declared(parameter: inspect.Parameter, hint: Any) -> inspect.Parameter:
    """The parameter of a command as typer wants it."""
    inner = next((part for part in get_args(hint) if get_origin(part) is Annotated), None)
    if inner is not None and get_origin(hint) is not Annotated:  # X | None of an annotated X
        hint = Annotated[get_args(inner)[0] | None, *get_args(inner)[1:]]
    kind, notes = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
    note = notes[0] if notes else SHARED[parameter.name]
    if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        text = note if isinstance(note, str) else note.help
        return parameter.replace(annotation=Annotated[kind, typer.Argument(help=text)], kind=parameter.KEYWORD_ONLY)
    shared = SHARED.get(parameter.name, Opt())
    opt = note if isinstance(note, Opt) else Opt(note, shared.flags, shared.min, shared.max, shared.envvar)
    if parameter.name in SHARED and opt.flags != shared.flags:
        raise TypeError(f"option {parameter.name} is spelt in one way: {shared.flags}")
    return _option(parameter.name, kind, parameter.default, opt)


def _option(name: str, kind: Any, default: Any, opt: Opt) -> inspect.Parameter:
    if get_origin(kind) is Sequence:
        kind, default = list[get_args(kind)], default if default is inspect.Parameter.empty else list(default)
    spelt = f"--{name.replace('_', '-')}"
    flags = opt.flags or (f"{spelt}/--no-{spelt[2:]}" if default is True else spelt,)
    made = typer.Option(*flags, help=opt.help, min=opt.min, max=opt.max, envvar=opt.envvar, metavar=opt.metavar)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, made])


def _load_plugins(files: Sequence[str]) -> None:
    if files:
        from giveway.components import load_plugin

        for file in files:
            load_plugin(Path(file))

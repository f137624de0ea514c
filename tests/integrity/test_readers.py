"""One place opens files for reading; whoever else does is on a list with a reason."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

import pytest

import giveway

SOURCE = Path(giveway.__file__).parent

READER = {
    "core/checked.py": "the reader",
    "core/checked_formats.py": "parses bytes that the reader hands over",
}
RECORDINGS = {
    "roads/osm.py": "maps of recordings, with limits of their own",
    "data/generic_mapping.py": "adapter",
    "data/layout.py": "adapter: the first bytes of files",
    "data/levelx_files.py": "adapter",
    "data/argoverse2.py": "adapter: bytes that were read through the checked reader",
    "data/nuplan.py": "adapter: the first bytes of a database, and its digest",
    "data/restricted_pickle.py": "adapter: loads arrays and plain values of ScenarioNet, refuses every other name",
    "data/womd.py": "adapter: records one after the other, with limits",
    "roads/opendrive.py": "maps of recordings, with limits of their own",
    "data/streaming.py": "adapters: CSV files that hold nothing odd, fingerprinted on the way",
    "data/tables.py": "adapters: the one reader of CSV files, fingerprinted on the way",
}
RESOURCES = {
    "gaps/published.py": "published numbers",
    "generate/prior.py": "shipped prior",
    "reports/citations.py": "references",
    "reports/rendering.py": "static files",
    "reports/tokens.py": "colors of pages and films",
    "serve/rpc/messages.py": "message definitions",
    "study/texts.py": "English texts",
}
OWN_CODE = {
    "core/kernels.py": "counts kernels in its own sources; whose cache is being filled",
    "predictors/commotions/kernel/rollout.py": "digest of its own source",
    "experiments/provenance.py": "digest of the source; what processor this is",
}
MACHINE = {
    "experiments/worker_process.py": "memory of a process",
    "experiments/lock.py": "who holds the lock; nothing depends on it",
    "experiments/remote.py": "whether machines share a folder",
    "experiments/messages.py": "progress lines; nothing depends on them",
    "experiments/object_store.py": "a copy from an object store into an artifact, which is sealed",
    "synth/folder.py": "names of files that an earlier synthesis may overwrite",
    "serve/rpc/client.py": "certificates",
    "serve/rpc/server.py": "certificates",
    "study/secrets.py": "the key",
}
WRITERS = {
    "data/scenarionet_writer.py": "writes the pickles that ScenarioNet reads; reads none",
    "testing/formats.py": "writes small files of each format for tests",
    "drive/learning/train.py": "copies the planner of the best round, an attachment, beside the store",
    "core/files.py": "flushes what was written",
    "data/store.py": "flushes and locks folders",
    "predictors/commotions/fitting/journal.py": "cuts off half a line",
    "experiments/artifacts.py": "flushes and locks",
}
ALLOWED = READER | RECORDINGS | RESOURCES | OWN_CODE | MACHINE | WRITERS

METHODS = {"read_text", "read_bytes", "read_parquet", "scan_parquet", "read_csv", "scan_csv", "read_json"}
FUNCTIONS = {"open", "safe_open", "load_file"}
MODULES = {"np": {"load", "loadtxt", "fromfile"}, "torch": {"load"}, "tomllib": {"load", "loads"}, "json": {"load"}}
BANNED_MODULES = {"pickle", "shelve", "marshal", "dill", "joblib"}


def is_writing(call: ast.Call) -> bool:
    """Whether a call of ``open`` names a mode that creates or appends."""
    place = 1 if isinstance(call.func, ast.Name) else 0
    given = [*call.args[place : place + 1], *(k.value for k in call.keywords if k.arg == "mode")]
    modes = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str) and len(a.value) <= 3]
    return any(set(mode) & set("wax") for mode in modes)


def _parsed(source: str) -> ast.Module:
    """Without the garbage collector: finalizers that run while CPython 3.11 builds a tree upset its depth counter."""
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        gc.enable()


def direct_reads(source: str) -> list[str]:
    """Calls in a module that open a file for reading, or parse one."""
    found: list[str] = []
    for node in ast.walk(_parsed(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            found += [name for name in names if name.split(".")[0] in BANNED_MODULES]
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            is_read = node.func.id in FUNCTIONS and not is_writing(node)
        elif isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value)
            is_read = node.func.attr in METHODS | {"safe_open", "load_file"}
            is_read |= node.func.attr == "open" and not is_writing(node) and owner != "Results"
            is_read |= node.func.attr in MODULES.get(owner, ())
        else:
            is_read = False
        if is_read:
            found.append(ast.unparse(node)[:80])
    return found


def test_nothing_else_opens_files_for_reading() -> None:
    found = {p.relative_to(SOURCE).as_posix(): direct_reads(p.read_text("utf-8")) for p in SOURCE.rglob("*.py")}
    others = {name: reads for name, reads in found.items() if reads and name not in ALLOWED}
    assert others == {}, "read through giveway.core.checked, or give a reason here"


def test_every_exception_exists() -> None:
    assert [name for name in ALLOWED if not (SOURCE / name).is_file()] == []


@pytest.mark.parametrize(
    "source",
    [
        "path.read_text()",
        "open('a')",
        "path.open('rb')",
        "np.load(path)",
        "pl.read_parquet(path)",
        "tomllib.load(f)",
        "with safe_open(path, 'numpy') as f: pass",
        "import pickle",
        "from joblib import load",
        "load_file(path)",
        "json.load(f)",
    ],
)
def test_a_direct_read_is_noticed(source: str) -> None:
    assert direct_reads(source)


@pytest.mark.parametrize(
    "source", ["path.open('wb')", "open('a', mode='x')", "read_json(path)", "path.write_text('a')"]
)
def test_writing_and_the_reader_are_not(source: str) -> None:
    assert not direct_reads(source)

"""Which files are synthetic: those that a ``synthetic.json`` beside or above them lists, and marked sites."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from giveway.core.checked import Expect, read_json
from giveway.core.origins import DeclaredBy, Origin, RowOrigin
from giveway.core.scene import Provenance
from giveway.data.protocol import Recording

LIST = "synthetic.json"
"""Written by ``giveway data synth``: names and SHA-256 of every file."""

SYNTHETIC_SITE = "DR_SYN_"
"""Sites of synthetic INTERACTION recordings begin with this, wherever their files are copied to."""

MAX_LEVELS = 8
MAX_BYTES = 64 * 1024 * 1024
SYNTHETIC_LIST = Expect(
    what="the list of synthetic files", hint="make the recordings again, or delete the list if it is not of giveway"
)


def provenance_of(recording: Recording, files: Mapping[str, str], *, notes: tuple[str, ...] = ()) -> Provenance:
    """Provenance of a scene that an adapter read.

    Files that are not marked are recordings as far as anybody knows: ``declared_by`` is then ``assumed``.

    Args:
        recording: what was read.
        files: file name relative to the data root to SHA-256, for every file that was read.
        notes: for people.
    """
    origin, declared_by = _origin(recording, files)
    return Provenance(
        dataset=recording.dataset,
        recording=recording.id,
        files=files,
        notes=notes,
        origin=origin,
        declared_by=declared_by,
    )


def _origin(recording: Recording, files: Mapping[str, str]) -> tuple[Origin, DeclaredBy]:
    if recording.location.startswith(SYNTHETIC_SITE):
        return Origin.SYNTHETIC, "file"
    digests = set(files.values())
    for path in recording.files.values():
        place = path.resolve()
        for folder in list(place.parents)[:MAX_LEVELS]:
            record = folder / LIST
            if record.is_file():
                stamp = record.stat()
                names, listed = _read_list(record, stamp.st_mtime_ns, stamp.st_size)
                if listed & digests or place.relative_to(folder).as_posix() in names:
                    return Origin.SYNTHETIC, "file"
    return Origin.RECORDED, "assumed"


def stored_origin(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Origin and who declared it, from what a converted store says about a provenance.

    Stores of earlier releases do not say; what they wrote for generated traffic and marked sites is known by its ids.

    Raises:
        ValueError: an unknown origin.
    """
    if "origin" in provenance:
        row = RowOrigin.from_plain(provenance["origin"])
        return {"origin": row.origin, "declared_by": row.declared_by}
    if provenance["dataset"] == "generated":
        return {"origin": Origin.GENERATED, "declared_by": "file"}
    if str(provenance["recording"]).startswith(SYNTHETIC_SITE):
        return {"origin": Origin.SYNTHETIC, "declared_by": "file"}
    return {"origin": Origin.RECORDED, "declared_by": "assumed"}


@lru_cache(maxsize=64)
def _read_list(path: Path, _mtime_ns: int, _size: int) -> tuple[frozenset[str], frozenset[str]]:
    """Names and digests that a list declares synthetic; nothing if it is not one of ours.

    Raises:
        FileFormatError: a list that cannot be read; without it synthetic traffic would pass for recorded.
    """
    content: Any = read_json(path, limit=MAX_BYTES, expect=SYNTHETIC_LIST)
    if not isinstance(content, dict):
        return frozenset(), frozenset()
    record = cast("dict[str, Any]", content)
    if record.get("synthetic") is not True:
        return frozenset(), frozenset()
    names, digests = record.get("files"), record.get("sha256")
    return (
        frozenset(str(name) for name in cast("list[Any]", names)) if isinstance(names, list) else frozenset(),
        frozenset(str(d) for d in cast("dict[str, Any]", digests).values())
        if isinstance(digests, dict)
        else frozenset(),
    )

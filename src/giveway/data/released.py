"""Are these the files of the release? Sizes and SHA-256 of official files, where they are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from giveway.core.checked import read_toml
from giveway.data.findings import Findings

Agreement = Literal["as released", "unknown version", "same size, other content"]
LISTS = Path(__file__).with_name("fingerprints")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Files of one release of a dataset.

    Attributes:
        version: of the release.
        files: file name to size in bytes and SHA-256.
    """

    version: str
    files: Mapping[str, tuple[int, str]]


@lru_cache(maxsize=8)
def release_of(dataset: str) -> Release | None:
    """The release whose files are known, or None."""
    path = LISTS / f"{dataset}.toml"
    if not path.is_file():
        return None
    content = read_toml(path)
    return Release(version=content["version"], files={name: (row[0], row[1]) for name, row in content["files"].items()})


def check_released(dataset: str, files: Mapping[Path, str], findings: Findings) -> Agreement | None:
    """Compare files with those of the release, and report differences.

    Args:
        dataset: registered name.
        files: path to SHA-256 of what was read.
        findings: another version is a warning; a file of the same size with other content is an error, because a
            download or a disk did that.

    Returns:
        The worst agreement of the files, or None if no release of the dataset is known.
    """
    release = release_of(dataset)
    if release is None:
        return None
    worst: Agreement = "as released"
    for path, digest in files.items():
        size, official = release.files.get(path.name, (0, ""))
        if digest == official:
            continue
        found = path.stat().st_size
        if found == size:
            findings.error(
                f"the file has the size of release {release.version} and other content",
                path,
                found=f"SHA-256 {digest[:12]}..., released {official[:12]}...",
                hint="copy it again from the archive; if you changed it on purpose, rename the recording",
            )
            return "same size, other content"
        worst = "unknown version"
    if worst == "unknown version":
        path = next(iter(files))
        findings.warning(
            f"the recording is not that of release {release.version}",
            path,
            found="other sizes than released",
            hint="fine for another version or edited files; say so when you publish numbers",
        )
    return worst

"""What to cite for the datasets, models and metrics behind a result, as text and as BibTeX."""

from __future__ import annotations

import contextlib
import fnmatch
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from giveway import __version__
from giveway.core.errors import GivewayError

ACCENTS = re.compile(r"[{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """One work.

    Attributes:
        key: BibTeX key.
        type: BibTeX type.
        fields: BibTeX fields in the order of a bibliography.
        used_for: components it belongs to, e.g. ``("dataset lgap", "model DDM")``.
    """

    key: str
    type: str
    fields: tuple[tuple[str, str], ...]
    used_for: tuple[str, ...]

    @property
    def text(self) -> str:
        """One line for people."""
        found = {name: ACCENTS.sub("", value) for name, value in self.fields}
        if "note" in found and "title" not in found:
            return found["note"]
        authors = found.get("author", "").replace(" and others", " et al.").replace(" and ", "; ")
        place = (
            found.get("journal") or found.get("booktitle") or found.get("publisher") or found.get("howpublished") or ""
        )
        if "eprint" in found:
            place = f"arXiv:{found['eprint']}"
        numbers = ", ".join(found[name] for name in ("volume", "pages") if name in found).replace("--", "–")
        doi = f"doi:{found['doi']}" if "doi" in found else ""
        rest = ", ".join(part for part in (place, numbers, doi) if part)
        return f"{authors} ({found.get('year', 'n.d.')}). {found['title']}.{f' {rest}.' if rest else ''}"

    @property
    def bibtex(self) -> str:
        """One entry."""
        body = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields)
        return f"@{self.type}{{{self.key},\n{body}}}\n"


OURS = Citation(
    key="giveway",
    type="software",
    fields=(
        ("author", "{Give Way contributors}"),
        ("title", "{Give Way}: how well machines understand drivers who must share a piece of road"),
        ("version", __version__),
        ("year", "2026"),
    ),
    used_for=("software",),
)


def citations_for(components: Iterable[str]) -> list[Citation]:
    """What to cite, the software first, then in the order of the list of references.

    Args:
        components: ``"kind:name"``, e.g. ``"dataset:lgap"``, ``"model:LR_1D"``, ``"metric:auc"``, ``"command:drive"``.
            Components the list does not know are looked up among registered datasets and models.
    """
    wanted = list(dict.fromkeys(components))
    found: list[Citation] = [OURS]
    known: set[str] = set()
    for key, entry in _references().items():
        used = [c for c in wanted if any(fnmatch.fnmatchcase(c, pattern) for pattern in entry["for"])]
        known.update(used)
        if used:
            fields = tuple((name, str(value)) for name, value in entry.items() if name not in ("for", "type"))
            names = tuple(c.replace(":", " ", 1) for c in used)
            found.append(Citation(key=key, type=entry["type"], fields=fields, used_for=names))
    for component in wanted:
        if component not in known:
            found += _declared(component)
    return found


def bibliography(citations: Iterable[Citation]) -> str:
    """A BibTeX file."""
    return "\n".join(citation.bibtex for citation in citations)


def _declared(component: str) -> list[Citation]:
    """References that a registered component declares itself."""
    kind, _, name = component.partition(":")
    texts: tuple[str, ...] = ()
    with contextlib.suppress(GivewayError, ImportError):
        if kind == "dataset":
            from giveway.data import DATASETS

            texts = DATASETS.get(name).info.references
        elif kind == "model":
            from giveway.predictors import predictor_named

            texts = predictor_named(name.partition(":")[0]).info.references
    slug = re.sub(r"[^a-z0-9]+", "", name.lower()) or "component"
    return [
        Citation(
            key=f"{slug}{n or ''}",
            type="misc",
            fields=(("note", text),),
            used_for=(component.replace(":", " ", 1),),
        )
        for n, text in enumerate(texts)
    ]


@cache
def _references() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("giveway.reports").joinpath("references.toml").read_text(encoding="utf-8"))

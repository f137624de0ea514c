"""How datasets and models are called in tables, and in which order models stand."""

from __future__ import annotations

import re
from collections.abc import Iterable

DATASETS = {
    "lgap": "L-GAP",
    "round": "rounD",
    "round_2v": "rounD_2V",
    "leeds": "Leeds",
    "leeds_2v": "Leeds_2V",
    "highd": "highD",
    "highd_restricted": "highD (restricted)",
    "ind": "inD",
    "interaction": "INTERACTION",
}
"""Names as their authors write them, in the order of the papers."""

LEADERS = ("T++", "LR_2D", "LR_1D")
COGNITIVE = re.compile(r"CM_(?P<a>[IA])(?P<b>[IN])(?P<c>[JA])(?P<d>[12])(?P<e>[12])")


def dataset_title(name: str) -> str:
    """``"round_2v"`` to ``"rounD_2V"``; other names stay as they are."""
    return DATASETS.get(name, name)


def order_datasets(names: Iterable[str]) -> list[str]:
    """Order of the papers, then the others by name."""
    known = list(DATASETS)
    return sorted(set(names), key=lambda n: (known.index(n) if n in known else len(known), n))


def order_models(names: Iterable[str]) -> list[str]:
    """T++, LR_2D, LR_1D, the cognitive models as in Tables III to VI, then the others by name.

    Cognitive models CM_abcde: loss e = 1 before 2; within a loss c = J before A; then a = I before A; then d = 1
    before 2; then b = I before N.
    """
    return sorted(set(names), key=_model_key)


def model_title(name: str) -> str:
    """The name as text; one with a file, ``"gru:gru.safetensors"``, was fitted before and is marked as pretrained."""
    return f"{name} (pretrained)" if ":" in name else name


def model_latex(name: str) -> str:
    """``"LR_1D"`` to ``"LR_{1D}"``, as LaTeX mathematics without dollar signs; pretrained ones are marked."""
    if ":" in name:
        return f"{model_latex(name.partition(':')[0])}^\\mathrm{{pretrained}}"
    stem, _, index = name.partition("_")
    return f"{stem}_{{{index.replace('_', ',')}}}" if index else stem


def _model_key(name: str) -> tuple[object, ...]:
    if name in LEADERS:
        return (0, LEADERS.index(name))
    found = COGNITIVE.fullmatch(name)
    if found:
        return (1, found["e"], "JA".index(found["c"]), "IA".index(found["a"]), found["d"], "IN".index(found["b"]))
    return (2, name)

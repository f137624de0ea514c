"""Optional libraries that the values of options need, whatever the command.

What depends on the predictors of a run is asked when its specification is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from giveway.core.urls import is_url

PICTURES = (".png", ".pdf", ".svg")
FILMS = (".mp4", ".gif", ".webm")
SCHEDULERS = ("tcp://", "tls://", "ucx://", "ws://", "wss://")


def _of_file(value: str) -> tuple[str, ...]:
    end = Path(value).suffix.lower()
    return ("plot", "video/imageio_ffmpeg") if end in FILMS else ("plot",) if end in PICTURES else ()


def _of_predictor(value: str) -> tuple[str, ...]:
    if value.startswith("grpc"):
        return ("rpc",)
    return ("learn/safetensors",) if value.startswith(("gru", "trajectron:", "TPP:", "T++:")) else ()


OPTIONS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "engine": lambda value: ("cluster/distributed",) if value == "dask" else (),
    "database": lambda value: ("postgres",) if value.startswith("postgresql") else (),
    "out": _of_file,
    "picture": _of_file,
    "predictor": _of_predictor,
    "device": lambda value: ("learn/torch",) if value.startswith(("cuda", "mps")) else (),
    "driver": lambda value: ("generate/safetensors",) if value == "policy" else (),
    "search": lambda value: {"nsga2": ("generate/pymoo",), "cma_es": ("generate/cma",)}.get(value, ()),
    "video": lambda value: ("video",) if value == "True" else (),
}
"""Option to what one of its values needs."""


def needs_of(values: Mapping[str, Any], more: Sequence[str] = ()) -> list[str]:
    """What a call needs, see :mod:`giveway.core.extras`: that of the command first."""
    found = list(more)
    for name, given in values.items():
        for value in given if isinstance(given, list | tuple) else [given]:
            text = "" if value is None else str(value)
            found += OPTIONS[name](text) if name in OPTIONS and text else ()
            address = text.partition("=")[2] if name == "data" and "=" in text else text
            if is_url(address) and not address.startswith(SCHEDULERS) and name != "database":
                found += ["cluster/fsspec", *(["cluster/s3fs"] if address.startswith("s3://") else [])]
    return list(dict.fromkeys(found))

"""What raters read: English in ``texts/en.toml``, other languages and changes as files in the study folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from giveway.core.checked import Expect, read_toml
from giveway.core.errors import ConfigError, UnknownNameError
from giveway.core.origins import Origin

Texts = Mapping[str, str]
MAX_TEXT = 20_000


FEEDBACK = {
    Origin.RECORDED: "recorded",
    Origin.SYNTHETIC: "synthetic",
    Origin.DRIVEN: "driven",
    Origin.GENERATED: "generated",
    Origin.BROKEN: "broken",
}
"""Origin of the rated vehicle to the end of the key ``practice_feedback_...`` of what raters are told about it."""


def feedback_of(origin: str, declared_by: str, *, is_broken: bool, is_declared: bool) -> str:
    """Which feedback a practice clip gets.

    Traffic that nobody vouches for is not called real. In studies of earlier releases the origin is unknown; a
    condition that their researchers declared to be recorded is said to be declared so.

    Args:
        origin: of the rated vehicle, or ``unknown``.
        declared_by: who says so.
        is_broken: the clip was broken on purpose, which earlier releases kept as well.
        is_declared: the study file declares its condition to be recorded.
    """
    if is_broken:
        return FEEDBACK[Origin.BROKEN]
    if origin not in set(Origin):
        return "declared" if is_declared else "other"
    known = Origin(origin)
    return "other" if known is Origin.RECORDED and declared_by == "assumed" else FEEDBACK[known]


def bundled_texts() -> dict[str, str]:
    """The English texts."""
    source = resources.files("giveway.study").joinpath("texts/en.toml").read_text(encoding="utf-8")
    return tomllib.loads(source)


def load_texts(folder: Path, language: str) -> Texts:
    """English, overlaid with ``texts.<language>.toml`` of the study folder where it exists.

    Placeholders in braces must be the same as in English, so that no page can fail on a translation.

    Raises:
        ConfigError: if a file does not parse or a text has other placeholders.
        UnknownNameError: for a key that does not exist, with the nearest one.
    """
    texts = bundled_texts()
    path = folder / f"texts.{language}.toml"
    if not path.exists():
        if language != "en":
            raise ConfigError(
                f"there is no translation into {language!r}",
                where=path,
                found="no such file",
                hint="copy src/giveway/study/texts/en.toml there and translate the right-hand sides",
            )
        return texts
    changes = read_toml(path, expect=Expect(error=ConfigError, what="the translation"))
    for key, value in changes.items():
        if key not in texts:
            raise UnknownNameError("text", key, texts, where=path)
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            raise ConfigError("a text must be a string", where=f"{path}, {key}", found=type(value).__name__)
        if placeholders(value) != placeholders(texts[key]):
            raise ConfigError(
                "a translated text has other placeholders than the English one",
                where=f"{path}, {key}",
                found=f"{sorted(placeholders(value))}, expected {sorted(placeholders(texts[key]))}",
            )
        texts[key] = value
    return texts


def placeholders(text: str) -> set[str]:
    """Names in braces."""
    import string

    try:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    except ValueError:
        return {"unbalanced brace"}

"""Formulas of the documentation as MathML, made while the pages are built: browsers draw it without a script or a font.

`pymdownx.arithmatex` finds ``$...$`` and ``$$...$$`` (code hosts render that spelling, too) and leaves TeX in marked
elements; this Markdown extension, listed behind it in ``zensical.toml``, replaces them.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

MARKED = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def mathml(page: str) -> str:
    """A page whose marked TeX is MathML."""
    return MARKED.sub(_formula, page)


def _formula(found: re.Match[str]) -> str:
    display = "block" if found[1] == "div" else "inline"
    formula = convert(html.unescape(found[2]).strip(), display=display)
    return f'<div class="formula">{formula}</div>' if found[1] == "div" else formula


class _Rendering(Postprocessor):
    def run(self, text: str) -> str:
        return mathml(text)


class MathML(Extension):
    """Renders formulas after everything else."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the last postprocessor."""
        md.postprocessors.register(_Rendering(md), "mathml", -10)


def makeExtension(**settings: Any) -> MathML:
    """The extension, as Markdown looks for it."""
    return MathML(**settings)

"""docs/method.md, written from the same words as the page Method. `make docs` writes the file."""

from __future__ import annotations

from collections.abc import Iterable

from slmopt.words import differences, method
from slmopt.words.glossary import TERMS

_HEAD = """# Method

Written by `make docs` from `slmopt/words/`: change the words there, not here.
"""


def document() -> str:
    """The whole file."""
    blocks = [_HEAD.strip(), method.ANSWER]
    for one in method.FORMULAS:
        path = one.module.replace(".", "/") + ".py"
        blocks += [
            f"## {one.name}",
            f"    {one.equation}",
            one.meaning,
            f"- Where it fails: {one.fails}",
            f"- Source: {one.source}",
            f"- Computed in [`{path}`](../{path})",
        ]
    blocks += ["## Limits", _listed(method.LIMITS), "## Accuracy", _listed(method.accuracy())]
    rows = [f"| {name} | {first} | {second} | {count:,} |" for name, first, second, count in method.classes()]
    blocks.append(
        "\n".join(
            ["| Devices | Bandwidth reached | Matrix rate reached | Rows |", "|---|---|---|---:|", *rows]
        )
    )
    blocks.append("## Why another tool says something else")
    blocks += [
        f"**{told.title}.** {told.why} {told.case}: {numbers}." for told, numbers in differences.lines()
    ]
    blocks += ["## Glossary", _listed(f"**{term.name}**: {term.meaning}" for term in TERMS)]
    blocks += ["## References", _listed(method.REFERENCES)]
    # A list's items stay together.
    text = "\n\n".join(blocks).replace("\n\n- Source", "\n- Source").replace("\n\n- Computed", "\n- Computed")
    return text.replace("\u00a0", " ") + "\n"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)

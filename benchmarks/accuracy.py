"""``make accuracy``: the product against everything that was measured, printed or answered elsewhere.

Writes docs/accuracy.md with its figures. Ends with 1 where a valid, fully described row is above its ceiling, where an
impossible run passes, or where an error is larger than its limit in ``LIMITS``, which the page states.
The reference data lies beside the repository; without it only what ships is checked, and the page is left as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from benchmarks.accuracy_page import Section, spread_figure, spreads, table
from benchmarks.accuracy_references import INVALID
from benchmarks.accuracy_rows import judged
from tests.shared import HAS_SHARED, ROOT

LIMITS: Final[dict[str, float]] = {
    "valid rows above their ceiling": 0,
    "impossible runs not flagged": 0,
    "decode, median error": 0.18,
    "decode, p90 error": 0.50,
    "prefill, median error": 0.38,
    "prefill, p90 error": 0.90,
    "calibrated, a row left out, median error": 0.14,
    "calibrated, a row left out, p90 error": 0.55,
    "calibrated, a row left out, share of a constant share's": 0.45,
    "calibrated, a model left out, median error": 0.24,
    "calibrated, a model left out, p90 error": 0.66,
    "calibrated, a model left out, share of a constant share's": 0.6,
    "cache bytes, largest error": 0.002,
    "file sizes, largest error": 0.003,
    "other calculators' cases, largest error": 0.006,
}
"""What each figure may be at most. An error is |said / measured - 1|; a limit is lowered when the figure falls."""

CLASSES: Final = {
    "apple": "Apple, GPU",
    "apu": "integrated graphics",
    "consumer-gpu": "desktop cards",
    "cpu": "processors",
    "dc-gpu": "data-centre cards",
    "laptop-gpu": "laptop graphics",
    "sbc": "single-board computers",
    "soc": "Jetson, DGX Spark",
    "ws-gpu": "workstation cards",
    "all": "no class",
}


def main() -> int:
    """Check all, write the page where the reference data is present; 1 if a limit is passed."""
    rows = judged(with_shared=HAS_SHARED)
    docs = ROOT / "docs"
    sections = [_ceilings(rows, docs if HAS_SHARED else None), _predictions(rows)]
    if HAS_SHARED:
        sections += [section() for section in _beside()]
    figures = {name: value for section in sections for name, value in section.figures.items()}
    passed = {name: value for name, value in figures.items() if value > LIMITS[name]}
    for name, value in figures.items():
        print(f"{'FAIL' if name in passed else 'ok  '}  {name}: {value:.4g} (at most {LIMITS[name]:g})")
    if HAS_SHARED:
        page = "\n\n".join([_HEAD, _limits(figures), *(section.text for section in sections)])
        (docs / "accuracy.md").write_text(page + "\n", encoding="utf-8")
    else:
        print("The reference data is not beside this checkout: docs/accuracy.md is left as it is.")
    return 1 if passed else 0


_HEAD: Final = """# Accuracy

`make accuracy` writes this page: every reference measurement is put through the product as a user's file would be, and the
judgement sees only its numbers. It fails when a figure below passes its limit."""


def _limits(figures: dict[str, float]) -> str:
    lines = [(name, f"{value:.4g}", f"{LIMITS[name]:g}") for name, value in figures.items()]
    return table(("figure", "now", "at most"), lines)


def _beside() -> tuple[Callable[[], Section], ...]:
    """Sections on data that does not ship."""
    from benchmarks import accuracy_fits, accuracy_sizes  # noqa: PLC0415 - read data that may be absent

    return (
        accuracy_fits.section,
        accuracy_sizes.caches_section,
        accuracy_sizes.files_section,
        accuracy_sizes.calculators_section,
    )


def _ceilings(rows: pd.DataFrame, docs: Path | None) -> Section:
    invalid = rows["evidence"].eq(INVALID)
    above = rows["verdict"].eq("above_ceiling")
    faults = rows[rows["described"] & above & ~invalid]
    # The judgement flags a run by its row; one number beyond physics is enough, whatever the others are.
    flagged = rows[above]["row"].str.split(" ").str[0]
    idents = rows[invalid]["row"].str.split(" ").str[0]
    missed = sorted(set(idents) - set(flagged))
    valid = rows[rows["described"] & ~invalid]
    alone = valid[valid["devices"] == 1]
    text = [
        "## Shares of the ceiling",
        (
            f"{len(rows):,} figures (speeds of decode, prefill and serving); {len(valid):,} state all that a ceiling needs: a model with "
            f"its layers, its file's size or a known format, device, lengths and batch. None of these may be above it. "
            f"The largest share is {valid['fraction'].max():.3f}."
        ),
        "Bars: 10th to 90th percentile; tick: median; dot: most; at the right: rows. One device; several are in the tables.",
    ]
    for phase in ("decode", "prefill"):
        some = alone[alone["phase"] == phase].assign(
            cls=lambda t: t["device_class"].map(CLASSES).fillna(t["device_class"])
        )
        for by, what in (("cls", "device class"), ("runtime", "runtime")):
            groups = spreads(some, by)
            name = f"accuracy-{phase}-{'class' if by == 'cls' else 'runtime'}.svg"
            title = f"Share of the ceiling reached in {phase}, by {what}"
            if docs is not None:
                (docs / "figures").mkdir(parents=True, exist_ok=True)
                spread_figure(title, groups, docs / "figures" / name)
            best = groups.iloc[0]
            text += [
                f"### {title}",
                (
                    f"![{title}: the highest median is {groups.index[0]} at {best['p50']:.0%}, the lowest {groups.index[-1]} at "
                    f"{groups.iloc[-1]['p50']:.0%}](figures/{name})"
                ),
            ]
    several = spreads(valid[valid["devices"] > 1], "phase", 1)
    text += [
        "### Several devices (the ceiling adds their rates; llama.cpp uses them one after the other)",
        table(
            ("phase", "rows", "p10", "median", "p90", "most"),
            [(name, *(_share(v) for v in row)) for name, row in several.iterrows()],
        ),
        "## Above the ceiling",
        _above(faults, "No valid, fully described row is above its ceiling."),
        "### Impossible runs",
        f"{idents.nunique()} runs are known to have skipped work. From their numbers alone, {idents.nunique() - len(missed)} are flagged.",
        _above(rows[invalid & above], "None is flagged."),
        "### Above a bound that could not be complete",
        "The source leaves out what would make the ceiling one: experts that the name does not tell, or a file's size.",
        _above(rows[above & ~invalid & ~rows["described"]], "None."),
        "### Without a ceiling",
        table(
            ("what is missing", "rows"),
            [
                (str(k).replace("|", ", "), v)
                for k, v in rows[rows["verdict"] == "unknown"]["reasons"].value_counts().items()
            ],
        ),
    ]
    counts = {
        "valid rows above their ceiling": float(len(faults)),
        "impossible runs not flagged": float(len(missed)),
    }
    return Section("\n\n".join(text), counts)


def _share(value: float) -> str:
    return f"{value:.0f}" if value > 1.5 else f"{value:.2f}"


def _above(rows: pd.DataFrame, none: str) -> str:
    if not len(rows):
        return none
    ordered = rows.sort_values("fraction", ascending=False)
    told = ("row", "model", "weights", "device", "measured", "ceiling", "fraction")
    return table((*told[:-1], "times the ceiling"), ordered[list(told)].to_numpy().tolist())


def _predictions(rows: pd.DataFrame) -> Section:
    """The typical estimate against what was measured; the factors come from these classes, so that this is no forecast."""
    known = rows[rows["described"] & ~rows["evidence"].eq(INVALID) & (rows["devices"] == 1)]
    known = known[np.isfinite(known["p50"])]
    lines: list[tuple[object, ...]] = []
    figures: dict[str, float] = {}
    for phase in ("decode", "prefill"):
        some = known[known["phase"] == phase]
        ours = (some["fraction"] / some["p50"] - 1).abs()
        plain = (some["fraction"] / some["fraction"].median() - 1).abs()
        inside = some["fraction"].between(some["p10"], some["p90"]).mean()
        lines.append(
            (
                phase,
                len(some),
                *(
                    f"{v:.0%}"
                    for v in (ours.median(), ours.quantile(0.9), plain.median(), plain.quantile(0.9), inside)
                ),
            )
        )
        figures |= {f"{phase}, median error": ours.median(), f"{phase}, p90 error": ours.quantile(0.9)}
    text = [
        "## Typical estimates",
        (
            "The estimate of an uncalibrated device (reference factors of its class and runtime) against the speed measured. The "
            "factors stem from these and other rows of the class, so this is how well they describe, not how well they foretell. "
            "Beside it: one constant share of the ceiling, the best for all these rows."
        ),
        table(
            (
                "phase",
                "rows",
                "median error",
                "p90",
                "constant share: median",
                "p90",
                "inside the p10 to p90 band",
            ),
            lines,
        ),
    ]
    return Section("\n\n".join(text), figures)


if __name__ == "__main__":
    sys.exit(main())

"""Errors of the fit to this project's own sweep: in sample, each row left out, each model left out.

The rows are median times of single steps of five models in four formats on two threads (presets/this_machine).
"""

from __future__ import annotations

import time

from slmopt.measured.calibration import Fit, calibrate
from slmopt.measured.calibration_rows import Usable, passes, usable
from slmopt.measured.detect import read_benchmark
from slmopt.measured.placed import Facts
from slmopt.specs.library import preset_root
from slmopt.words import calibration as words

FILE = "step_times_t2.csv"
DEVICE = "epyc-2core"
LIMIT_ROW = 0.13
LIMIT_MODEL = 0.17


def own_points() -> Usable:
    """The sweep's points."""
    content = (preset_root() / "this_machine" / FILE).read_bytes()
    return usable(passes(read_benchmark(FILE, content).rows, Facts(device=DEVICE)))


def own_sweep() -> tuple[Usable, Fit]:
    """The sweep's points and their fit."""
    used = own_points()
    return used, calibrate(used.rows)


def report() -> bool:
    """Prints the errors and the terms; returns whether both errors of what was left out are within their limits."""
    begin = time.perf_counter()
    used, fit = own_sweep()
    took = time.perf_counter() - begin
    unseen = float("nan") if fit.new_model is None else fit.new_model
    print(
        f"Fit to {len(fit.points)} points of the own sweep ({FILE}), {took:.1f} s; mean absolute relative error"
    )
    print(f"  in sample        {fit.in_sample:6.1%}")
    print(f"  a row left out   {fit.left_out:6.1%}   (limit {LIMIT_ROW:.0%})")
    print(f"  a model left out {unseen:6.1%}   (limit {LIMIT_MODEL:.0%})")
    if fit.plain is not None and fit.fraction is not None:
        print(f"  plain ceiling    {fit.plain:6.1%}   best constant fraction {fit.fraction:.1%}")
    for row in words.rate_rows(fit):
        print(f"  {row['Term']:<34}{row['Fitted']:>14}   {row['95 % interval']}")
    for note in words.notes(fit, used):
        print(f"  {note}")
    return fit.left_out <= LIMIT_ROW and unseen <= LIMIT_MODEL

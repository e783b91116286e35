"""What is said about a measured row: its verdict, the reasons that can explain it, and what to beware of.

Codes are those of :mod:`slmopt.measured.verdicts` and :mod:`slmopt.measured.placed`.
"""

from __future__ import annotations

from typing import Final

import pandas as pd

from slmopt.measured.verdicts import NOISY, REASONS, SHORT_PASS_S
from slmopt.words import numbers

VERDICT_WORDS: Final = {
    "near_ceiling": "near the ceiling",
    "typical": "typical",
    "below_typical": "below typical",
    "far_below": "far below typical",
    "above_ceiling": "above the ceiling",
    "unknown": "not known",
}

MARKS: Final = {"above_ceiling": "✕"}

NEXT_STEP: Final = {
    "near_ceiling": "No kernel work will help: move fewer bytes, or get more tokens from each read.",
    "typical": "As others with this class of device; the rest of the way is kernels and settings.",
    "below_typical": "Software first: threads, kernels, power; then measure again.",
    "far_below": "Software first: something holds this run back that is neither memory nor arithmetic.",
    "above_ceiling": "A bound was passed, so something is not as stated; the reasons are in order of likelihood.",
    "unknown": "What is missing can be given by hand.",
}

REASON_SENTENCES: Final = {
    "need_device": "The device is not known: name it.",
    "need_model": "The model is not known: name it.",
    "need_weights": "The weight format is not known: name it.",
    "need_batch": "How many sequences ran together is not stated: give it.",
    "no_length": "The prompt length is not stated, so its arithmetic is not known.",
    "unlike_devices": "Several different devices shared the work, and how is not stated.",
    "experts_shape": "The name says a mixture of experts, whose bytes a token depend on its shape: name the model.",
    "no_rate": "No matrix rate is known for these operands on this device: enter it.",
    "memory_reached": "Memory is used as well as can be: fewer bytes, or more tokens a read.",
    "compute_reached": "Arithmetic is used as well as can be: fewer operations, or a faster operand type.",
    "fast_kernels": "Integer or FP16-accumulate kernels run faster than the rate that this ceiling is made from.",
    "active_experts": "The model may be a mixture of experts that reads only a part of its weights for a token.",
    "speculation": "Speculative decoding or extra prediction heads that the file does not declare.",
    "prefix_cache": "A prefix cache supplied a part of the prompt.",
    "cache_resident": "The weights are small enough to stay, in part, in a cache of the processor.",
    "more_devices": "More devices than one shared the work, which the file does not say.",
    "wrong_input": "The bandwidth, the matrix rate or the model file is not the one that ran.",
    "skipped_work": "The run left out a part of the work.",
    "short_pass": f"A pass this short (under {SHORT_PASS_S * 1e3:g} ms at best) is decided by launches and other fixed time.",
    "short_prompt": "The prompt is too short for a steady matrix product.",
    "offload": "A part of the model may lie in main memory.",
    "batch_kernels": "Batches run on other kernels than single sequences, often slower ones.",
    "threads": "Too few or too many threads, or threads not bound to cores.",
    "kernels": "Kernels that do not fit the device or the format, or a build without them.",
    "power": "Power or heat limits, or a busy machine.",
    "queueing": "Waiting in a queue and prefills of other requests are in the time.",
}

NOTE_SENTENCES: Final = {
    "count_only": "Only the parameter count is known, so cache reads are not counted; it is still a bound.",
    "no_depth": "The context is not stated, so cache reads are not counted; it is still a bound.",
    "least_bits": "The format's name leaves its scales open; the fewest bits were taken, so it is still a bound.",
    "layers_on_host": "Layers lie in main memory: the ceiling is the card's layers and then the host's.",
    "host_unknown": (
        "Layers lie in main memory, whose bandwidth is not known: the ceiling is the card's alone, still a bound; name the host "
        "(--host, or in the panel) for that of both."
    ),
    "cache_assumed": "The cache format is not stated; 16 bits were taken.",
    "devices_assumed": "The number of devices is not stated; one was taken.",
    "other_size": "The file's size is not that of its format for this model; the size decided.",
    "speculated": "Speculation is declared: its tokens a pass are counted, the draft's own time is not.",
    "one_of_many": "One stream was timed among several; the ceiling is that of a step with one sequence, still a bound.",
    "whole_requests": "Whole requests were timed: prefill and waiting are in the measurement and not in the ceiling.",
}


def reason_list(codes: object) -> list[str]:
    """Sentences for reason codes joined by "|"."""
    return [REASON_SENTENCES[code] for code in _split(codes)]


def reasons_of(rows: pd.DataFrame) -> list[str]:
    """All reasons of these rows, each once, likeliest first."""
    found = {code for codes in rows["reasons"].dropna().unique() for code in _split(codes)}
    return [REASON_SENTENCES[code] for code in REASONS if code in found]


def notes_of(rows: pd.DataFrame) -> list[tuple[str, int]]:
    """All notes of these rows with the number of rows that each concerns; differing repeats as one."""
    said: dict[str, int] = {}
    values: dict[str, list[tuple[float, int]]] = {"spread": [], **{name: [] for name in _COUNTED}}
    held = rows["notes"].value_counts()
    # Categories that no row has are counted as well, with none.
    for codes, count in held[held > 0].items():
        for code in _split(codes):
            name, _, value = code.partition("=")
            if name in values:
                values[name].append((float(value), int(count)))
            else:
                said[_note(code)] = said.get(_note(code), 0) + int(count)
    for name, found in values.items():
        if found:
            most = max(value for value, _ in found)
            text = _note(f"{name}={most:g}") if len(found) == 1 else _summed(name, most)
            said[text] = sum(count for _, count in found)
    own = rows["note"].value_counts()
    said |= {_stopped(str(text)): int(count) for text, count in own.items() if count}
    return sorted(said.items(), key=lambda item: -item[1])


def _summed(name: str, most: float) -> str:
    if name in _COUNTED:
        return f"Up to {most:g} {_COUNTED[name]}"
    few = numbers.percent(NOISY)
    return f"Repeats differ by {few} or more, by up to ±{numbers.percent(most / 100)}: repeat them on a quiet machine."


_COUNTED: Final = {
    "devices": (
        "devices, and nothing says how they share the model: their bandwidths and rates are added up, which bounds any way."
    ),
    "tensor": "devices share every layer (tensor parallel): what each holds twice and the link count.",
    "pipeline": "devices hold layers in turn (pipeline): one stream waits for each of them.",
}


def _stopped(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def note_text(codes: object, own: object = None) -> str:
    """One text for note codes joined by "|", behind the reader's own note."""
    said = [_stopped(own)] if isinstance(own, str) and own else []
    return " ".join([*said, *(_note(code) for code in _split(codes))])


def _note(code: str) -> str:
    name, _, value = code.partition("=")
    if name == "spread":
        percent = numbers.percent(float(value) / 100)
        trust = "do not trust it" if float(value) >= 20 else "repeat it on a quiet machine"
        return f"Repeats differ by ±{percent}: {trust}."
    if name == "named":
        return f"The file names {value}, which is another device."
    if name in _COUNTED:
        return f"{value} {_COUNTED[name]}"
    return NOTE_SENTENCES[name]


def _split(codes: object) -> list[str]:
    return codes.split("|") if isinstance(codes, str) and codes else []


def worded(rows: pd.DataFrame) -> pd.DataFrame:
    """A comparison's rows with ``verdict``, ``reasons`` and ``note`` in words, and without their codes."""
    own, found = (rows[name].cat for name in ("note", "notes"))
    wide = len(found.categories) + 1
    key = (own.codes.to_numpy(dtype="int64") + 1) * wide + found.codes.to_numpy() + 1
    codes, distinct = pd.factorize(key)
    texts = [_combined(own.categories, found.categories, *divmod(int(value), wide)) for value in distinct]
    known = pd.Categorical(pd.Series(texts, dtype="str"))
    note = known.take(codes) if texts else rows["note"]
    return rows.drop(columns=["notes"]).assign(
        verdict=rows["verdict"].cat.rename_categories(VERDICT_WORDS),
        reasons=rows["reasons"].cat.rename_categories(lambda codes: " ".join(reason_list(codes))),
        note=note,
    )


def _combined(own: pd.Index, found: pd.Index, at_own: int, at_found: int) -> str:
    return note_text(found[at_found - 1] if at_found else "", own[at_own - 1] if at_own else None)

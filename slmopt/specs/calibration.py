"""What a fit to measured rows found about one machine: the rates that estimates then start from.

A calibration is plain data: it stands in a scenario, in a link (one short text) and in a JSON file.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError, model_validator

from slmopt.specs.base import Spec, SpecError, sentence

Overlap = Literal["products", "single", "none"]
"""How a pass's times join: reading hidden behind the matrix products (or they behind it) always, only where a pass feeds
one token, or never. Attention and the fixed time always come on top."""

Positive = Annotated[float, Field(gt=0)]
Range = tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(ge=0)]]

UNITS: Final = {
    "bandwidth_gbs": "GB/s",
    "batched_gbs": "GB/s",
    "matrix_tflops": "TFLOPS",
    "attention_tflops": "TFLOPS",
    "fixed_ms": "ms",
    "cache_step": "tokens",
}


class Calibration(Spec):
    """Rates of one machine. None: the rows did not tell it, and the reference measurements' figure stands.

    ``bandwidth_gbs`` holds where a pass feeds one token, ``batched_gbs`` where it feeds more (None: the same);
    ``attention_tflops`` holds for decode (a prefill's attention runs at the matrix rate; None: decode's too); ``cache_step`` cached tokens are attended to
    together, so that a length counts as the next multiple. The ranges (``batch`` in sequences, ``context`` and ``prompt``
    in tokens, ``weights_gb``) are what was measured: a prediction beyond them is an extrapolation. ``error`` is the mean
    absolute relative error of rows left out.
    """

    version: Literal[1] = 1
    overlap: Overlap = "products"
    bandwidth_gbs: Positive
    batched_gbs: Positive | None = None
    matrix_tflops: Positive | None = None
    attention_tflops: Positive | None = None
    fixed_ms: Annotated[float, Field(ge=0)] = 0.0
    cache_step: Annotated[int, Field(ge=1, le=65_536)] = 1
    batch: Range = (1.0, 1.0)
    context: Range = (0.0, 0.0)
    prompt: Range | None = None
    weights_gb: Range = (0.0, 0.0)
    rows: Annotated[int, Field(ge=1)] = 1
    error: Annotated[float, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Calibration:
        for name in ("batch", "context", "prompt", "weights_gb"):
            ends = getattr(self, name)
            if ends is not None and ends[0] > ends[1]:
                raise ValueError(
                    f"{name} = {ends[0]:g} to {ends[1]:g}: the first must not be above the second"
                )
        return self

    def text(self) -> str:
        """The calibration as one line of JSON without what is at its default, for a link."""
        return self.model_dump_json(exclude_defaults=True)

    @classmethod
    def parse(cls, text: str) -> Calibration:
        """The calibration that such a line describes; :class:`SpecError` says what is wrong with any other."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            if error.errors()[0]["type"] == "json_invalid":
                raise SpecError("the text is no JSON; give what a fit wrote.") from None
            raise SpecError(sentence(error, UNITS, cls)) from error

    def outside(
        self, *, batch: float, context: float, weight_bytes: float, prompt: float | None = None
    ) -> tuple[str, ...]:
        """What of a workload lies beyond what was measured, each in a few words; empty where all is inside.

        A tenth beyond the measured ends counts as inside.
        """
        asked: list[tuple[str, float, Range, str]] = [
            ("batch", batch, self.batch, "sequences"),
            ("context", context, self.context, "tokens"),
            ("weights", weight_bytes / 1e9, self.weights_gb, "GB"),
        ]
        if prompt is not None and self.prompt is not None:
            asked.append(("prompt", prompt, self.prompt, "tokens"))
        beyond = tuple(
            f"{name} {_short(value)} {unit} (measured {_short(low)} to {_short(high)})"
            for name, value, (low, high), unit in asked
            if not low * (1 - ROOM) <= value <= high * (1 + ROOM)
        )
        return (*beyond, "prefill (none measured)") if prompt is not None and self.prompt is None else beyond


ROOM: Final = 0.1


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"

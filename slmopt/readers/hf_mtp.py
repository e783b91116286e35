"""Multi-token-prediction layers: stored beside the model, read only when they draft."""

from __future__ import annotations

from slmopt.readers.hf_blocks import nemotron_block, nemotron_blocks
from slmopt.readers.hf_families import Family
from slmopt.readers.hf_fields import Fields
from slmopt.specs.model import LayerGroup
from slmopt.specs.tensors import layer_params

COUNT = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")


def mtp_params(f: Fields, family: Family, hidden: int, layers: list[LayerGroup]) -> int:
    """Weights of the prediction layers that the file names.

    Each is a layer like the model's last one with attention, a fusion of embedding and hidden state (2·hidden by
    hidden) and three norms. Embedding and head are the model's own, so they do not count again.
    """
    given = [name for name in COUNT if f.present(name)]
    count = f.whole(*given, least=0, most=64) if given else 0
    if not count:
        return 0
    if f.model_type == "nemotron_h":
        names = nemotron_blocks(f, "mtp_hybrid_override_pattern", "mtp_layers_block_type")
        body = sum(layer_params(nemotron_block(f, family, hidden, name), hidden) for name in names)
    else:
        last = next((layer for layer in reversed(layers) if layer.attention is not None), layers[-1])
        body = layer_params(last, hidden)
    return count * (body + 2 * hidden * hidden + 3 * hidden)

"""Hostile files: one clear sentence, within a second and 200 MB, whatever the bytes."""

import json
import struct
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slmopt.readers.files import SPEC, described, header_length_needed, read_model_file
from slmopt.readers.gguf_header import MOST_STRINGS, MOST_TENSORS
from slmopt.specs.base import SpecError
from slmopt.specs.weights import stored_bytes
from tests.readers import raw_gguf as raw
from tests.readers.ggufs import tiny
from tests.readers.test_safetensors import header, shapes
from tests.shared import ROOT

HOSTILE = {
    "2^60 tensors": raw.gguf(raw.HUGE, [raw.ARCH]),
    "2^60 pairs": raw.gguf(1, [raw.ARCH], count=raw.HUGE),
    "33 thousand tensors in no bytes": raw.gguf(MOST_TENSORS, [raw.ARCH]),
    "version 1": raw.gguf(0, [], version=1),
    "version 99": raw.gguf(0, [], version=99),
    "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 1, 1) + bytes(64),
    "a key of 2^60 bytes": raw.gguf(0, [struct.pack("<Q", raw.HUGE) + b"x"]),
    "a text of 2^60 bytes": raw.gguf(0, [raw.pair("a", 8, struct.pack("<Q", raw.HUGE))]),
    "a list of 2^60 texts": raw.gguf(0, [raw.pair("a", 9, struct.pack("<IQ", 8, raw.HUGE))]),
    "a list of 2^60 numbers": raw.gguf(0, [raw.pair("a", 9, struct.pack("<IQ", 10, raw.HUGE))]),
    "a text of 2^60 bytes in a list": raw.gguf(0, [raw.pair("a", 9, struct.pack("<IQQ", 8, 3, raw.HUGE))]),
    "lists in lists": raw.gguf(0, [raw.pair("a", 9, struct.pack("<IQ", 9, 1) * 50_000)]),
    "an unknown type": raw.gguf(0, [raw.pair("a", 77, bytes(8))]),
    "a key twice": raw.gguf(0, [raw.ARCH, raw.ARCH]),
    "a key that is no text": raw.gguf(0, [raw.text(b"\xff\xfe") + bytes(12)]),
    "a name that is no text": raw.gguf(0, [raw.pair("general.architecture", 8, raw.text(b"\xff\xfe"))]),
    "no architecture": raw.gguf(1, [], raw.info()),
    "an alignment of 3": raw.gguf(
        1, [raw.ARCH, raw.pair("general.alignment", 4, struct.pack("<I", 3))], raw.info()
    ),
    "an alignment of 0": raw.gguf(1, [raw.ARCH, raw.pair("general.alignment", 4, bytes(4))], raw.info()),
    "5 dimensions": raw.gguf(1, [raw.ARCH], raw.info(dims=(1, 1, 1, 1, 1))),
    "no dimensions": raw.gguf(1, [raw.ARCH], raw.info(dims=())),
    "2^32 dimensions": raw.gguf(1, [raw.ARCH], raw.text(b"t") + struct.pack("<I", 2**32 - 1)),
    "2^240 weights": raw.gguf(1, [raw.ARCH], raw.info(dims=(raw.HUGE, raw.HUGE, raw.HUGE, raw.HUGE))),
    "2^64 weights, which wrap to 0": raw.gguf(1, [raw.ARCH], raw.info(dims=(2**32, 2**32))),
    "no weights": raw.gguf(1, [raw.ARCH], raw.info(dims=(0, 8))),
    "an unknown tensor type": raw.gguf(1, [raw.ARCH], raw.info(kind=999)),
    "a removed tensor type": raw.gguf(1, [raw.ARCH], raw.info(kind=4)),
    "rows that are no whole blocks": raw.gguf(1, [raw.ARCH], raw.info(dims=(100, 8), kind=12)),
    "an offset that is not aligned": raw.gguf(1, [raw.ARCH], raw.info(offset=7)),
    "tensors that overlap": raw.gguf(2, [raw.ARCH], raw.info() + raw.info(b"b", offset=32)),
    "a tensor twice": raw.gguf(2, [raw.ARCH], raw.info() + raw.info(offset=8192)),
    "a tensor name of a megabyte": raw.gguf(1, [raw.ARCH], raw.info(b"x" * 2**20)),
    "a tensor name that is no text": raw.gguf(1, [raw.ARCH], raw.info(b"\xff\xfe")),
    "a tensor name that moves the cursor": raw.gguf(1, [raw.ARCH], raw.info(b"\x1b[2Jx")),
    "layer a billion": raw.gguf(
        1,
        [raw.ARCH, raw.pair("llama.block_count", 4, struct.pack("<I", 1))],
        raw.info(b"blk.999999999.attn_q.weight"),
    ),
    "a negative block count": raw.gguf(
        1, [raw.ARCH, raw.pair("llama.block_count", 5, struct.pack("<i", -1))], raw.info()
    ),
    "a block count that is no number": raw.gguf(
        1, [raw.ARCH, raw.pair("llama.block_count", 6, struct.pack("<f", float("nan")))], raw.info()
    ),
    "a million blocks": raw.gguf(
        1, [raw.ARCH, raw.pair("llama.block_count", 4, struct.pack("<I", 10**6))], raw.info()
    ),
    "a part of 2^63": raw.gguf(
        1, [raw.ARCH, raw.pair("split.count", 10, struct.pack("<Q", 2**63))], raw.info()
    ),
    "a part after the last": raw.gguf(
        1, [raw.ARCH, raw.pair("split.count", 2, b"\2\0"), raw.pair("split.no", 2, b"\7\0")], raw.info()
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("on_disk", [True, False])
def test_hostile_ggufs_end_in_one_sentence(tmp_path, case, on_disk):
    path = tmp_path / "m.gguf"
    path.write_bytes(HOSTILE[case])
    start = time.process_time()
    with pytest.raises(SpecError) as error:
        read_model_file(path if on_disk else HOSTILE[case])
    assert time.process_time() - start < 1
    assert len(str(error.value)) < 300
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_gguf_cut_anywhere_in_its_header_is_said_to_be(tmp_path, on_disk):
    data, size = tiny()
    path = tmp_path / "m.gguf"
    for cut in range(4, size, 11 if on_disk else 3):
        path.write_bytes(data[:cut])
        with pytest.raises(SpecError, match=r"cut off|goes on beyond|claims"):
            read_model_file(path if on_disk else data[:cut])


def test_a_gguf_cut_in_its_data_is_refused_as_a_file_and_read_as_first_bytes(tmp_path):
    data, size = tiny()
    path = tmp_path / "m.gguf"
    path.write_bytes(data[:-1])
    with pytest.raises(SpecError, match="cut off; download it again"):
        read_model_file(path)
    assert read_model_file(data[: size + 100]).size_bytes == read_model_file(data).size_bytes


LIMITS = """
import json, re, resource, sys, time
from pathlib import Path
from slmopt.readers.files import read_model_file
from slmopt.specs.base import SpecError
def peak():
    # In MiB; the maxrss of a child is on Linux at least that of its parent.
    status = Path("/proc/self/status")
    if status.is_file():
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
for path in map(Path, sys.argv[1:]):
    start = time.process_time()
    try:
        read_model_file(path)
        said = ""
    except SpecError as error:
        said = str(error)
    print(json.dumps([path.name, time.process_time() - start, peak(), said]))
"""


def test_large_files_keep_to_a_second_and_200_megabytes(tmp_path):
    """Files of hundreds of gigabytes (with holes) and headers that are as large as they are let to be."""
    huge = raw.huge_gguf()
    many = b"".join(
        raw.info(b"blk.%d.attn_q.%d" % (n % 4096, n), (256, 1), 0, 1024 * n) for n in range(MOST_TENSORS)
    )
    sparse = {
        "model-of-200-gb.gguf": (huge, 200 * 10**9),
        "only-texts.gguf": (raw.gguf(1, [raw.pair("a", 9, struct.pack("<IQ", 8, MOST_STRINGS))]), 10**9),
        "too-many-texts.gguf": (raw.gguf(1, [raw.pair("a", 9, struct.pack("<IQ", 8, 10**9))]), 200 * 10**9),
        "long-texts.gguf": (raw.gguf(1, [raw.pair("a", 9, struct.pack("<IQQ", 8, 3, 2**40))]), 2 * 10**12),
        "many-pairs.gguf": (
            raw.gguf(0, [raw.pair(f"{i}", 8, raw.text(b"x" * 4096)) for i in range(4096)]),
            10**9,
        ),
        "many-lists.gguf": (
            raw.gguf(
                0, [raw.pair(f"{i}", 9, struct.pack("<IQ", 0, 4096) + bytes(4096)) for i in range(4096)]
            ),
            10**9,
        ),
        "many-tensors.gguf": (
            raw.gguf(
                MOST_TENSORS, [raw.ARCH, raw.pair("llama.block_count", 4, struct.pack("<I", 4096))], many
            ),
            10**9,
        ),
        "nothing-but-zeros.safetensors": (b"", 200 * 10**9),
        "brackets.safetensors": ((16 * 2**20).to_bytes(8, "little") + b'{"a":[' + b"[]," * 5_590_000, 10**9),
        "wide.safetensors": (
            (15 * 2**20).to_bytes(8, "little")
            + b'{"a":"'
            + b"x" * (15 * 2**20 - 13)
            + "\U0001f600".encode()
            + b'"}',
            10**9,
        ),
    }
    paths = []
    for name, (content, length) in sparse.items():
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(content)
            file.truncate(max(length, len(content)))
        paths.append(str(path))
    done = subprocess.run(
        [sys.executable, "-c", LIMITS, *paths], capture_output=True, text=True, check=True, cwd=ROOT
    )
    for line in done.stdout.splitlines():
        name, seconds, peak, said = json.loads(line)
        assert seconds < 1, (name, seconds)
        assert peak < 200, (name, peak)
        assert (said == "") == name.startswith(("model-of-200-gb", "many-tensors")), (name, said)


EDITS = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True),
        st.sampled_from(["byte", "word", "long", "cut", "insert", "delete"]),
        st.sampled_from(
            [0, 1, 2, 5, 255, 256, 65535, 2**31 - 1, 2**32 - 1, 2**32, 2**53, raw.HUGE, 2**63, 2**64 - 1]
        )
        | st.integers(0, 2**64 - 1),
    ),
    min_size=1,
    max_size=4,
)


def edited(data, edits):
    out = bytearray(data)
    for place, how, value in edits:
        at = int(place * len(out))
        if how == "byte":
            out[at : at + 1] = bytes([value % 256])
        elif how == "word":
            out[at : at + 4] = (value % 2**32).to_bytes(4, "little")
        elif how == "long":
            out[at : at + 8] = value.to_bytes(8, "little")
        elif how == "cut":
            del out[at:]
        elif how == "insert":
            out[at:at] = out[max(0, at - value % 64) : at]
        else:
            del out[at : at + value % 40]
    return bytes(out)


def read_or_told(data):
    try:
        header_length_needed(data)
        found = read_model_file(data, "x")
    except SpecError as error:
        said = str(error)
        assert "\n" not in said
        assert len(said) < 400
        return
    assert found.model.total_params > 0
    if found.weights is not None:
        assert stored_bytes(found.weights, found.model) >= 0
    assert read_model_file(json.dumps({SPEC: described(found)}).encode()).model == found.model


@settings(max_examples=200)
@given(edits=EDITS)
def test_any_change_of_a_gguf_gives_a_model_or_a_sentence(edits):
    data, size = tiny()
    read_or_told(edited(data[: size + 64], edits))


@settings(max_examples=100)
@given(edits=EDITS)
def test_any_change_of_a_safetensors_header_gives_a_model_or_a_sentence(edits):
    read_or_told(edited(header(shapes()), edits))


@settings(max_examples=50)
@given(edits=EDITS)
def test_any_change_of_what_inspect_wrote_gives_a_model_or_a_sentence(edits):
    text = json.dumps({SPEC: described(read_model_file(tiny()[0]))}).encode()
    read_or_told(edited(text, edits))

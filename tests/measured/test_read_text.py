"""Bytes to text: encodings people save in, archives that stay bounded, and one sentence for what is no text."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib

import pytest

from slmopt.measured import archives, text
from slmopt.measured.detect import read_benchmark, read_many
from slmopt.measured.text import UnreadableFile, decode

PLAIN = "model,batch,prompt_tokens,output_tokens,tokens_per_s\nMädchen-1B,1,0,128,50.5\nb,1,0,128,51\n"


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.encode("utf-16"),
        PLAIN.encode("utf-16-le"),
        PLAIN.encode("utf-16-be"),
        b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        PLAIN.encode("utf-32"),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r").encode(),
        PLAIN.encode("cp1252"),
        PLAIN.replace("\n", "\n\ufeff", 1).encode(),
        gzip.compress(PLAIN.encode()),
        gzip.compress(PLAIN[:50].encode()) + gzip.compress(PLAIN[50:].encode()),
        gzip.compress(PLAIN.encode()) + b"\x00" * 8,
        zipped({"a.csv": PLAIN.encode()}),
        zipped({"a.csv.gz": gzip.compress(PLAIN.encode())}),
    ],
    # Not the bytes themselves: gzip's hold the time, and both workers must name a test alike.
    ids=[str(number) for number in range(16)],
)
def test_one_table_in_every_wrapping(content):
    found = read_benchmark("file", content)
    assert found.format == "plain csv"
    assert found.rows["model"].tolist() == ["Mädchen-1B", "b"]
    assert found.rows["tokens_per_s"].tolist() == [50.5, 51.0]
    assert found.rows["phase"].tolist() == ["decode", "decode"]


def test_windows_1252_is_said():
    assert "Windows-1252" in read_benchmark("f.csv", PLAIN.encode("cp1252")).warnings[0]


def test_a_file_cut_inside_a_character_is_still_read():
    whole = (PLAIN + "é").encode()
    assert decode("f", whole[:-1]).text == PLAIN


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n \r\n\t", "is empty"),
        (b"\xff\xfe", "is empty"),
        (b"\x00" * 50, "is empty"),
        (b"<!DOCTYPE html><table><tr><td>1</td></tr></table>", "HTML"),
        (b"  <table border=1>", "HTML"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(200)), "picture"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"GGUF\x03\x00\x00\x00", "GGUF model file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xlsx or CSV"),
        (b"SQLite format 3\x00", "SQLite"),
        (b"\x28\xb5\x2f\xfd....", "zstd"),
        (b"BZh91AY", "bzip2"),
        (bytes(range(256)) * 4, "is binary"),
        (b"abc\x01\x02\x03\x04\x05" * 100, "is binary"),
        (b"\x1f\x8b\x08\x00" + b"\x01" * 40, "damaged gzip"),
        (b"PK\x03\x04" + b"\x01" * 40, "damaged zip"),
        (b"PAR1" + b"\x01" * 40 + b"PAR1", "damaged Parquet"),
    ],
)
def test_what_is_no_text_is_named_in_one_sentence(content, says):
    with pytest.raises(UnreadableFile) as caught:
        read_benchmark("file.bin", content)
    message = str(caught.value)
    assert says in message
    assert message.startswith("file.bin")
    assert "\n" not in message
    assert message.endswith(".")


def test_a_gzip_bomb_is_stopped_early():
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"\x20" * (1 << 20)) for _ in range(64)) + packer.flush()
    with pytest.raises(UnreadableFile, match="times its size"):
        read_benchmark("bomb.gz", bomb)


def test_a_zip_bomb_is_stopped_before_it_unpacks():
    bomb = zipped({"bomb.csv": b" " * (64 << 20)})
    with pytest.raises(UnreadableFile, match="times its size"):
        read_benchmark("bomb.zip", bomb)


def test_a_zip_that_lies_about_its_sizes_gives_no_more_than_it_says():
    content = bytearray(zipped({"a.csv": PLAIN.encode() * 100}, zipfile.ZIP_STORED))
    at = content.rfind(b"PK\x01\x02") + 24
    content[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(UnreadableFile, match=r"damaged|table"):
        read_benchmark("liar.zip", bytes(content))


def test_total_of_an_archive_is_bounded(monkeypatch):
    monkeypatch.setattr(archives, "MAX_BYTES", 1000)
    found = read_benchmark(
        "a.zip", zipped({"a.csv": PLAIN.encode(), "b.csv": b"x," * 500}, zipfile.ZIP_STORED)
    )
    assert len(found.rows) == 2
    assert "unpacks to more than" in found.skipped["why"].iloc[0]


def test_a_text_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(text, "MAX_BYTES", 50)
    with pytest.raises(UnreadableFile, match="larger than"):
        read_benchmark("a.csv", PLAIN.encode())


def test_archives_in_archives_stop_somewhere():
    content = PLAIN.encode()
    for _ in range(4):
        content = zipped({"x.zip": content})
    with pytest.raises(UnreadableFile, match="archive inside archives"):
        read_benchmark("deep.zip", content)


def test_names_inside_an_archive_are_labels_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = read_benchmark("a.zip", zipped({"../../etc/x\n.csv": PLAIN.encode()}))
    assert found.rows["source_file"].tolist()[0] == "a.zip/../../etc/x?.csv"
    assert list(tmp_path.iterdir()) == []


def test_an_archive_reads_what_it_can_and_lists_the_rest():
    files = {
        "a.csv": PLAIN.encode(),
        "notes.txt": b"nothing here",
        "b.png": b"\x89PNG....",
        "__MACOSX/._a.csv": b"\x00",
        "dir/": b"",
    }
    found = read_benchmark("a.zip", zipped(files))
    assert len(found.rows) == 2
    assert found.skipped["source_file"].tolist() == ["a.zip/notes.txt", "a.zip/b.png"]
    assert found.skipped["row"].tolist() == ["whole file", "whole file"]


def test_a_locked_archive_says_so():
    content = bytearray(zipped({"a.csv": PLAIN.encode()}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(mark) + offset] |= 1
    with pytest.raises(UnreadableFile, match="password"):
        read_benchmark("a.zip", bytes(content))


def test_an_empty_archive_says_so():
    with pytest.raises(UnreadableFile, match="without a file"):
        read_benchmark("a.zip", zipped({}))


def test_many_files_at_once_list_what_cannot_be_read():
    found = read_many([("a.csv", PLAIN.encode()), ("b.png", b"\x89PNG...."), ("c.csv", PLAIN.encode())])
    assert found.rows["source_file"].tolist() == ["a.csv", "a.csv", "c.csv", "c.csv"]
    assert found.skipped["source_file"].tolist() == ["b.png"]


def test_no_files_give_an_empty_result():
    assert len(read_many([]).rows) == 0

"""Files that are long enough to be read while their digest is still made."""

import hashlib

import pytest

from pages.ui import uploads
from slmopt.measured.detect import read_benchmark
from slmopt.measured.text import UnreadableFile
from slmopt.words.measured_rows import marked
from tests.pages.app import open_page, said
from tests.pages.test_measurements_page import DESKTOP, PAGE, press, shown_files, upload


@pytest.fixture
def read(monkeypatch):
    """The names of the files that were read, in order; every file counts as long."""
    names = []

    def reading(name, content):
        names.append(name)
        return read_benchmark(name, content)

    monkeypatch.setattr(uploads, "LONG_BYTES", 0)
    monkeypatch.setattr(uploads, "read_benchmark", reading)
    return names


def test_a_file_is_known_by_its_digest_and_read_once(read):
    page = open_page(PAGE)
    upload(page, ("mine.csv", DESKTOP))
    assert page.session_state["_slmopt_files"]["mine.csv"].digest == hashlib.sha256(DESKTOP).hexdigest()
    press(page, "Remove all")
    upload(page, ("mine.csv", DESKTOP))
    assert shown_files(page) == ["mine.csv"]
    assert read == ["mine.csv"]


def test_another_file_of_the_same_name_is_read_and_stays_apart(read):
    page = open_page(PAGE)
    upload(page, ("mine.csv", DESKTOP), ("mine.csv", DESKTOP.replace(b"120", b"110")))
    assert shown_files(page) == ["mine.csv", "mine.csv (2)"]
    assert read == ["mine.csv", "mine.csv"]


def test_what_cannot_be_read_is_refused_and_not_kept(read, monkeypatch):
    page = open_page(PAGE)
    with pytest.raises(UnreadableFile) as refusal:
        read_benchmark("prose.txt", b"Dear reader, ")
    upload(page, ("prose.txt", b"Dear reader, "), ("mine.csv", DESKTOP))
    assert marked(str(refusal.value), 400) in said(page)
    assert shown_files(page) == ["mine.csv"]

    def broken(name, content):
        raise KeyError(name)

    monkeypatch.setattr(uploads, "read_benchmark", broken)
    upload(page, ("other.csv", DESKTOP))
    assert marked("other.csv could not be read (KeyError); export it as CSV and try again.", 400) in said(
        page
    )
    assert shown_files(page) == ["mine.csv"]

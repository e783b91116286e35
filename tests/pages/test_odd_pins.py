"""Pinned scenarios of a link that nobody made."""

import base64
import json
import zlib

import pytest

from pages.ui import pins


@pytest.mark.parametrize(
    "held", ["[Infinity]", "[NaN]", "[[]]", "{}", '"x"', "[1, 2]", "[1, null]", "[]", "7"]
)
def test_what_is_no_list_of_a_version_and_scenarios_is_told(held):
    packed = base64.urlsafe_b64encode(zlib.compress(held.encode())).decode().rstrip("=")
    found, told = pins.read(packed)
    assert found == []
    assert told.startswith("The pinned scenarios of this link could not be read")


def test_one_scenario_that_cannot_be_does_not_take_the_others_along():
    packed = zlib.compress(json.dumps([1, {"batch": 0}, {"batch": 2}]).encode())
    found, told = pins.read(base64.urlsafe_b64encode(packed).decode())
    assert [one.batch for one in found] == [2]
    assert "batch" in told

"""Rows of a visitor's file as Measurements leaves them to other pages."""

from pages.ui.judging import OnTheRoofline
from slmopt.measured.compare import compare
from slmopt.measured.detect import read_benchmark
from slmopt.reports import measurement_tables as tables

_FILE = (
    b"model,weights,phase,output_tokens,tokens_per_s,device\n"
    b"Llama-3.1-8B,Q4_0,decode,128,120,NVIDIA GeForce RTX 4090\n"
)


def on_the_roofline() -> OnTheRoofline:
    """One decode row of an RTX 4090."""
    read = read_benchmark("mine.csv", _FILE)
    return OnTheRoofline(tables.joined(read.rows, compare(read.rows)), "NVIDIA GeForce RTX 4090")

"""Benchmark files become one table here, whatever tool wrote them.

``detect.read_benchmark`` takes a file's name and bytes and returns the rows that could be read, the rows that could not
(each with its reason) and what else a reader noticed. ``table`` describes the columns.
"""

"""Lists the packages, presets/ among them, which pyproject.toml cannot do for both kinds of folder at once."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["slmopt", "slmopt.*"]), "slmopt.presets"])

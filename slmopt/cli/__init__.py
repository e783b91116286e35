"""The command line: one module a family of commands, each turning arguments into the package's calls and printing."""

from slmopt.cli.run import main

__all__ = ["main"]

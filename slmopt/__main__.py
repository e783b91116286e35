"""``python -m slmopt``: the command line."""

import sys

from slmopt.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())

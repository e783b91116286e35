"""The version, kept here alone: the package, its metadata and the change log all read or repeat this line."""

__version__ = "0.1.0"

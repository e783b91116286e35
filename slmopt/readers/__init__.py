"""Files that become specs."""

from slmopt.readers.hf_config import read_config
from slmopt.readers.hf_format import read_config_format

__all__ = ["read_config", "read_config_format"]

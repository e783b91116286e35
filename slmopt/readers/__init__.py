"""Files that become specs."""

from slmopt.readers.files import header_length_needed, read_model_file
from slmopt.readers.hf_config import read_config
from slmopt.readers.hf_format import read_config_format

__all__ = ["header_length_needed", "read_config", "read_config_format", "read_model_file"]

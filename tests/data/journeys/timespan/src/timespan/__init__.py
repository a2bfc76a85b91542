"""Parse and print spans of time the way people write them."""

from timespan.arithmetic import round_to, total
from timespan.errors import SpanError
from timespan.formatting import show
from timespan.parsing import parse

__all__ = ["SpanError", "parse", "round_to", "show", "total"]
__version__ = "1.4.0"

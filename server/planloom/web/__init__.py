"""Addresses and pages of the web, and what every HTTP client shares. Imported by `models`, `tools`, `execution`.

Start with `addresses`, which judges where a request may go, and `fetching`, which gets one page.
"""

import sys
from typing import Any, cast

# httpx would import its own command line where click happens to be installed, and with it rich and pygments.
sys.modules.setdefault("httpx._main", cast(Any, None))

"""Values of the domain, and the library that they are made with."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import planloom.service.application, planloom.lsp.wire.events
from planloom.domain.plans.plan import Usage
assert Usage(requests=1).requests == 1
assert "importlib.metadata" not in sys.modules
from importlib.metadata import entry_points, version
assert version("pydantic") and "console_scripts" in entry_points().groups
"""


@pytest.mark.process
def test_no_plugin_is_looked_for_in_what_is_installed_and_others_find_it() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=60)

"""What confines commands on macOS and Windows, as far as it can be tested without them."""

from __future__ import annotations

import ctypes

import pytest

from planloom.domain.safety.confinement import Network
from planloom.tools.confinement.macos import profile
from planloom.tools.confinement.places import Places
from planloom.tools.confinement.windows import JobLimits, job_limits

PLACES = Places(
    writable=("/Users/a/.ssh/work", '/Users/a/odd "name"'),
    read_only=("/Users/a/.ssh/work/.git",),
    hidden=("/Users/a",),
    shown=("/Users/a/.pyenv",),
)


def test_of_several_rules_of_a_profile_the_last_one_is_the_one_that_is_meant() -> None:
    rules = profile(PLACES, "/private/tmp/x", "none").splitlines()
    assert rules[:2] == ["(version 1)", "(deny default)"]
    order = [
        '(deny file-read* file-write* (subpath "/Users/a"))',
        '(allow file-read* (subpath "/Users/a/.pyenv"))',
        '(allow file-read* file-write* (subpath "/Users/a/.ssh/work"))',
        '(deny file-write* (subpath "/Users/a/.ssh/work/.git"))',
    ]
    assert sorted(order, key=rules.index) == order
    assert '(allow file-read* file-write* (subpath "/private/tmp/x/tmp"))' in rules
    assert '(allow file-read* file-write* (subpath "/Users/a/odd \\"name\\""))' in rules


@pytest.mark.parametrize(
    ("network", "allowed"),
    [
        ("none", []),
        ("loopback", ['(allow network-outbound (remote ip "localhost:*"))']),
        ("all", ["(allow network*)"]),
    ],
)
def test_a_profile_allows_the_network_that_was_allowed(network: Network, allowed: list[str]) -> None:
    rules = profile(PLACES, "/private/tmp/x", network).splitlines()
    outward = ["(allow network*)", '(allow network-outbound (remote ip "localhost:*"))']
    assert [rule for rule in rules if rule in outward] == allowed


def test_a_job_ends_with_its_handle_and_bounds_memory_and_processes() -> None:
    limits = job_limits(1 << 30, 100)
    assert limits.basic.flags == 0x2000 | 0x400 | 0x200 | 0x8
    assert (limits.job_memory, limits.basic.active_processes) == (1 << 30, 100)
    # The size that Windows expects on machines of 64 bits.
    assert ctypes.sizeof(JobLimits) == 144

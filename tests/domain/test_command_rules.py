"""Rules allow commands by the words with which they begin, and nothing that their words do not tell."""

from __future__ import annotations

import pytest

from planloom.domain.safety.command_rules import CommandRule, covering, is_too_wide, offered_words, parts_of
from planloom.domain.safety.confinement import Confinement


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("git commit -m x", ["git commit …"]),
        ("git add -A && git commit -m 'a && b'", ["git add …", "git commit …"]),
        ("pytest -q tests", ["pytest …"]),
        (".venv/bin/pytest", [".venv/bin/pytest …"]),
        ("python -m pytest -q", ["python -m pytest …"]),
        ("npm test -- --watch", ["npm test …"]),
        ("npm run test:unit", ["npm run test:unit …"]),
        ("uv run pytest -x", ["uv run pytest …"]),
        ("make check", ["make check …"]),
        ("cargo test", ["cargo test …"]),
        ("pytest tests/*.py", ["pytest …"]),
        # These run whatever their arguments say, or are nothing that a tool does.
        ("git push", []),
        ("uv run python x.py", []),
        ("python x.py", []),
        ("sh -c pytest", []),
        ("env A=1 pytest", []),
        ("A=1 pytest", []),
        ("rm -rf build", []),
        ("make", []),
        # These do more than their words tell.
        ("pytest | tail", []),
        ("pytest > out", []),
        ("pytest &", []),
        ("(pytest)", []),
        ("pytest $ARGS", []),
        ("pytest $(cat args)", []),
        ("pytest `cat args`", []),
        ("pytest $'\\x2d'", []),
        ("pytest && rm -rf build", []),
        ("pytest 'open", []),
        ('pytest "open', []),
        ("pytest `open", []),
        ("pytest $(open", []),
        ("pytest open\\", []),
        ("", []),
    ],
)
def test_the_rules_that_are_offered(line: str, rules: list[str]) -> None:
    assert [CommandRule(words).text for words in offered_words(parts_of(line))] == rules


COMMIT, TEST = CommandRule(("git", "commit"), Confinement(git=".git")), CommandRule(("pytest",))


@pytest.mark.parametrize(
    ("line", "needed", "given"),
    [
        ("pytest -q", Confinement(), Confinement()),
        ("pytest -q; pytest tests", Confinement(), Confinement()),
        ("git commit -m x", Confinement(git=".git"), Confinement(git=".git")),
        ("git commit -m x", Confinement(git="/other/.git"), None),
        ("pytest", Confinement(network="all"), None),
        ("pytest && git commit -m x", Confinement(git=".git"), None),
        ("pytest-evil", Confinement(), None),
        ("git committed", Confinement(), None),
        ("pytest | sh", Confinement(), None),
        ("pytest && id", Confinement(), None),
        ("pytest\nid", Confinement(), None),
        ("pytest # comment", Confinement(), Confinement()),
    ],
)
def test_what_rules_cover(line: str, needed: Confinement, given: Confinement | None) -> None:
    assert covering(parts_of(line), (COMMIT, TEST), needed) == given


def test_an_exact_rule_covers_no_more_words() -> None:
    rule = CommandRule(("make", "all"), exact=True)
    assert covering(parts_of("make all"), (rule,), Confinement()) == Confinement()
    assert covering(parts_of("make all X=1"), (rule,), Confinement()) is None


@pytest.mark.parametrize(
    ("words", "wide"),
    [
        ("bash", True),
        ("python", True),
        ("python -c", True),
        ("python -m", True),
        ("python -m pytest", False),
        ("node build.js", False),
        ("sudo ls", True),
        ("npm", True),
        ("npm test", False),
        ("find", True),
        ("ls", False),
        ("", True),
    ],
)
def test_a_rule_that_would_allow_any_command_is_none(words: str, wide: bool) -> None:
    assert is_too_wide(words.split()) == wide

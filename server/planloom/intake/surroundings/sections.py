"""The sections that every prompt of a plan begins with: the place of the work, and what went before."""

from __future__ import annotations

from typing import Final, NamedTuple

from planloom.intake.surroundings.project_instructions import MOST_CHARACTERS, ProjectInstructions

ENVIRONMENT: Final = "ENVIRONMENT (data)"
WORKSPACE: Final = "WORKSPACE (data)"
PROJECT_INSTRUCTIONS: Final = "PROJECT INSTRUCTIONS"
EARLIER: Final = "EARLIER IN THIS SESSION (data)"
EARLIER_PLANS: Final = "EARLIER PLANS (data)"
_SMALLEST: Final = 100
"""The fewest characters for which a part of a text is worth showing."""
_ENVIRONMENT_SHARE: Final = 0.1
_TREE_SHARE: Final = 0.15
_INSTRUCTIONS_SHARE: Final = 0.25
_EARLIER_SHARE: Final = 0.15
_EARLIER_PLANS_SHARE: Final = 0.05


class Surroundings(NamedTuple):
    """The place of the work, in `earlier` the previous plan of the session, and in `remembered` what plans on the same
    subject found and did; a text is empty if there is none. `tests` are the commands that run tests.
    """

    environment: str = ""
    tree: str = ""
    instructions: ProjectInstructions = ProjectInstructions()
    earlier: str = ""
    remembered: str = ""
    tests: tuple[str, ...] = ()

    def sections(self, available: int | None = None) -> tuple[tuple[str, str], ...]:
        """Heading and body of each section that says something.

        Each is cut to its share of the `available` characters; None is no limit.
        """

        def share(part: float) -> int | None:
            return None if available is None else int(available * part)

        most = share(_INSTRUCTIONS_SHARE)
        bodies = {
            ENVIRONMENT: shortened_lines(self.environment, share(_ENVIRONMENT_SHARE)),
            WORKSPACE: shortened_lines(self.tree, share(_TREE_SHARE)),
            PROJECT_INSTRUCTIONS: self.instructions.render(
                MOST_CHARACTERS if most is None else min(MOST_CHARACTERS, most)
            ),
            EARLIER: shortened_lines(self.earlier, share(_EARLIER_SHARE)),
            EARLIER_PLANS: shortened_lines(self.remembered, share(_EARLIER_PLANS_SHARE)),
        }
        return tuple((heading, body.strip()) for heading, body in bodies.items() if body.strip())


NOWHERE: Final = Surroundings()
"""Nothing is known of the place."""


def shortened_lines(text: str, most: int | None) -> str:
    """The text cut after a line, with a note; empty if there is too little space."""
    if most is None or len(text) <= most:
        return text
    if most < _SMALLEST:
        return ""
    kept = text[: most - 40].rpartition("\n")[0]
    left = text.count("\n") - kept.count("\n")
    return f"{kept}\n… ({left} more lines)"

"""Params and results of the requests about the rules by which the user allows commands."""

from planloom.lsp.wire.base import Int, Maybe, Text, Wire


class CommandRule(Wire):
    """Commands that a workspace folder allows, such as `git commit …`, confined as `line` says."""

    folder: str
    text: str
    line: str


class RulesResult(Wire):
    """The rules of the open workspace folders."""

    rules: tuple[CommandRule, ...]


class RevokeRulesParams(Wire):
    """`planloom/rules/revoke`: the rule of a folder with this text, or all of it."""

    folder: str
    text: Maybe[Text] = None


class RevokedResult(Wire):
    """How many rules were taken back."""

    revoked: Int

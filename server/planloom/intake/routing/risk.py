"""Judges the risk of a request by what it does: what it changes, removes, publishes, and where."""

from __future__ import annotations

import re
from typing import NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.plans.plan import Risk
from planloom.intake.routing.sentences import clauses_of, folded

_REMOVES = (
    r"\b(?:delet|remov|drop|wipe|eras|purg|truncat|destroy|overwrit|reset|losch|entfern|supprim|efface|borra|elimin|apag|exclu"
    r"|cancell|rimuov)\w*"
)
_WEAKENS = r"\b(?:disabl|bypass|skip|weaken|relax|turn(?:s|ing)?\s+off|deaktivier|desactiv|disattiv)\w*"
_DATA = (
    r"\b(?:databases?|tables?|users?|accounts?|customers?|records?|history|branch(?:es)?|repositor(?:y|ies)|backups?|buckets?"
    r"|volumes?|data|daten\w*|tabellen?|benutzer\w*|nutzer\w*|kunden\w*|konten|donnees|utilisateurs|comptes|datos|usuarios"
    r"|cuentas|dados|contas|dati|utenti)\b|\w*datenbank"
)
_GUARDS = (
    r"\b(?:auth|authentication|authorization|permissions?|access\s+control|encryption|security|csrf|signature"
    r"|(?:certificate|ssl|tls)\s+(?:checks?|validation|verification))\b"
)
_CREDENTIALS = (
    r"\b(?:secrets?|credentials?|passwords?|tokens?|certificates?|certs?"
    r"|(?:api|ssh|signing|private)[\s-]keys?)\b"
)
_PRODUCTION = (
    r"\bprod(?:uction|ukti\w*|uccion|ucao|uzione)?\b"
    r"|\blive\s+(?:system|site|server|data|database)|customer\s+data"
)


class _Rule(NamedTuple):
    """The risk of a clause in which each of the patterns is found; the sentence ends with what was found."""

    risk: Risk
    sentence: str
    patterns: tuple[re.Pattern[str], ...]


def _rule(risk: Risk, sentence: str, *patterns: str) -> _Rule:
    return _Rule(risk, sentence, tuple(map(pattern, patterns)))


_RULES = (
    _rule(
        "high",
        "It may not be possible to undo",
        r"\brm\s+-\w*[rf]|\bforce[- ]push|push\s+(?:--force|-f\b)|reset\s+--hard"
        r"|\b(?:drop|truncate)\s+(?:the\s+)?(?:\w+\s+)?(?:table|database)",
    ),
    _rule("high", "It may not be possible to undo", _REMOVES, _DATA),
    _rule("high", "It weakens what protects", rf"{_REMOVES}|{_WEAKENS}", _GUARDS),
    _rule("high", "It touches what is in use", _PRODUCTION),
    _rule("high", "It replaces credentials", r"\b(?:rotat|revok|renew|reissu|invalidat)\w*", _CREDENTIALS),
    _rule(
        "high",
        "It moves money",
        r"\b(?:charges?|refunds?|pay(?:s|outs?)?)\s+(?:\w+\s+)?(?:cards?|customers?|users?|back|out)\b",
    ),
    _rule(
        "high",
        "It publishes",
        r"\A\s*(?:publish|release|veroffentlich\w*|publi[aeq]\w*|pubblica|roll(?:\s+\w+)?\s+out|go\s+live|ship)\b(?!.*\b(?:staging|test|dev)\b)",
    ),
    _rule(
        "medium",
        "It changes what other things depend on",
        rf"{_REMOVES}|\b(?:migrat|deploy|upgrad|renam|rollback|roll\s+back|provision|backfill)\w*|{_GUARDS}|{_CREDENTIALS}"
        r"|\b(?:login|payments?|billing|schema|dependencies|configuration|environment\s+variables|breaking\s+change"
        r"|public\s+api|kubernetes|terraform|helm|infrastructure|cluster|dns|push)\b",
    ),
    _rule(
        "medium",
        "It changes much",
        r"\b(?:replac|updat|rewrit|refactor|restructur|port|convert|swap|ersetz|remplace|reemplaz|substitu|sostitu)\w*",
        r"\b(?:all|every|each|whole|entire|everywhere|across|alle[sn]?|uberall|partout|toutes?|tous|todos?|todas?|tutt[ioe]|ovunque)\b",
    ),
)
_MENDS = pattern(r"\s*(?:fix|debug|investigate|find|log|handle|reproduce|behebe?|corrige|sistema)\b")
"""Faults in production are mended in the code."""
_WORDS_ALONE = pattern(
    r"\s*(?:(?:document|describe|explain|translate|proofread|test)\b"
    r"|(?:write|add|create|update|fix|improve|correct|extend|rewrite|schreibe?|erganze)\s+(?:\w+\s+){0,3}?(?:tests?|docs?|documentation|comments?|docstrings?"
    r"|typos?|readme|changelog|checklists?|guides?|spelling|dokumentation|kommentare?)\b"
    r"(?!\s+(?:data|database|server|system|environment)))"
)
"""The object of the clause is a text or a test, whatever it is about: it stands before the first preposition."""
_PREPOSITION = pattern(r"\b(?:for|of|in|about|to|from|on|how|that|which|fur|von|uber|pour|de|para|per|di)\b")
_LOOKS = pattern(
    r"\s*(?:review|audit|check|explain|inspect|assess|analy[sz]e|summari[sz]e|compare|describe|find|list|look|show|read)\b"
)
RISKS: tuple[Risk, ...] = ("low", "medium", "high")
"""From the least to the greatest."""


def risk_of(text: str) -> tuple[Risk, str]:
    """The greatest risk of a clause, and why, as a sentence; low has none. Pure, and linear in the text."""
    found: tuple[Risk, str] = ("low", "")
    plain = folded(text)
    # A line may end inside of a clause.
    wrapped = clauses_of(plain.replace("\n", " ")) if "\n" in plain else ()
    for clause in (*clauses_of(plain), *wrapped):
        one = _of_clause(clause)
        if RISKS.index(one[0]) > RISKS.index(found[0]):
            found = one
    return found


def _of_clause(clause: str) -> tuple[Risk, str]:
    object_end = _PREPOSITION.search(clause)
    if _LOOKS.match(clause) or _WORDS_ALONE.match(clause[: object_end.start()] if object_end else clause):
        return "low", ""
    for rule in _RULES:
        matches = [each.search(clause) for each in rule.patterns]
        if all(matches):
            named = ", ".join(" ".join(match.group().split()) for match in matches if match)
            mends = rule.risk == "high" and _MENDS.match(clause) is not None
            return "medium" if mends else rule.risk, f"{rule.sentence}: {named}."
    return "low", ""

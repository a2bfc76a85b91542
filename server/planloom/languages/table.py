"""The language servers that are known: which files they serve, how they are started, what marks a project of theirs.

Of several for the same files the first that is found is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

_PYTHON: Final = {".py": "python", ".pyi": "python"}
_SCRIPT: Final = {
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "typescriptreact",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascriptreact",
}
_C: Final = {
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".hxx": "cpp",
    ".m": "objective-c",
    ".mm": "objective-cpp",
}
_IN_PYTHON: Final = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_IN_SCRIPT: Final = ("tsconfig.json", "jsconfig.json", "package.json")


class Kind(NamedTuple):
    """A language server. `languages` are the ids of LSP by suffix, `markers` the names of files at a project's root.

    `runs_code`: it runs programs or plugins of the project, so it starts only where it can be confined.
    `options` are those of its `initialize`. `install` is how people get it.
    """

    name: str
    command: tuple[str, ...]
    languages: Mapping[str, str]
    markers: tuple[str, ...]
    runs_code: bool = True
    options: Mapping[str, object] = {}
    install: str = ""


KINDS: Final = (
    Kind(
        "ty", ("ty", "server"), _PYTHON, ("ty.toml", *_IN_PYTHON), runs_code=False, install="pip install ty"
    ),
    Kind(
        "basedpyright",
        ("basedpyright-langserver", "--stdio"),
        _PYTHON,
        ("pyrightconfig.json", *_IN_PYTHON),
    ),
    Kind("pyright", ("pyright-langserver", "--stdio"), _PYTHON, ("pyrightconfig.json", *_IN_PYTHON)),
    Kind("pyrefly", ("pyrefly", "lsp"), _PYTHON, ("pyrefly.toml", *_IN_PYTHON), runs_code=False),
    Kind("pylsp", ("pylsp",), _PYTHON, _IN_PYTHON),
    Kind("jedi", ("jedi-language-server",), _PYTHON, _IN_PYTHON),
    Kind("ruff", ("ruff", "server"), _PYTHON, ("ruff.toml", *_IN_PYTHON), runs_code=False),
    Kind(
        "typescript",
        ("typescript-language-server", "--stdio"),
        _SCRIPT,
        _IN_SCRIPT,
        # Its second server would answer from one file while the first reads the project.
        options={
            "disableAutomaticTypingAcquisition": True,
            "hostInfo": "planloom",
            "tsserver": {"useSyntaxServer": "never"},
        },
        install="npm install --save-dev typescript-language-server typescript@5",
    ),
    Kind("vtsls", ("vtsls", "--stdio"), _SCRIPT, _IN_SCRIPT),
    Kind(
        "gopls",
        ("gopls",),
        {".go": "go"},
        ("go.work", "go.mod"),
        install="go install golang.org/x/tools/gopls@latest",
    ),
    Kind(
        "rust-analyzer",
        ("rust-analyzer",),
        {".rs": "rust"},
        ("Cargo.toml",),
        options={"checkOnSave": False},
        install="rustup component add rust-analyzer",
    ),
    Kind(
        "clangd",
        ("clangd", "--background-index=false", "--log=error"),
        _C,
        ("compile_commands.json", "compile_flags.txt", "CMakeLists.txt"),
        runs_code=False,
        install="apt install clangd, or LLVM",
    ),
    Kind("jdtls", ("jdtls",), {".java": "java"}, ("pom.xml", "build.gradle", "build.gradle.kts")),
    Kind("kotlin-lsp", ("kotlin-lsp", "--stdio"), {".kt": "kotlin"}, ("build.gradle.kts", "build.gradle")),
    Kind("csharp-ls", ("csharp-ls",), {".cs": "csharp"}, ()),
    Kind("ruby-lsp", ("ruby-lsp",), {".rb": "ruby"}, ("Gemfile",)),
    Kind("solargraph", ("solargraph", "stdio"), {".rb": "ruby"}, ("Gemfile",)),
    Kind("phpactor", ("phpactor", "language-server"), {".php": "php"}, ("composer.json",)),
    Kind("intelephense", ("intelephense", "--stdio"), {".php": "php"}, ("composer.json",)),
    Kind("lua-language-server", ("lua-language-server",), {".lua": "lua"}, (".luarc.json",)),
    Kind("zls", ("zls",), {".zig": "zig"}, ("build.zig",)),
    Kind("sourcekit-lsp", ("sourcekit-lsp",), {".swift": "swift"}, ("Package.swift",)),
    Kind("dart", ("dart", "language-server"), {".dart": "dart"}, ("pubspec.yaml",)),
    Kind("elixir-ls", ("elixir-ls",), {".ex": "elixir", ".exs": "elixir"}, ("mix.exs",)),
    Kind("gleam", ("gleam", "lsp"), {".gleam": "gleam"}, ("gleam.toml",)),
    Kind(
        "haskell-language-server",
        ("haskell-language-server-wrapper", "--lsp"),
        {".hs": "haskell"},
        ("cabal.project", "stack.yaml"),
    ),
    Kind("ocamllsp", ("ocamllsp",), {".ml": "ocaml", ".mli": "ocaml"}, ("dune-project",)),
    Kind("metals", ("metals",), {".scala": "scala"}, ("build.sbt",)),
)

SUFFIXES: Final = frozenset(suffix for kind in KINDS for suffix in kind.languages)
"""The suffixes of files that some language server knows."""


def chosen(servers: tuple[str, ...]) -> tuple[Kind, ...]:
    """The kinds by the setting `language.servers`: each is a name of the table, or a command for some suffixes.

    `["-"]` alone starts none; those that are named come before the rest of the table, `-name` is left out of it.
    """
    first: list[Kind] = []
    dropped: set[str] = set()
    for each in servers:
        if each.startswith("-"):
            dropped.add(each[1:])
            continue
        suffixes, is_command, command = each.partition(":")
        if not is_command:
            first += [kind for kind in KINDS if kind.name == each]
        elif words := tuple(command.split()):
            ids = {suffix: name for kind in KINDS for suffix, name in kind.languages.items()}
            given = {suffix: ids.get(suffix, suffix[1:]) for suffix in suffixes.split()}
            program = words[0].rpartition("/")[2]
            known = next(
                (kind for kind in KINDS if kind.command[0] == program), Kind(program, words, given, ())
            )
            first.append(known._replace(command=words, languages=given))
    if "" in dropped:
        return tuple(first)
    return (*first, *(kind for kind in KINDS if kind not in first and kind.name not in dropped))

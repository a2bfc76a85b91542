"""The language id of a file by its name, for files that are not open in an editor; and the type of images."""

from __future__ import annotations

from typing import Final

_BY_SUFFIX: Final = {
    suffix: language
    for language, suffixes in {
        "bat": "bat cmd",
        "c": "c h",
        "clojure": "clj cljs cljc edn",
        "cpp": "cc cpp cxx hh hpp hxx",
        "csharp": "cs",
        "css": "css",
        "dart": "dart",
        "diff": "diff patch",
        "elixir": "ex exs",
        "erlang": "erl hrl",
        "fsharp": "fs fsi fsx",
        "go": "go",
        "graphql": "graphql gql",
        "groovy": "groovy gradle",
        "haskell": "hs lhs",
        "html": "html htm xhtml",
        "ini": "ini cfg conf properties",
        "java": "java",
        "javascript": "js cjs mjs",
        "javascriptreact": "jsx",
        "json": "json webmanifest",
        "jsonc": "jsonc code-workspace",
        "jsonl": "jsonl ndjson",
        "julia": "jl",
        "kotlin": "kt kts",
        "latex": "tex sty",
        "less": "less",
        "lua": "lua",
        "makefile": "mk mak",
        "markdown": "md markdown mdx",
        "nix": "nix",
        "objective-c": "m mm",
        "ocaml": "ml mli",
        "perl": "pl pm",
        "php": "php",
        "plaintext": "txt text log",
        "powershell": "ps1 psm1 psd1",
        "proto": "proto",
        "python": "py pyi pyw",
        "r": "r",
        "restructuredtext": "rst",
        "ruby": "rb rake gemspec",
        "rust": "rs",
        "sass": "sass",
        "scala": "scala sc sbt",
        "scss": "scss",
        "shellscript": "sh bash zsh ksh",
        "sql": "sql",
        "svelte": "svelte",
        "swift": "swift",
        "terraform": "tf tfvars",
        "toml": "toml",
        "typescript": "ts cts mts",
        "typescriptreact": "tsx",
        "vb": "vb",
        "vue": "vue",
        "xml": "xml xsd xsl svg csproj fsproj props targets plist",
        "yaml": "yaml yml",
        "zig": "zig",
    }.items()
    for suffix in suffixes.split()
}
_BY_NAME: Final = {
    "cmakelists.txt": "cmake",
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "gemfile": "ruby",
    "jenkinsfile": "groovy",
    "justfile": "just",
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "rakefile": "ruby",
    ".gitignore": "ignore",
    ".ignore": "ignore",
    ".bashrc": "shellscript",
    ".zshrc": "shellscript",
}


def language_of(path: str) -> str | None:
    """The LSP language id of a file by its name; None if unknown."""
    name = path.rpartition("/")[2].lower()
    return _BY_NAME.get(name) or _BY_SUFFIX.get(name.rpartition(".")[2] if "." in name else "")

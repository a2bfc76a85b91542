"""Names that are dangerous, secret or never changed, in every spelling of the same file."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.safety import protected
from planloom.domain.safety.protected import danger, folded, is_git, is_secret, never_written

PROTECTED = """
.vscode/settings.json .vscode/tasks.json .vscode/launch.json .vscode project.code-workspace
.idea/workspace.xml .envrc .github/workflows/ci.yml .gitlab-ci.yml package.json Makefile
.husky/pre-commit .npmrc conftest.py .gitattributes .gitmodules .bashrc pyproject.toml setup.py
sitecustomize.py evil.pth .devcontainer/devcontainer.json .mcp.json AGENTS.md CLAUDE.md
.cursor/mcp.json .pre-commit-config.yaml Jenkinsfile justfile build.gradle vite.config.ts
.eslintrc.js eslint.config.mjs .cargo/config.toml build.rs CMakeLists.txt a/b/package.json .hg/hgrc
.ssh/authorized_keys .env docker-compose.yml binding.targets
"""
BY_CATEGORY = {
    "An editor reads it": """
        .vscode/tasks.json .idea/workspace.xml app.code-workspace app.sublime-workspace .bsp/sbt.json hie.yaml
        .hie-bios .luarc.json rust-analyzer.toml compile_commands.json project.godot views/page.tt .latexmkrc
        .dir-locals.el .exrc .nvim.lua .lazy.lua .clangd ruby_lsp/thing/addon.rb .zed/tasks.json .helix/languages.toml
        .devcontainer/devcontainer.json .vs/tasks.vs.json .ghci .ocamlinit .iex.exs pyrightconfig.json
    """,
    "Coding agents follow it": """
        AGENTS.md CLAUDE.md .claude/settings.json .gemini/settings.json .cursor/rules/a.mdc .mcp.json
        .github-copilot.instructions.md review.prompt.md plan.chatmode.md .amp/x .kilocode/x .openhands/setup.sh
        .rules skills/a/SKILL.md mcp_config.json .clinerules/x.md .continue/config.yaml .roomodes
    """,
    "A shell or another program": """
        .bashrc .zshenv .profile .envrc .env config.fish config.nu .npmrc .yarnrc.yml bunfig.toml .ripgreprc .curlrc
        .inputrc .tmux.conf .gdbinit .Rprofile .octaverc .psqlrc .mongorc.js .mise.toml .shadowenv.d/x .user.ini .my.cnf
    """,
    "A build service": """
        .github/workflows/ci.yml .gitlab-ci.yml Jenkinsfile .circleci/config.yml azure-pipelines.yml .drone.yml
        .builds/x.yml .readthedocs.yaml netlify.toml vercel.json fly.toml serverless.yml wrangler.toml cdk.json
        Pulumi.yaml kustomization.yaml renovate.json .goreleaser.yaml action.yml heroku.yml .ebextensions/x.config
    """,
    "Git and the tools": """
        .gitattributes .gitmodules .gitconfig .husky/pre-commit .githooks/x lefthook.yml .pre-commit-config.yaml
        .lintstagedrc lint-staged.config.js captainhook.json grumphp.yml .czrc .hg/hgrc .svn/x
    """,
    "Building, testing or installing": """
        package.json package-lock.json yarn.lock pnpm-lock.yaml pyproject.toml setup.py setup.cfg requirements.txt
        requirements-dev.txt Pipfile poetry.lock uv.lock tox.ini noxfile.py Makefile rules.mk justfile CMakeLists.txt
        meson.build build.ninja xmake.lua conanfile.py configure Cargo.toml Cargo.lock build.rs go.mod go.work
        .golangci.yml Gemfile Rakefile app.gemspec .rubocop.yml .rubocop_todo.yml pom.xml build.gradle deps.gradle
        gradlew build.sbt App.csproj Directory.Build.props nuget.config mix.exs config/runtime.exs rebar.config
        app.cabal stack.yaml dune-project app.opam flake.nix overlay.nix Package.swift Podfile project.pbxproj
        composer.json phpunit.xml psalm.xml Dockerfile docker-compose.yml compose.prod.yaml mkdocs.yml _config.yml
        book.toml _quarto.yml dvc.yaml Snakefile dbt_project.yml terragrunt.hcl .terraform/x ansible.cfg buf.gen.yaml
        nx.json project.json angular.json tsconfig.json deno.json nodemon.json node_modules/x/index.js environment.yml
    """,
    "It is configuration that is code": """
        vite.config.ts jest.config.js .eslintrc.js eslint.config.mjs .prettierrc .babelrc karma.conf.js gulpfile.js
        Gruntfile.js .mocharc.yml .stylelintrc .pylintrc mypy.ini .flake8 .php-cs-fixer.php phpstan.neon
    """,
    "Python runs it": """
        conftest.py sitecustomize.py evil.pth pytest.ini pytest.toml .pdbrc pyvenv.cfg docs/conf.py .coveragerc
        .venv/bin/activate lib/site-packages/x.py jupyter_server_config.py .ipython/x .tox/x
    """,
    "It holds keys": ".ssh/authorized_keys known_hosts .netrc .htaccess sudoers .kube/config .aws/config .docker/x",
    "The system starts": """
        app.service app.timer app.socket app.desktop app.plist crontab cron.d/x init.d/x rc.local autorun.inf run.reg
        LaunchAgents/x autostart/x app.mobileconfig
    """,
}
PLAIN = """
src/main.py README.md docs/vscode.md github/workflows.md package.jsonl makefile.py notes.txt
app/config.py src/user.service.ts tokens.json build build/output.txt vscode/settings.json .gitignore
Dockerfile.md data.json docs/requirements.md src/hooks/use.ts app/tasks.py src/index.js styles/main.css
tests/test_app.py lib/user.rb cmd/main.go src/lib.rs App.java main.tf k8s/app.yaml locales/en.json
"""


@pytest.mark.parametrize("name", PROTECTED.split())
def test_protected_names_have_a_danger_in_every_spelling(name: str) -> None:
    head, slash, last = name.rpartition("/")
    for spelling in (
        name,
        name.upper(),
        name.swapcase(),
        f"sub/{name}",
        f"{head}{slash}{last}. ",
        name + "::$DATA",
    ):
        assert danger(spelling) is not None, spelling
    assert danger(head + slash + last[:1] + "\u200b" + last[1:]) is not None


@pytest.mark.parametrize(
    ("category", "name"),
    [(category, name) for category, names in BY_CATEGORY.items() for name in names.split()],
)
def test_what_runs_by_itself_is_known_by_its_category(category: str, name: str) -> None:
    assert (danger(name) or "").startswith(category)
    assert danger(f"deep/er/{name}") == danger(name)


@pytest.mark.parametrize("name", PLAIN.split())
def test_plain_names_have_none(name: str) -> None:
    assert danger(name) is None


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".GIT",
        ".Git ",
        ".git.",
        "git~1",
        "GIT~2",
        ".g\u200cit",
        ".git::$INDEX_ALLOCATION",
        "\uff0egit",
    ],
)
def test_git_is_recognized_in_every_spelling(name: str) -> None:
    assert is_git(name)
    for path in (name, f"{name}/hooks/pre-commit", f"sub/{name}/config"):
        assert never_written(path) is not None


@pytest.mark.parametrize("name", ["git", ".gitignore", ".github", "agit", "git~", ".git-blame-ignore-revs"])
def test_other_names_are_not_git(name: str) -> None:
    assert not is_git(name)
    assert never_written(name) is None


def test_the_folder_of_plans_is_never_written() -> None:
    assert never_written(".planloom/plan.plan.md") is not None
    assert never_written(".PlanLoom") is not None
    assert never_written("planloom/x") is None


SECRET = """
.env .env.local prod.env server.pem key.PEM id_rsa id_ed25519 id_rsa.bak id_work .ssh/config .aws/credentials
.netrc .npmrc credentials.json .git-credentials app.keystore cert.p12 .docker/config.json terraform.tfstate
client_secret_123.json service-account.json .htpasswd secrets.yaml
"""
OPEN = """
.env.example .env.sample id_rsa.pub id_generator.py environment.ts key.py src/credentials.py config.json
public.key.md .ssh/id_rsa.pub docs/secrets.md id_map.json
"""


@pytest.mark.parametrize(
    ("name", "secret"),
    [*((name, True) for name in SECRET.split()), *((name, False) for name in OPEN.split())],
)
def test_secrets_by_name(name: str, secret: bool) -> None:
    assert is_secret(name) is secret
    assert is_secret(f"deep/{name}".upper()) is secret


@given(st.text())
def test_any_name_is_taken(name: str) -> None:
    danger(name)
    is_secret(name)
    never_written(name)
    assert folded(folded(name)) == folded(name)


PATTERNS = sorted(
    {"*".join(parts) for parts, _ in protected._PATTERNS}
    | {"*".join(parts) for parts in protected._SECRET_PATTERNS}
)


@given(
    st.sampled_from(PATTERNS),
    st.lists(st.sampled_from(["", "a", ".", "*", "\n", ".json", "service"]), max_size=4),
)
def test_a_pattern_matches_what_a_shell_would_match(pattern: str, between: list[str]) -> None:
    parts = pattern.split("*")
    joined = "".join(part + more for part, more in zip(parts, [*between, "", "", "", ""], strict=False))
    for name in (joined, joined[1:], joined[:-1], pattern.replace("*", ""), joined + "x"):
        assert protected._matches(name, parts) == fnmatchcase(name, pattern)

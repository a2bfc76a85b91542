"""Names that are dangerous, secret or never changed, in every spelling of the same file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
PLAIN = """
src/main.py README.md docs/vscode.md github/workflows.md package.jsonl makefile.py notes.txt
app/config.py src/user.service.ts tokens.json build build/output.txt vscode/settings.json .gitignore
Dockerfile.md data.json
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

"""File names that are dangerous to write or to read: run automatically, holding secrets, or never to be changed.

Only the name counts, not whether the file exists: creating a missing start-up file is as dangerous as changing one.
Names are compared as the most lenient file system would: without case, in one Unicode form, without trailing dots
and spaces, and without the characters that some systems ignore.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from planloom.domain.patterns import pattern
from planloom.domain.text.hidden_characters import IGNORABLE

OWN_FOLDER: Final = ".planloom"
"""The folder of plan documents, in the first folder of a workspace."""

_EDITOR = "An editor reads it by itself when the folder is opened: it can change settings and start programs."
_AGENT = "Coding agents follow it unasked: it can change what they do and which programs they start."
_SHELL = "A shell or another program reads it when it starts: it can run commands by itself."
_CI = "A build service runs it, with that service's keys, as soon as it is pushed."
_HOOK = "Git and the tools around it run it by themselves: it can run commands at every commit or checkout."
_BUILD = (
    "Building, testing or installing runs what it says, and some editors do that when they open the folder."
)
_CODE_CONFIG = (
    "It is configuration that is code: development tools and editor extensions run it by themselves."
)
_PYTHON = "Python runs it by itself when it starts or collects tests, wherever it is found first."
_KEYS = "It holds keys, or says who may log in: a change can open or lock doors."
_SYSTEM = "The system starts what it names by itself."

_UNASKED: Final = frozenset({_EDITOR, _AGENT, _SHELL, _CI, _HOOK, _KEYS, _SYSTEM})

_FOLDER_NAMES: Final = (
    (
        _EDITOR,
        """
        .vscode .vscode-server .vscode-insiders .idea .vs .fleet .zed .helix .nvim .settings
        .devcontainer .theia .run .codesandbox .sublime .kate .emacs.d .vim .bsp .metals .bloop
        .sourcekit-lsp .lapce .nova .vimspector ruby_lsp
        """,
    ),
    (
        _AGENT,
        """
        .cursor .windsurf .claude .codex .gemini .roo .kiro .continue .aider .opencode .amazonq
        .cline .clinerules .junie .augment .trae .qwen .goose .agents .agent .amp .factory .kilocode
        .aiassistant .openhands .tabnine .codeium .zencoder .crush .iflow .plandex .rules .mcp .warp
        .kilo .pi
        """,
    ),
    (
        _CI,
        """
        .github .gitlab .gitea .forgejo .circleci .buildkite .teamcity .semaphore .woodpecker .ci
        .drone .travis .azuredevops .azure-pipelines .tekton .jenkins .builds .harness .dagger
        .concourse .depot .platform .upsun .ebextensions .do .cloudbuild .sourcehut .openshift
        """,
    ),
    (
        _HOOK,
        """
        .husky .githooks .git-hooks .hg .svn .jj .bzr .pijul .lefthook .overcommit .yorkie
        """,
    ),
    (
        _BUILD,
        """
        .mvn .cargo .bundle .yarn .gradle .bazel .sbt .swiftpm buildsrc node_modules .storybook
        .terraform .nx .turbo .rush .ivy2 .pnpm .pub-cache .flox .devbox .hermit .proto magefiles
        """,
    ),
    (
        _SHELL,
        """
        .config .direnv .mise .shadowenv.d .sdkman .oh-my-zsh .bash_completion.d profile.d
        .tmuxinator
        """,
    ),
    (
        _PYTHON,
        """
        .ipython .jupyter .venv venv site-packages .tox .nox .pixi __pypackages__ dist-packages
        """,
    ),
    (
        _KEYS,
        """
        .ssh .gnupg .aws .kube .docker .azure .gcloud .password-store
        """,
    ),
    (
        _SYSTEM,
        """
        launchagents launchdaemons autostart cron.d cron.daily cron.hourly cron.weekly cron.monthly
        init.d systemd
        """,
    ),
)
_FILE_NAMES: Final = (
    (
        _EDITOR,
        """
        *.code-workspace *.sublime-project *.code-profile .exrc .nvimrc .nvim.lua .vimrc .lvimrc
        .lvimrc.lua .gvimrc .ideavimrc .dir-locals.el .dir-locals-2.el .projectile .neoconf.json
        coc-settings.json .project .classpath devcontainer.json .devcontainer.json .gitpod.yml
        .replit replit.nix .kateproject* *.iml omnisharp.json tasks.json launch.json
        .ycm_extra_conf.py .ccls .clangd launch.vs.json tasks.vs.json cppproperties.json
        *.sublime-workspace *.sublime-build *.sublime-settings .luarc.json .luarc.jsonc hie.yaml
        .hie-bios rust-project.json rust-analyzer.toml .rust-analyzer.toml pyrightconfig.json
        compile_commands.json compile_flags.txt .vimspector.json project.godot plugin.cfg *.tt
        .latexmkrc latexmkrc .emacs .emacs-project .spacemacs .lazy.lua .exrc.lua .vsconfig .iex.exs
        .ghci .ocamlinit .utoprc
        """,
    ),
    (
        _AGENT,
        """
        agents.md agents.override.md claude.md claude.local.md gemini.md copilot-instructions.md
        .mcp.json mcp.json .cursorrules .windsurfrules .clinerules .roomodes .roorules*
        .aider.conf.yml opencode.json opencode.jsonc .goosehints crush.json warp.md skill.md
        agent.md qwen.md iflow.md .rules *.mdc *.chatmode.md *.prompt.md *.instructions.md
        *.agent.md .continuerules .continuerc.json .kilocodemodes .openhands_instructions
        codebuff.json mcp_config.json mcp-config.json mcp_settings.json cline_mcp_settings.json
        claude_desktop_config.json .mcp.toml gemini-extension.json hooks.json
        """,
    ),
    (
        _SHELL,
        """
        .envrc .env .env.* .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile
        .login .logout .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc
        config.fish .inputrc .xinitrc .xsession .xprofile .xsessionrc .tmux.conf .screenrc
        .pam_environment profile.ps1 *_profile.ps1 .gdbinit .lldbinit .pryrc .irbrc .psqlrc
        .sqliterc .wgetrc .curlrc .npmrc .yarnrc .yarnrc.yml .pypirc pip.conf pip.ini uv.toml
        bunfig.toml .mise.toml mise.toml .mise.*.toml mise.*.toml .rtx.toml .tool-versions .asdfrc
        devbox.json devenv.nix devenv.yaml .autoenv .autoenv.zsh .aliases .functions .exports
        .xonshrc config.nu env.nu .ripgreprc ripgreprc .ackrc .lesskey .lessfilter .nanorc .mailcap
        .muttrc .octaverc .rprofile rprofile.site .renviron .juliarc.jl startup.jl .guile .sbclrc
        .clisprc .duckdbrc .mongorc.js .mongoshrc.js .redisclirc .wezterm.lua .skhdrc .yabairc
        .sdkmanrc .prototools aqua.yaml aqua.yml .user.ini php.ini .bash_completion .zpreztorc
        .p10k.zsh .perldb .replyrc .proverc .my.cnf .dotnet-tools.json dotnet-tools.json
        """,
    ),
    (
        _CI,
        """
        .gitlab-ci.yml .gitlab-ci.yaml .travis.yml .travis.yaml azure-pipelines*.yml
        azure-pipelines*.yaml jenkinsfile jenkinsfile.* *.jenkinsfile .drone.yml .drone.yaml
        .drone.star .woodpecker.yml .woodpecker.yaml bitbucket-pipelines.yml
        bitbucket-pipelines.yaml appveyor.yml .appveyor.yml cloudbuild.yml cloudbuild.yaml
        .cirrus.yml .cirrus.star buildspec.yml buildspec.yaml codemagic.yaml wercker.yml
        .semaphore.yml .build.yml .builds.yml action.yml action.yaml netlify.toml vercel.json
        .gitlab-ci-*.yml render.yaml .cpanel.yml dagger.json .lagoon.yml .platform.app.yaml
        heroku.yml now.json amplify.yml railway.json railway.toml nixpacks.toml .readthedocs.yml
        .readthedocs.yaml renovate.json renovate.json5 .renovaterc .renovaterc.json .mergify.yml
        .codeclimate.yml .mega-linter.yml .mega-linter.yaml sonar-project.properties .goreleaser.yml
        .goreleaser.yaml .rultor.yml .scrutinizer.yml captain-definition okteto.yml wrangler.toml
        wrangler.json wrangler.jsonc fly.toml serverless.yml serverless.yaml samconfig.toml cdk.json
        pulumi.yaml pulumi.*.yaml helmfile.yaml kustomization.yaml kustomization.yml devspace.yaml
        garden.yml werf.yaml dependabot.yml dependabot.yaml
        """,
    ),
    (
        _HOOK,
        """
        .gitattributes .gitmodules .gitconfig .hgrc hgrc lefthook.yml lefthook.yaml .lefthook.yml
        .lefthook.yaml lefthook-local.yml lefthook.toml lefthook.json .pre-commit-config.yaml
        .pre-commit-config.yml .pre-commit-hooks.yaml .lintstagedrc .lintstagedrc.*
        lint-staged.config.* .overcommit.yml .commitlintrc .commitlintrc.* .huskyrc .huskyrc.*
        .simple-git-hooks.* simple-git-hooks.* captainhook.json grumphp.yml grumphp.yaml .gitlint
        commitizen.json .czrc cz.toml .cz.toml prek.toml
        """,
    ),
    (
        _BUILD,
        """
        package.json makefile gnumakefile bsdmakefile makefile.am makefile.in makefile.inc
        makefile.win *.mk *.mak justfile .justfile justfile.* *.just taskfile.yml taskfile.yaml
        taskfile.dist.yml taskfile.dist.yaml rakefile rakefile.rb *.rake gemfile gems.rb *.gemspec
        vagrantfile dangerfile dangerfile.* fastfile podfile *.podspec brewfile guardfile capfile
        thorfile procfile procfile.* appraisals setup.py setup.cfg pyproject.toml tox.ini noxfile.py
        dodo.py fabfile.py hatch_build.py hatch.toml pdm_build.py wscript sconstruct sconscript
        build.bazel workspace.bazel module.bazel .bazelrc .buckconfig *.bzl cmakelists.txt
        cmakepresets.json cmakeuserpresets.json *.cmake meson.build configure.ac build.rs
        rust-toolchain rust-toolchain.toml composer.json deno.json deno.jsonc build.gradle
        build.gradle.kts settings.gradle settings.gradle.kts init.gradle init.gradle.kts
        gradle.properties gradlew gradlew.bat gradle-wrapper.properties gradle-wrapper.jar pom.xml
        mvnw mvnw.cmd build.xml build.sbt *.sbt build.sc build.mill *.csproj *.fsproj *.vbproj
        *.vcxproj *.proj *.props *.targets *.sln *.slnx nuget.config directory.build.rsp global.json
        mix.exs .formatter.exs rebar.config rebar.config.script project.clj deps.edn bb.edn
        build.boot shadow-cljs.edn flake.nix shell.nix default.nix setup.hs build.zig package.swift
        dune-project docker-compose*.yml docker-compose*.yaml compose*.yml compose*.yaml
        .pnpmfile.cjs .pnpmfile.mjs pnpm-workspace.yaml .pnp.cjs .pnp.loader.mjs turbo.json nx.json
        lerna.json skaffold.yaml tiltfile earthfile magefile.go build.xs .rspec .rubocop.yml
        .solargraph.yml cargo.toml tsconfig.json tsconfig.*.json jsconfig.json *.gradle *.gradle.kts
        *.bazel .bazelversion .bazeliskrc *.ninja xmake.lua premake5.lua conanfile.py conanfile.txt
        vcpkg.json meson.options meson_options.txt configure autogen.sh *.cabal cabal.project
        cabal.project.* stack.yaml package.yaml dune dune-workspace *.opam esy.json erlang.mk
        gleam.toml *.nimble nim.cfg *.nims shard.yml pubspec.yaml build.yaml melos.yaml
        project.pbxproj *.xcscheme *.xcconfig cartfile mintfile project.swift tuist.swift
        workspace.swift ivy.xml build.properties *.rockspec *.nix dockerfile containerfile
        *.dockerfile devspace.yml requirements*.txt constraints*.txt pipfile pipfile.lock
        poetry.lock uv.lock pdm.lock package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml
        bun.lock cargo.lock gemfile.lock composer.lock packages.lock.json podfile.lock
        package.resolved go.mod go.sum go.work environment.yml environment.yaml pixi.toml pixi.lock
        conda-lock.yml mix.lock rebar.lock flake.lock pubspec.lock mkdocs.yml mkdocs.yaml book.toml
        _config.yml _quarto.yml antora-playbook.yml dvc.yaml dbt_project.yml profiles.yml snakefile
        nextflow.config prefect.yaml terragrunt.hcl .tflint.hcl ansible.cfg buf.gen.yaml buf.yaml
        sqlc.yaml sqlc.yml gqlgen.yml .mockery.yaml .mockery.yml .air.toml .golangci.yml
        .golangci.yaml .golangci.toml .golangci.json nodemon.json .nodemonrc bacon.toml mprocs.yaml
        process-compose.yml process-compose.yaml supervisord.conf .tmuxinator.yml rush.json
        angular.json project.json workspace.json capacitor.config.json ionic.config.json phpunit.xml
        phpunit.xml.dist psalm.xml psalm.xml.dist rector.php ecs.php behat.yml infection.json
        phing.xml .standard.yml .rubocop*.yml .haml-lint.yml .erb-lint.yml .erb_lint.yml .reek.yml
        .simplecov config.ru .irbrc.rb .credo.exs config.exs runtime.exs dev.exs test.exs prod.exs
        .perlcriticrc cpanfile makefile.pl build.pl lombok.config jreleaser.yml quickbuild.xml
        arara.yaml trivy.yaml .vale.ini .sqlfluff .semgrep.yml checkov.yml .checkov.yml
        .checkov.yaml dprint.json .dprint.json biome.json biome.jsonc vitest.workspace.ts
        vitest.workspace.js .eleventy.js gatsby-node.js gatsby-config.js .remarkrc .remarkrc.*
        .textlintrc .textlintrc.* .markdownlint.cjs .markdownlint-cli2.* .taprc .c8rc pnpmfile.js
        import_map.json web.config
        """,
    ),
    (
        _CODE_CONFIG,
        """
        *.config.js *.config.cjs *.config.mjs *.config.ts *.config.cts *.config.mts *.conf.js
        *.conf.ts .*rc.js .*rc.cjs .*rc.mjs .*rc.ts .eslintrc .eslintrc.* .prettierrc .prettierrc.*
        .babelrc .babelrc.* .mocharc .mocharc.* .stylelintrc .stylelintrc.* .swcrc .nycrc .parcelrc
        .postcssrc .postcssrc.* .releaserc .releaserc.* gulpfile.* gruntfile.* jakefile jakefile.*
        .pylintrc pylintrc .mypy.ini mypy.ini .scalafix.conf .luacheckrc .phpstorm.meta.php
        .php-cs-fixer.php .php-cs-fixer.dist.php .flake8 phpstan.neon phpstan.neon.dist
        """,
    ),
    (
        _PYTHON,
        """
        conftest.py sitecustomize.py usercustomize.py *.pth pytest.ini .pytest.ini .pdbrc .pdbrc.py
        .pythonrc .pythonrc.py .pythonstartup pyvenv.cfg conf.py .coveragerc coveragerc .bandit
        ipython_config.py jupyter_config.py jupyter_*_config.py ptpython.py .ptpython.py pytest.toml
        .pytest.toml
        """,
    ),
    (
        _KEYS,
        """
        authorized_keys known_hosts .netrc _netrc .git-credentials .htpasswd .htaccess .rhosts
        .shosts sudoers authorized_keys2 ssh_config sshd_config .k5login .pgpass pg_hba.conf
        """,
    ),
    (
        _SYSTEM,
        """
        autorun.inf desktop.ini *.desktop *.service *.timer *.plist crontab *.lnk *.url *.scf *.reg
        *.inf *.hta *.socket *.mount *.automount rc.local *.workflow *.command *.mobileconfig
        *.library-ms *.search-ms *.website *.appref-ms
        """,
    ),
)
_FOLDERS: Final = {name: danger for danger, names in _FOLDER_NAMES for name in names.split()}
_FILES: Final = {name: danger for danger, names in _FILE_NAMES for name in names.split()}
_EXACT: Final = {name: danger for name, danger in _FILES.items() if "*" not in name}
_PATTERNS: Final = tuple((name.split("*"), danger) for name, danger in _FILES.items() if "*" in name)

SECRET_FOLDERS: Final = frozenset({".ssh", ".gnupg", ".aws", ".kube", ".azure", ".gcloud", ".password-store"})
_SECRET_NAMES: Final = """
    .env .env.* *.env .envrc *.pem *.key *.p12 *.pfx *.pkcs12 *.pkcs8 *.jks *.keystore *.bks *.kdb
    *.kdbx *.ppk *.keytab *.ovpn *.mobileprovision *.agekey *.tfstate *.tfstate.* *.tfvars
    *.tfvars.json *.kubeconfig *.secret *.secrets credentials credentials.json credentials.y*ml
    credentials.toml credentials.ini credentials.xml credentials.csv credentials.txt credentials.db
    *.credentials *_credentials *_credentials.json *-credentials.json .credentials .credentials.json
    .netrc _netrc .pgpass pgpass.conf .htpasswd htpasswd .npmrc .yarnrc .yarnrc.yml .pypirc
    .git-credentials .dockercfg .dockerconfigjson .s3cfg .boto .my.cnf .mylogin.cnf .terraformrc
    terraform.rc .vault-token .vault_pass* vault_pass* .vault-pass* kubeconfig .kubeconfig
    secrets.json secrets.yml secrets.yaml secrets.toml secrets.env secrets.ini secrets.xml
    secrets.properties secret.json secret.yml secret.yaml secret.toml .secrets .secret
    client_secret*.json *service-account*.json *service_account*.json *serviceaccount*.json
    application_default_credentials.json local.settings.json wallet.dat secring.* .bash_history
    .zsh_history .python_history .node_repl_history .psql_history .mysql_history .databricks.cfg
    .snowsql token.json .token auth.json oauth*.json
"""
_SECRET_EXACT: Final = frozenset(name for name in _SECRET_NAMES.split() if "*" not in name)
_SECRET_PATTERNS: Final = tuple(name.split("*") for name in _SECRET_NAMES.split() if "*" in name)
_KEY_FILE: Final = pattern(r"id_(?:rsa|dsa|ecdsa|ed25519|ed448|xmss)(?:[-_.].*)?|id_[^.]*")
_NO_SECRET: Final = pattern(r".*(?:\.pub|\.example|\.sample|\.template|\.tmpl|\.dist|\.defaults|\.tpl)")

_SHORT_GIT: Final = pattern(r"\.?git~[0-9]+")
_SKIPPED: Final = pattern(f"[{IGNORABLE}]")
"""Invisible characters, which some systems ignore when they compare names."""


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """One name, not a path, as the most lenient file system would compare it."""
    plain = _SKIPPED.sub("", unicodedata.normalize("NFKC", name)).casefold()
    plain, _, _ = plain.partition(":")
    return unicodedata.normalize("NFC", plain).rstrip(". ")


def is_git(name: str) -> bool:
    """Whether a name, not a path, is that of git's own folder or of the file in its place."""
    plain = folded(name)
    return plain == ".git" or _SHORT_GIT.fullmatch(plain) is not None


def never_written(relative: str) -> str | None:
    """Why a path below a workspace folder is never written, even if approved; None if it may be.

    `relative` has forward slashes. Git's own folder is not read either (`is_git`).
    """
    names = relative.split("/")
    if any(is_git(name) for name in names):
        return "Git's own files are never touched: a change there could run programs or lose history."
    if any(folded(name) == OWN_FOLDER for name in names):
        return "The folder of plan documents is Planloom's own: it is changed through its plans alone."
    return None


def danger(relative: str) -> str | None:
    """The danger of changing a path, as a sentence for the person who approves; None if there is none.

    `relative` has forward slashes; case and Unicode form make no difference.
    """
    names = [folded(name) for name in relative.split("/")]
    for name in names:
        if name in _FOLDERS:
            return _FOLDERS[name]
    return _danger_of_file(names[-1])


def runs_unasked(name: str) -> bool:
    """Whether editors, agents, shells, git or services read what has this name by themselves.

    Build files and installed packages are not of them: what builds and tests a project has to write some of these,
    and they only do something when a person builds or tests.
    """
    plain = folded(name)
    return (_FOLDERS.get(plain) or _danger_of_file(plain)) in _UNASKED


@lru_cache(maxsize=4096)
def _danger_of_file(name: str) -> str | None:
    if name in _EXACT:
        return _EXACT[name]
    return next((sentence for parts, sentence in _PATTERNS if _matches(name, parts)), None)


def is_secret(relative: str) -> bool:
    """Whether a file usually holds keys or passwords, so that reading it must be confirmed."""
    names = [folded(name) for name in relative.split("/")]
    last = names[-1]
    if any(name in SECRET_FOLDERS for name in names):
        return not last.endswith(".pub")
    return names[-2:] == [".docker", "config.json"] or _is_secret_file(last)


@lru_cache(maxsize=4096)
def _is_secret_file(name: str) -> bool:
    if _NO_SECRET.fullmatch(name):
        return False
    if _KEY_FILE.fullmatch(name):
        return True
    return name in _SECRET_EXACT or any(_matches(name, parts) for parts in _SECRET_PATTERNS)


def _matches(name: str, parts: Sequence[str]) -> bool:
    """Whether the name consists of these parts, in this order, with anything between two of them."""
    first, *middle, last = parts
    start, end = len(first), len(name) - len(last)
    if start > end or not (name.startswith(first) and name.endswith(last)):
        return False
    for part in middle:
        found = name.find(part, start, end)
        if found < 0:
            return False
        start = found + len(part)
    return True

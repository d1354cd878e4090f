#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the page in Debian's headless Chromium, against real processes.
#   test/web/run.sh               the tests
#   test/web/run.sh screenshot    docs/page.png and docs/page-dark.png instead
# Without a browser, or Node.js 18, it says what is missing, and fails only with CI=true.
set -euo pipefail
cd "$(dirname "$0")/../.."

missing=()
[ -n "${CHROMIUM:-}" ] || [ -x /usr/bin/chromium-headless-shell ] || [ -x /usr/bin/chromium ] || missing+=("chromium-headless-shell")
node -e 'process.exit(process.versions.node.split(".")[0] >= 18 ? 0 : 1)' 2>/dev/null || missing+=("Node.js 18 or later")
npm --version >/dev/null 2>&1 || missing+=("npm")
if [ ${#missing[@]} -gt 0 ]; then
  printf -v list ', %s' "${missing[@]}"
  echo "SKIPPED: the page in a browser needs ${list:2}: scripts/setup.sh browser installs what Debian has"
  [ "${CI:-}" != true ]
  exit
fi

# Exactly what the lock file names, with its sums.
if ! [ test/web/node_modules/.package-lock.json -nt test/web/package-lock.json ]; then
  echo "web: npm ci: playwright-core and axe-core, in test/web/node_modules"
  npm ci --prefix test/web --no-audit --no-fund --ignore-scripts --loglevel=error
fi
BIN=$(mktemp -d)
trap 'rm -rf "$BIN"' EXIT
export BIN
CGO_ENABLED=0 go build -o "$BIN/" ./cmd/publisher ./cmd/subscriber ./cmd/tagbus
if [ "${1:-}" = screenshot ]; then
  node test/web/screenshot.mjs "$BIN" docs
  ls -l docs/page.png docs/page-dark.png
else
  node --test --test-reporter=spec test/web/page.test.mjs
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the site of the documents: all Markdown of the repository, with a search. A link to a
# page that does not exist fails it; internal/checks/links_test.go holds the anchors, too.
#   scripts/docs.sh
#   SITE=build/site   the folder, of which nothing is kept
#   KEPT=yes          takes a site that was made of the same documents, if it was within a week, and keeps this one
# With CI=true it does not run again when it has passed with the same documents and modules and
# SITE is not set.
# Without Node.js 18, or npm, it says what is missing, and fails.
set -euo pipefail
cd "$(dirname "$0")/.."
depends=(README.md CHANGELOG.md CONTRIBUTING.md docs examples/README.md bench/README.md scripts/docs.sh
  tools/docs/package-lock.json tools/docs/.vitepress/config.mjs tools/docs/.vitepress/theme)
if [ -z "${SITE:-}" ] && [ "${CI:-}" = true ] && scripts/passed.sh is docs "${depends[@]}"; then exit; fi
out=$(realpath -m "${SITE:-build/site}")

# Modules and what VitePress writes meanwhile are the same folders for all builds of a checkout: of two at a
# time the second one waits, and may take what the first one keeps.
exec 9<tools/docs
flock 9

# It takes a minute or two, and scripts/release-check.sh makes releases with each change of a program.
kept=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tagbus/site
if [ "${KEPT:-}" = yes ]; then
  find "$kept" -type f -mtime +7 -delete 2>/dev/null || true
  kept=$kept/$(scripts/passed.sh key site "${depends[@]}").tar
  if [ -e "$kept" ] && [ "${AGAIN:-}" != yes ]; then
    mkdir -p "$out" && tar -C "$out" -xf "$kept"
    echo "docs: the site is one that was made of the same documents, $(date -u -r "$kept" +%FT%TZ)"
    exit
  fi
fi

missing=()
node -e 'process.exit(process.versions.node.split(".")[0] >= 18 ? 0 : 1)' 2>/dev/null || missing+=("Node.js 18 or later")
npm --version >/dev/null 2>&1 || missing+=("npm")
if [ ${#missing[@]} -gt 0 ]; then
  printf -v list ', %s' "${missing[@]}"
  echo "docs: the site needs ${list:2}: scripts/setup.sh docs installs what Debian has" >&2
  exit 1
fi

# Exactly what the lock file names, with its sums.
if ! [ tools/docs/node_modules/.package-lock.json -nt tools/docs/package-lock.json ]; then
  echo "docs: npm ci: vitepress, in tools/docs/node_modules"
  npm ci --prefix tools/docs --no-audit --no-fund --ignore-scripts --loglevel=error
fi
# It looks at its terminal, which would stop it in the background.
SITE=$out node tools/docs/node_modules/vitepress/bin/vitepress.js build tools/docs </dev/null
# Of what is in the scripts of the site.
for module in vitepress vue minisearch mark.js focus-trap tabbable @vueuse/core @vueuse/integrations; do
  printf '== %s\n\n' "$module"
  cat tools/docs/node_modules/"$module"/LICENSE*
done >"$out/LICENSES.txt"
if [ "${KEPT:-}" = yes ]; then
  mkdir -p "$(dirname "$kept")"
  tar -C "$out" -cf "$kept.$$" . && mv "$kept.$$" "$kept"
fi
if [ -z "${SITE:-}" ]; then scripts/passed.sh note docs "${depends[@]}"; fi
echo "docs: $(find "$out" -name '*.html' | wc -l) pages in $out, $(du -sh "$out" | cut -f 1); to read them: python3 -m http.server -d $out"

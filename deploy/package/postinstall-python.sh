#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs after the package was installed or renewed: compiles its files once, for all.
set -e
if command -v py3compile >/dev/null; then py3compile -p python3-tagbus; fi

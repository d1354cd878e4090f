#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs before the package is removed or renewed: removes what Python has compiled.
set -e
if command -v py3clean >/dev/null; then py3clean -p python3-tagbus; fi
rm -rf /usr/share/tagbus/python/tagbus/__pycache__

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs after a library was installed or removed. Hosts whose glibc has a trigger for it need none.
set -e
if command -v ldconfig >/dev/null; then ldconfig; fi

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs after a package was removed.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi

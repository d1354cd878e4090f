#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs after a package was installed or renewed.
set -e
# Without systemd there is no service, and so no need for its user.
if command -v systemd-sysusers >/dev/null; then systemd-sysusers tagbus-directory.conf; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi

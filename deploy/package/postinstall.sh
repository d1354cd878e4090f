#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs after a package was installed or renewed.
set -e
# Without systemd there are no services, and so no need for their user.
if command -v systemd-sysusers >/dev/null; then systemd-sysusers tagbus.conf; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi

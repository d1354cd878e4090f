#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs before a package is removed (deb: remove, rpm: 0) or renewed. A service that runs
# keeps its program until it is restarted.
set -e
case "$1" in
remove | 0)
  if [ -d /run/systemd/system ]; then systemctl stop 'tagbus-bridge-*@*.service'; fi
  ;;
esac

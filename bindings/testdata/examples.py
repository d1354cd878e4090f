# SPDX-License-Identifier: Apache-2.0
"""The examples in Python in one process: each line of its input is one, as words of JSON; what it prints is
followed by a line with its status. So Python and numpy start once."""

import importlib
import json
import sys

for line in sys.stdin:
    sys.argv = json.loads(line)
    example = importlib.import_module(sys.argv[0])
    status = 0
    try:
        example.run(sys.argv[1:])
    except Exception as e:
        print(f"{sys.argv[0]}: {e!r}", file=sys.stderr, flush=True)
        status = 1
    print(f"status {status}", flush=True)

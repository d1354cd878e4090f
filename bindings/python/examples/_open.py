# SPDX-License-Identifier: Apache-2.0
"""What the examples share: they take the options that tagbus_open takes in C."""

from __future__ import annotations

import shlex
import sys
from typing import Callable, Dict, List

import tagbus


def bus(at: str, options: List[str]) -> tagbus.Bus:
    """Open a bus; options: "--cert FILE --key FILE --ca FILE", or none."""
    words = shlex.split(" ".join(options))
    flags: Dict[str, str] = {}
    for flag, value in zip(words[::2], words[1::2]):
        flags[flag[2:].replace("-", "_")] = value
    return tagbus.Bus(at, **flags)


def main(usage: str, run: Callable[[List[str]], None]) -> None:
    """Run an example, which gets the words of its command line."""
    if len(sys.argv) < len(usage.split()) - 1:
        sys.exit(f"usage: {usage}")
    try:
        run(sys.argv[1:])
    except (tagbus.Error, ValueError) as e:
        sys.exit(f"{usage.split()[0]}: {e}")

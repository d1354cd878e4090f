# SPDX-License-Identifier: Apache-2.0
"""Recordings, as arrays of numpy."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
from typing import Any, List, Optional

from . import _errors
from ._batch import _frozen, _need_numpy
from ._options import Tags, tag_set

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]


class Recorded:
    """Messages of a recording, in the order of time.

    Attributes:
      times: when they were received, datetime64[ns] in UTC.
      tags, counters, status, sizes: arrays with an item for each message.
      lost: how many messages the gaps in the recording stand for.
    """

    def __init__(self, rows: List[List[str]], data: bytes, lost: int):
        self.times = np.array([r[0].rstrip("Z") for r in rows], "datetime64[ns]")
        self.tags = np.array([int(r[2], 16) for r in rows], np.uint64)
        self.counters = np.array([int(r[5]) for r in rows], np.uint64)
        self.status = np.array([int(r[6]) for r in rows], np.uint8)
        self.sizes = np.array([int(r[7]) for r in rows], np.uint32)
        self.lost = lost
        self.page = _frozen(np.frombuffer(data, np.uint8))
        self.offsets = np.cumsum(self.sizes, dtype=np.int64) - self.sizes

    def __len__(self) -> int:
        return len(self.times)

    def array(self, dtype: Any = "u1") -> Any:
        """Return the data as one array, a message a row; ValueError if sizes differ."""
        dtype, n = np.dtype(dtype), len(self)
        if n == 0:
            return _frozen(np.empty((0, 0), dtype))
        size = int(self.sizes[0])
        if (self.sizes != size).any():
            raise ValueError(f"messages of {self.sizes.min()} to {self.sizes.max()} bytes make no array: use arrays, or tags")
        if size == 0:
            return _frozen(np.empty((n, 0), dtype))
        out = self.page.reshape(n, size).view(dtype)
        return out[:, 0] if size == dtype.itemsize else out

    def arrays(self, dtype: Any = "u1") -> List[Any]:
        """Return the data of each message, in a list."""
        return [self.page[o : o + n].view(dtype) for o, n in zip(self.offsets.tolist(), self.sizes.tolist())]


class Recording:
    """A recording of tagbus record; it is read by the command tagbus.

    The command is found on the PATH, or named by TAGBUS_PROGRAM.

        rec = tagbus.Recording("run.tbr")
        part = rec.read(0x100, start="+10s", end="+20s")
        part.times, part.array("<u2")
    """

    def __init__(self, *paths: Any):
        _need_numpy("Recording")
        self._paths = [os.fspath(p) for p in paths]
        if not paths:
            raise ValueError("no file is named")

    def read(self, tags: Optional[Tags] = None, start: Any = None, end: Any = None) -> Recorded:
        """Return the messages of some tags and of a span of time.

        Args:
          tags: None for all.
          start, end: a datetime64 or datetime in UTC, or a text as of tagbus
            rec convert --from: "+90s" after the beginning, "15:04:05".
        """
        program = os.environ.get("TAGBUS_PROGRAM") or shutil.which("tagbus")
        if not program:
            raise _errors.Error("recordings are read by the command tagbus, which is not on the PATH: install it, or set TAGBUS_PROGRAM")
        words = [program, "rec", "convert", "--to", "csv", "--out", "-"]
        for flag, value in (("--tags", tags), ("--from", start), ("--until", end)):
            if value is not None:
                words.append(f"{flag}={tag_set(value) if flag == '--tags' else _time(value)}")
        rows, data, lost = [], bytearray(), 0
        with subprocess.Popen(
            [*words, "--", *self._paths], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as p:
            assert p.stdout is not None and p.stderr is not None
            with io.TextIOWrapper(p.stdout, "utf-8", newline="") as table:
                for row in csv.reader(table):
                    if row[1] == "message":
                        data += bytes.fromhex(row[8])
                        row[8] = ""
                        rows.append(row)
                    elif row[1] == "gap":
                        lost += int(row[9] or 0)
            said = p.stderr.read().decode("utf-8", "replace")
        if p.returncode != 0 and not (p.returncode == 1 and said.startswith("no message")):
            raise _errors.Error(f"{' '.join(self._paths)} cannot be read: {said.strip()}")
        return Recorded(rows, bytes(data), lost)


def _time(value: Any) -> str:
    return value if isinstance(value, str) else f"{np.datetime64(value, 'ns')}Z"

# SPDX-License-Identifier: Apache-2.0
"""Recordings, as arrays of numpy."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import tempfile
from array import array
from typing import IO, Any, List, Optional

from . import _errors
from ._batch import _frozen, _need_numpy
from ._options import Tags, tag_set

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]


_MOST = 64 << 10  # of a line of a gap, whose last cell is a text that may be long


class Recorded:
    """Messages of a recording, in the order of time.

    Attributes:
      times: when they were received, datetime64[ns] in UTC.
      tags, counters, status, sizes: arrays with an item for each message.
      lost: how many messages the gaps in the recording stand for.
    """

    def __init__(self, table: IO[str]):
        times: List[str] = []
        columns = tags, counters, status, sizes = array("Q"), array("Q"), array("B"), array("L")
        data, self.lost = bytearray(), 0
        for line in table:
            kind = line.split(",", 2)[1]
            if kind == "message":
                # The data stands apart: a cell that csv takes has 128 KiB at most. Nothing follows it.
                head, payload, *_ = line.rsplit(",", 4)
                row = next(csv.reader([head]))
                times.append(row[0].rstrip("Z"))
                for column, cell in zip(columns, (int(row[2], 16), int(row[5]), int(row[6]), int(row[7]))):
                    column.append(cell)
                data += bytes.fromhex(payload)
            elif kind == "gap":
                self.lost += int(next(csv.reader([line[:_MOST]]))[9] or 0)
        self.times = np.array(times, "datetime64[ns]")
        self.tags, self.counters = np.array(tags, np.uint64), np.array(counters, np.uint64)
        self.status, self.sizes = np.array(status, np.uint8), np.array(sizes, np.uint32)
        self.page = _frozen(np.frombuffer(bytes(data), np.uint8))
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
        Raises:
          Error: it is damaged, or not whole, also if that has none of these
            messages.
        """
        program = os.environ.get("TAGBUS_PROGRAM") or shutil.which("tagbus")
        if not program:
            raise _errors.Error("recordings are read by the command tagbus, which is not on the PATH: install it, or set TAGBUS_PROGRAM")
        words = [program, "rec", "convert", "--to", "csv", "--out", "-"]
        for flag, value in (("--tags", tags), ("--from", start), ("--until", end)):
            if value is not None:
                words.append(f"{flag}={tag_set(value) if flag == '--tags' else _time(value)}")
        # What it says goes to a file: a pipe that is not read while the table is would stop it.
        with tempfile.TemporaryFile() as said:
            with subprocess.Popen([*words, "--", *self._paths], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said) as p:
                assert p.stdout is not None
                with io.TextIOWrapper(p.stdout, "utf-8", newline="\n") as table:
                    recorded = Recorded(table)
            said.seek(0)
            text = said.read().decode("utf-8", "replace")
        if p.returncode != 0 and not (p.returncode == 1 and _is_empty(text)):
            raise _errors.Error(f"{' '.join(self._paths)} cannot be read: {text.strip()}")
        return recorded


def _is_empty(text: str) -> bool:
    """Return whether the command says that there is no message, what it has written, and nothing else: no damage."""
    return text.startswith("no message") and text.count("\n") == 2


def _time(value: Any) -> str:
    return value if isinstance(value, str) else f"{np.datetime64(value, 'ns')}Z"

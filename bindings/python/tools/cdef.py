#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write tagbus/_cdef.py, the declarations of tagbus.h that cffi reads.

    tools/cdef.py          write it
    tools/cdef.py --check  end with status 1 if it is not that of the header
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parent.parent / "c" / "tagbus.h"
OUT = HERE.parent / "tagbus" / "_cdef.py"


def declarations(header):
    """Return what cffi can read of the text of the header."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    text = re.sub(r"//.*", "", text)
    version = re.search(r'#define TAGBUS_VERSION "([^"]+)"', text).group(1)
    request = re.search(r"#define TAGBUS_REQUEST\s+\d+", text).group(0)
    # The writer is inline functions, which no library exports.
    text = text[: text.index("typedef struct tagbus_writer")]
    lines = []
    for line in text.splitlines():
        if line.startswith("#") or line.startswith('extern "C"'):
            continue
        line = re.sub(r"\bTAGBUS_API\s+", "", line).rstrip()
        if line:
            lines.append(line)
    return version, "\n".join([request] + lines)


def generated():
    """Return the text of tagbus/_cdef.py."""
    version, cdef = declarations(HEADER.read_text(encoding="utf-8"))
    return (
        "# SPDX-License-Identifier: Apache-2.0\n"
        '"""The declarations of tagbus.h; written by tools/cdef.py."""\n\n'
        f'VERSION = "{version}"\n\nCDEF = """\n{cdef}\n"""\n'
    )


def main():
    if sys.argv[1:] == ["--check"]:
        if OUT.read_text(encoding="utf-8") != generated():
            sys.exit(f"{OUT} is not that of {HEADER}: run {sys.argv[0]}")
        return
    OUT.write_text(generated(), encoding="utf-8")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Makes the page one file, and that two C arrays: what comes before the data, and what after it.

    join.py PAGE.html STYLE.css SCRIPT.js... OUT.c

The scripts are modules that import from one another by name alone: joined in this order they need
none of their import lines, and no export either.
"""
import re
import sys

PLACE = "@DATA@"


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def read_module(path):
    text = re.sub(r"^import\s[^;]*;\n", "", read(path), flags=re.MULTILINE)
    return re.sub(r"^export (?=(async )?(function|class|const|let)\b)", "", text, flags=re.MULTILINE)


def write_array(out, name, text):
    data = text.encode("utf-8")
    lines = [",".join(str(byte) for byte in data[i:i + 32]) for i in range(0, len(data), 32)]
    out.write(f"const char {name}[] = {{\n" + ",\n".join(lines) + f"}};\n"
              f"const size_t {name}_size = {len(data)};\n")


def main():
    page, style, *scripts, target = sys.argv[2 if sys.argv[1].endswith(".py") else 1:]
    text = read(page).replace("@STYLE@", read(style))
    head, tail = text.replace("@SCRIPT@", "\n".join(map(read_module, scripts))).split(PLACE)
    with open(target, "w", encoding="utf-8") as out:
        out.write('#include "view/view_page.h"\n')
        write_array(out, "view_page_head", head)
        write_array(out, "view_page_tail", tail)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Makes the page one file, and that two C arrays: what comes before the profile, and what after it.

    join.py PAGE.html OUT.c STYLE.css SCRIPT.js...
"""
import sys

PLACE = "@PROFILE@"


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def write_array(out, name, text):
    data = text.encode("utf-8")
    lines = [",".join(str(byte) for byte in data[i:i + 32]) for i in range(0, len(data), 32)]
    out.write(f"const char {name}[] = {{\n" + ",\n".join(lines) + f"}};\n"
              f"const size_t {name}_size = {len(data)};\n")


def main():
    page, target, style, *scripts = sys.argv[1:]
    text = read(page).replace("@STYLE@", read(style))
    head, tail = text.replace("@SCRIPT@", "\n".join(map(read, scripts))).split(PLACE)
    with open(target, "w", encoding="utf-8") as out:
        out.write('#include "render/flame_page.h"\n')
        write_array(out, "flame_page_head", head)
        write_array(out, "flame_page_tail", tail)


main()

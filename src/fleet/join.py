#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Makes a C file of the migrations, so that the program has them.

    join.py OUTPUT NNNN-NAME.sql...
"""
import os
import re
import sys


def literal(text):
    """The text as C string literals, a line each."""
    return "\n".join('\t"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'
                     for line in text.splitlines())


def main():
    rows = []
    for path in sorted(sys.argv[2:], key=os.path.basename):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        needs = re.search(r"^-- needs: (\d+)\.(\d+)$", text, re.M)
        number = int(os.path.basename(path).partition("-")[0])
        needed = int(needs[1]) * 1000 + int(needs[2]) if needs else 0
        rows.append(f"\t{{{number}, {needed},\n{literal(text)}}},")
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write('#include "fleet/schema_sql.h"\n\n'
                  "const struct schema_migration schema_migrations[] = {\n" + "\n".join(rows) +
                  f"\n}};\nconst size_t schema_migration_count = {len(rows)};\n")


main()

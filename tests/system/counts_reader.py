# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Prints how often the first instructions of functions ran, as a database counts it, for counts.sh.

    counts_reader.py DUMP DB FILE FUNCTION...
"""
import json
import subprocess
import sys

def main():
    dump, db, file, *names = sys.argv[1:]
    text = subprocess.run([dump, db], check=True, stdout=subprocess.PIPE).stdout
    edges = [edge for part in json.loads(text) for edge in part.get("edges", ())
             if part["event"] == "executions" and part["path"].endswith("/" + file.rsplit("/", 1)[1])]
    lines = subprocess.run(["nm", file], check=True, stdout=subprocess.PIPE).stdout.decode()
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in lines.splitlines() if len(line.split()) == 3}
    for name in names:
        print(name, sum(count for _, target, count, *_ in edges if target == symbols[name]))


main()

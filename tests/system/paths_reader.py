# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Holds the paths of one database against the executions of another of the same run, for paths.sh.

    paths_reader.py DUMP PATHS_DB COUNTS_DB FILE [FUNCTION...]

Of each block of FILE (or of its functions FUNCTION alone) the paths through it add up to how often it was
executed. Prints what differs, or 'equal'; then 'enough', if there were any.
"""
import collections
import json
import subprocess
import sys


def parts(dump, db, file):
    text = subprocess.run([dump, db], check=True, stdout=subprocess.PIPE).stdout
    return [part for part in json.loads(text) if part.get("path", "").rsplit("/", 1)[-1] == file.rsplit("/", 1)[-1]]


def main():
    dump, paths_db, counts_db, file, *names = sys.argv[1:]
    lines = subprocess.run(["nm", file], check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    entries = {int(line.split()[0], 16) for line in lines if len(line.split()) == 3 and line.split()[2] in names}
    blocks = collections.Counter()
    paths = 0
    for part in parts(dump, paths_db, file):
        for function, starts, _end, _to, count in part.get("paths", ()):
            if names and function not in entries:
                continue
            paths += 1
            for start in starts:
                blocks[start] += count
    executed = collections.Counter()
    for part in parts(dump, counts_db, file):
        for _start, target, count, *_ in part.get("edges", ()):
            if part["event"] == "executions" and target in blocks:
                executed[target] += count
    wrong = [f"{start:#x}: {blocks[start]} by paths, executed {executed[start]} times"
             for start in sorted(blocks) if blocks[start] != executed[start]]
    print("\n".join(wrong[:10]) or "equal")
    print("enough" if paths > 0 and len(blocks) > 1 else f"{paths} paths, {len(blocks)} blocks")


main()

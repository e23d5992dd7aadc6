#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What BOLT makes of an exported profile of a real program, culprit itself: linked again with relocations,
recorded while it sums up a recording, laid out again, and timed against what it was, in alternation."""
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
CULPRIT, BOLT = os.path.join(BUILD, "culprit"), "/usr/lib/llvm-16/bin"
LOAD, PLAIN = os.path.join(TMP, "load.db"), os.path.join(TMP, "plain")
PAIRS = 3 if QUICK else 11


def run(*argv, **keywords):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=True, **keywords).stdout.decode()


def cpu_seconds(program):
    before = os.times()
    run(program, "summary", "-i", LOAD)
    return os.times().children_user - before.children_user


def link():
    """The program once more, by its own command, with relocations kept for BOLT."""
    command = run("ninja", "-t", "commands", "culprit", cwd=BUILD).splitlines()[-1]
    run("sh", "-c", command.replace(" -o culprit ", f" -Wl,-q -o {PLAIN} ", 1), cwd=BUILD)


def lay_out():
    """Records it, and has BOLT make PLAIN.bolt; what BOLT says of the profile."""
    database, data = PLAIN + ".db", PLAIN + ".fdata"
    run(PLAIN, "record", "-q", "-F", "4000", "--edges", "--budget", "20", "-o", database, "--", PLAIN,
        "summary", "-i", LOAD)
    run(CULPRIT, "export", "-i", database, "--image", PLAIN, "--bolt-fdata", data)
    said = run(BOLT + "/llvm-bolt", PLAIN, "-o", PLAIN + ".bolt", "-data", data,
               "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort+", "-split-functions")
    return [line for line in said.splitlines() if "execution profile" in line or "stale" in line]


def main():
    what = "summary by culprit as BOLT lays it out"
    if not os.access(BOLT + "/llvm-bolt", os.X_OK):
        measure.row(what, "s CPU", "-", "as linked", "-")
        measure.note("bolt-16 is not installed")
        return
    # The module for costs stands beside the built program, which the copies do not.
    os.environ["CULPRIT_LLVM_MODULE"] = os.path.join(BUILD, "src", "machine", "culprit-llvm.so")
    run(CULPRIT, "record", "-q", "-a", "-F", "4000", "--edges", "-o", LOAD, "--", "sh", "-c",
        "for i in 1 2 3; do python3 -c 'import json, decimal, email.mime.text'; ls -lR /usr/lib; done")
    link()
    for line in lay_out():
        measure.note(line)
    pairs = [(cpu_seconds(PLAIN), cpu_seconds(PLAIN + ".bolt")) for _ in range(PAIRS)]
    ratios = [b / a for a, b in pairs]
    measure.row(what, "s CPU", statistics.median(b for _, b in pairs), "as linked",
                statistics.median(a for a, _ in pairs))
    measure.note(f"ratio {measure.spread(ratios)}; faster in {sum(r < 1 for r in ratios)} of "
                 f"{len(ratios)} pairs")


main()

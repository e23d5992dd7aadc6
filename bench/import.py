#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Import of perf.data files of 100 MB against `perf report --stdio` on the same, in turn: with call
chains and without. Ours ends with everything in a database; perf's with its text."""
import os
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
CULPRIT = os.path.join(BUILD, "culprit")
BYTES = (20 if QUICK else 100) * 1000000
SECONDS, REPEAT = (4, 1) if QUICK else (15, 3)
LOAD = """
import json, re, time
data = [{"k%d" % i: [i, str(i), {"x": i * 1.5}]} for i in range(300)]
def text(n):
    return json.dumps(data, indent=1) if n == 0 else text(n - 1)
end = time.monotonic() + """ + str(SECONDS) + """
while time.monotonic() < end:
    json.loads(text(12))
    re.sub("k([0-9]+)", "q", text(3))
"""


def record(name, *options):
    """What a few seconds gave, repeated until it is long enough."""
    short, long = os.path.join(TMP, "short.data"), os.path.join(TMP, name)
    subprocess.run(["perf", "record", "-q", "-e", measure.EVENT, "-F", "10000", "-o", short, *options,
                    "--", sys.executable, "-c", LOAD], check=True, stderr=subprocess.DEVNULL)
    copies = max(1, round(BYTES / os.path.getsize(short)))
    samples = int(subprocess.run([os.path.join(BUILD, "bench", "day-perf"), short, long, str(copies)],
                                 check=True, stdout=subprocess.PIPE, text=True).stdout)
    os.unlink(short)
    return long, samples


def compare(what, *options):
    path, samples = record("long.data", *options)
    db = os.path.join(TMP, "db")
    ours, theirs = [], []
    for _ in range(REPEAT):
        ours.append(measure.timed(CULPRIT, "import", "-q", path, "-o", db))
        shutil.rmtree(db)
        theirs.append(measure.timed("perf", "report", "--stdio", "-i", path))
    for column, unit, goal in ((1, "s", "5 s; 0.2 of perf's"), (0, "s CPU", "-"), (2, "MB", "-")):
        mine, other = ([run[column] for run in runs] for runs in (ours, theirs))
        measure.row(f"import of {os.path.getsize(path) / 1e6:.0f} MB {what}, {samples / 1e6:.2f} M "
                    "samples", unit, statistics.median(mine), "perf report", statistics.median(other),
                    goal)
        measure.note(f"import {what}, {unit}: {measure.spread(mine)}; perf report "
                     f"{measure.spread(other)}")
    os.unlink(path)


def main():
    compare("with chains", "-g")
    compare("without")


main()

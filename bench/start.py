#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What a recording costs at its start: wall time until the command begins, and CPU time of a recording of
nothing, from start to end; into a new database and into the same again, with the cost of an interrupt
measured and remembered. In turn, with `perf record` of the same.

BASE=/path/to/another/build measures that one beside, for a change's before and after.
"""
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from measure import alternate, arguments, median, note, row, spread  # noqa: E402

build, scratch, quick = arguments()
MEASURED = "/var/cache/culprit/measured"
# What it runs: says when it began.
COMMAND = ["date", "+%s%N"]


def forget():
    """What an interrupt costs, not where samples land, which is measured once for each kernel."""
    for name in os.listdir(MEASURED) if os.path.isdir(MEASURED) else []:
        path = os.path.join(MEASURED, name)
        with open(path, encoding="utf-8", errors="replace") as f:
            cost = f.read().startswith("culprit interrupt ")
        if cost:
            os.unlink(path)


class Start:
    def __init__(self, argv):
        begin, end = os.pipe()
        with open(os.path.join(scratch, "start.log"), "wb") as log:
            started = time.time_ns()
            pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=[
                (os.POSIX_SPAWN_DUP2, end, 1), (os.POSIX_SPAWN_DUP2, log.fileno(), 2)])
            _, status, usage = os.wait4(pid, 0)
        os.close(end)
        with open(begin, encoding="ascii") as f:
            said = f.read().split()
        if status or not said:
            sys.exit(f"{' '.join(argv)}: status {status}")
        self.begin_ms = (int(said[0]) - started) / 1e6
        self.cpu_ms = (usage.ru_utime + usage.ru_stime) * 1e3


def start(kind, _number):
    if kind == "perf":
        return Start(["perf", "record", "-q", "-B", "-e", "cpu-clock", "-o", scratch + "/perf.data",
                      "--", *COMMAND])
    built, database, cost = kind
    path = os.path.join(scratch, "again.db" if database == "same database" else "new.db")
    shutil.rmtree(scratch + "/new.db", ignore_errors=True)
    if cost == "measured":
        forget()
    return Start([os.path.join(built, "culprit"), "record", "-q", "-e", "cpu-clock", "-o", path, "--",
                  *COMMAND])


def main():
    builds = [build] + ([os.path.abspath(os.environ["BASE"])] if "BASE" in os.environ else [])
    kinds = [(b, database, cost) for b in builds
             for database, cost in (("same database", "remembered"), ("same database", "measured"),
                                    ("new database", "remembered"))]
    for kind in kinds:
        start(kind, 0)
    found = alternate(kinds + ["perf"], 3 if quick else 9, start)
    theirs = found["perf"]
    for kind in kinds:
        runs = found[kind]
        what = f"{kind[1]}, interrupt {kind[2]}" + ("" if kind[0] == build else ", BASE")
        row(f"until the command begins, {what}", "ms", median(runs, "begin_ms"), "perf",
            median(theirs, "begin_ms"), "300" if kind[2] == "remembered" else "-")
        row(f"CPU from start to end, {what}", "ms", median(runs, "cpu_ms"), "perf",
            median(theirs, "cpu_ms"))
        note(f"{what}: begins after {spread([r.begin_ms for r in runs])} ms, CPU "
             f"{spread([r.cpu_ms for r in runs])} ms")


main()

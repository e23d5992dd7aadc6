#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""CPU time of recording the whole machine and of the first ranked table of it, together, against `perf record -a` and
`perf report --stdio`: at 100 Hz, 1 kHz and 4 kHz, of builds, an idle machine and a server. Ours as it comes, with
stacks, beside perf with frame pointers (-g); and without them, beside perf without. Into a new database, with caches
that three short recordings of the same load filled, since a program costs more the first times it is seen.

    bench/run BUILD [--quick] end_to_end    60 s each, 40 minutes; --quick: 5 s at 1 kHz, 3 minutes
    SECONDS=20 RATES=1000 LOADS=builds,server REPEAT=3 bench/run BUILD end_to_end    in turn, and medians
"""
import os
import shutil
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import loads  # pylint: disable=wrong-import-position
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
SECONDS = float(os.environ.get("SECONDS", 5 if QUICK else 60))
REPEAT = int(os.environ.get("REPEAT", 1))
FILLING, FILLING_SECONDS = 3, 3 if QUICK else 10
RATES = [int(r) for r in os.environ.get("RATES", "1000" if QUICK else "100,1000,4000").split(",")]
LOADS = {"builds": loads.build_argv(BUILD, TMP, 40), "an idle machine": None,
         "a server": loads.server_argv(BUILD, 100000)}
KINDS = {"as it comes": ([], ["-g"]), "without stacks": (["--no-stacks"], [])}


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def ours(hz, options, seconds=SECONDS):
    path = os.path.join(TMP, "db")
    remove(path)
    program = os.path.join(BUILD, "culprit")
    record = measure.timed(program, "record", "-a", "-q", "-e", measure.EVENT, "-F", str(hz), "-o", path, *options,
                           "--", "sleep", str(seconds))[0]
    return record, measure.timed(program, "prof", "-i", path)[0]


def theirs(hz, options):
    path = os.path.join(TMP, "perf.data")
    remove(path)
    record = measure.timed("perf", "record", "-a", "-q", "-e", measure.EVENT, "-F", str(hz), "-o", path, *options,
                           "--", "sleep", str(SECONDS))[0]
    # The first table: not the chains below each of its rows.
    flat = ["-g", "none", "--no-children"] if options else []
    table = os.path.join(TMP, "table")
    report = measure.timed("sh", "-c", f'exec "$@" >{table}', "sh", "perf", "report", "--stdio", "-i", path, *flat)[0]
    with open(table, encoding="utf-8", errors="replace") as f:
        if "%" not in f.read():
            measure.note(f"perf report at {hz} Hz printed no row; {measure.PERF_CRASHES}")
    return record, report


def compare(name, hz, kind):
    own, other = KINDS[kind]
    runs = [(ours(hz, own), theirs(hz, other)) for _ in range(REPEAT)]
    a, b = ([statistics.median(run[who][part] for run in runs) for part in (0, 1)] for who in (0, 1))
    perf = " ".join(["perf", *other])
    measure.row(f"record and prof of {name}, {hz} Hz, {kind}", "s CPU", sum(a), perf, sum(b), "0.5")
    measure.note(f"{name}, {hz} Hz, {kind}, {REPEAT} x {SECONDS:g} s: record {a[0]:.3f}, prof {a[1]:.3f}; "
                 f"{perf} record {b[0]:.3f}, report {b[1]:.3f} s of CPU")


def main():
    wanted = os.environ.get("LOADS")
    for name, argv in LOADS.items():
        if wanted and not any(word in name for word in wanted.split(",")):
            continue
        with loads.Forever(argv):
            for _ in range(FILLING):
                ours(1000, [], FILLING_SECONDS)
            for hz in RATES:
                for kind in KINDS:
                    compare(name, hz, kind)


main()

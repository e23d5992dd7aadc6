#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""CPU time of the collector per 1000 samples against perf record -a at the same event and rate, as
the rate and the number of processes grow, while processes live long and while they come and go. As
it comes, with stacks; and without, which is what perf does here."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
OURS = ["culprit", "culprit --no-stacks"]
KINDS = OURS + ["perf"] + ([] if QUICK else ["perf -z"])
SECONDS, REPEAT = (3, 1) if QUICK else (4, 3)


def work(processes, percent=80):
    return [os.path.join(BUILD, "bench", "load"), str(processes), "600", str(percent)]


COMPILE = ["sh", "-c", "while :; do echo 'int main(void) { return 0; }' | gcc -O2 -x c - "
           f"-o {TMP}/compiled; done"]


def compare(load, hz, kinds, repeat=REPEAT):
    def run(kind, number):
        out = os.path.join(TMP, f"out-{number}")
        r = measure.Run(kind, BUILD, hz, SECONDS, out)
        shutil.rmtree(out, ignore_errors=True)
        if os.path.isfile(out):
            os.remove(out)
        return r
    with measure.Load(load):
        return measure.alternate(kinds, repeat, run)


def show(name, found, goal, fields):
    for field, meaning in fields:
        for ours in OURS:
            for other in list(found)[len(OURS):]:
                measure.row(f"{meaning} per 1000 samples, {name}{ours.removeprefix('culprit')}",
                            "us", measure.median(found[ours], field), other,
                            measure.median(found[other], field), goal)
    measure.note(f"{name}: sampling thread, us per 1000 samples: " + "; ".join(
        f"{kind} {measure.spread([r.main for r in runs])}" for kind, runs in found.items()))
    crashed = [kind for kind, runs in found.items() if not all(r.ok for r in runs)]
    if crashed:
        measure.note(f"{name}: crashed at its end: {', '.join(crashed)}; {measure.PERF_CRASHES}")


STEADY = [("main", "CPU time, steady")]
ALL = STEADY + [("helpers", "helpers (symbols), steady")]


def start_and_end():
    """What a recording of a second costs beside its samples: into a new database, where symbols of
    every image are kept once, and into the same one again."""
    def run(kind, number):
        out = os.path.join(TMP, "again" if kind == "culprit again" else f"one-{number}-{kind}")
        if kind != "culprit again":
            shutil.rmtree(out, ignore_errors=True)
        return measure.Run(kind.removesuffix(" again"), BUILD, 1000, 1, out, settle=0.2)
    kinds = ["culprit", "culprit again", "perf"]
    with measure.Load(work(20)):
        run("culprit again", 0)
        found = measure.alternate(kinds, 1 if QUICK else 3, run)
    for kind in kinds[:2]:
        measure.row("a recording of 1.5 s, " + ("same database again" if "again" in kind else
                                                "new database"), "ms CPU",
                    measure.median(found[kind], "cpu_ms"), "perf",
                    measure.median(found["perf"], "cpu_ms"))


def main():
    start_and_end()
    for hz in [1000, 20000] if QUICK else [1000, 4000, 20000]:
        found = compare(work(20), hz, KINDS)
        show(f"20 processes, {hz} Hz", found, "0.1 of perf's",
             ALL)
    for processes in [1, 1000] if QUICK else [1, 100, 1000]:
        show(f"{processes} processes, 4000 Hz", compare(work(processes), 4000, KINDS[:3], 1 if QUICK else 2),
             "0.1 of perf's", STEADY)
    show("compilers, 4000 Hz", compare(COMPILE, 4000, KINDS), "0.1 of perf's", ALL)


main()

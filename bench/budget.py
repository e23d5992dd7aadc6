#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What a build, a server under load, a program that lives in the second-level cache and an idle machine lose beside
the daemon at a budget of 1% and of 0.3%: the same work without it, at the one and at the other, in turns. Wall time,
and CPU time of the work alone; of an idle machine the time that its CPUs are not idle. The median of paired
losses, with the interval of the sign test that holds it in 95% of such series: its error.

    bench/run BUILD [--quick] budget        22 rounds, some 35 minutes; --quick: 3 rounds and shorter work, 4 minutes
    PAIRS=50 LOADS=build,idle bench/run BUILD budget
"""
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import loads  # pylint: disable=wrong-import-position
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
PAIRS = int(os.environ.get("PAIRS", 3 if QUICK else 22))
BUDGETS = [1, 0.3]
SCALE = 1 if QUICK else 3
WORK = {"a build": loads.build_argv(BUILD, TMP, 20 * SCALE),
        "a server under load": loads.server_argv(BUILD, 40000 * SCALE),
        "a program in the second-level cache": loads.memory_argv(BUILD, 150 * SCALE),
        "an idle machine": None}
SETTLE_S = 2 if QUICK else 6  # at a start all that runs is new


class Daemon:
    """At a budget; 0: none, but the same pause. One database for all: what is new is new once."""

    def __init__(self, budget):
        self.budget = budget

    def __enter__(self):
        self.process = None
        if self.budget:
            self.process = subprocess.Popen(
                [os.path.join(BUILD, "culprit"), "daemon", "-o", os.path.join(TMP, "db"), "--socket", self.socket(),
                 "--budget", str(self.budget)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while self.process.poll() is None and not os.path.exists(self.socket()):
                time.sleep(0.05)
            if self.process.poll() is not None:
                sys.exit("the daemon does not run: culprit doctor says why")
        time.sleep(SETTLE_S if self.budget else 1)
        return self

    def socket(self):
        return os.path.join(TMP, "control")

    def status(self):
        out = subprocess.run([os.path.join(BUILD, "culprit"), "ctl", "--socket", self.socket(), "status"],
                             capture_output=True, text=True, check=True).stdout
        return dict(line.split(None, 1) for line in out.splitlines() if " " in line)

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait()


def not_idle_s():
    """Of all CPUs since the boot: exact where idle CPUs have no ticks."""
    with open("/proc/stat", encoding="ascii") as f:
        ticks = [int(t) for t in f.readline().split()[1:]]
    return -(ticks[3] + ticks[4]) / os.sysconf("SC_CLK_TCK")


def work(argv):
    """Wall and CPU seconds; of an idle machine the share of its time that was not idle, twice."""
    begin = time.monotonic()
    if argv is None:
        before = not_idle_s()
        time.sleep(2 * SCALE)
        wall = time.monotonic() - begin
        share = 1 + (not_idle_s() - before) / wall / measure.CPUS
        return share, share
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def interval(values):
    """Of the median, by the sign test: order statistics that hold it in at least 95% of series."""
    values, n = sorted(values), len(values)
    k, tail = 0, 0.0
    while True:
        tail += math.comb(n, k) / 2 ** n
        if 2 * tail > 0.05 or k >= n // 2:
            break
        k += 1
    least = max(k - 1, 0)
    return values[least], values[n - 1 - least], k > 0


def one(argv, budget):
    with Daemon(budget) as daemon:
        found = work(argv)
        status = daemon.status() if budget else {}
    return found, status


def losses(name, found, budget, which):
    """In percent of the work without; of an idle machine in percent of its time."""
    pairs = zip(found[budget], found[0])
    if name == "an idle machine":
        return [100 * (a[0][which] - b[0][which]) for a, b in pairs]
    return [100 * (a[0][which] / b[0][which] - 1) for a, b in pairs]


def show(name, found):
    for budget in BUDGETS:
        for which, what in enumerate(("", ", its CPU time alone")):
            if which and WORK[name] is None:
                continue
            values = losses(name, found, budget, which)
            low, high, sure = interval(values)
            measure.row(f"{name} loses at {budget}%{what}", "%", statistics.median(values), "-", "-",
                        f"{budget} at most")
            measure.note(f"{name} at {budget}%{what}: {statistics.median(values):.2f}% ({low:.2f} to {high:.2f}, "
                         f"{'95%' if sure else 'too few for 95%: least and most'}, {len(values)} pairs)")
        last = found[budget][-1][1]
        measure.note(f"{name} at {budget}%: the daemon says {float(last['budget_average_percent']):.2f}%: " + ", ".join(
            f"{key[len('budget_'):-len('_percent')]} {float(value):.2g}%" for key, value in last.items()
            if key.startswith("budget_") and key.endswith("_percent") and float(value) and
            key not in ("budget_percent", "budget_used_percent", "budget_average_percent")) +
            f"; {last['rate_hz']} Hz, an interrupt {float(last['interrupt_ns']) / 1e3:.3g} us")


def main():
    wanted = os.environ.get("LOADS")
    for name, argv in WORK.items():
        if wanted and not any(word in name for word in wanted.split(",")):
            continue
        one(argv, 1)  # what is new becomes known
        show(name, measure.alternate([0, *BUDGETS], PAIRS, lambda budget, _, argv=argv: one(argv, budget)))
    shutil.rmtree(os.path.join(TMP, "db"), ignore_errors=True)


main()

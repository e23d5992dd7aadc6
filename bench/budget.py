#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What a build, a server under load, a program that lives in the second-level cache and an idle machine lose beside
the daemon, at a budget of 1% and of 0.3%, on a machine that others use too. Two parts, each measured where it is:

- what the kernel does in the interrupts: thousands of slices of the load, in blocks of three in an order that is drawn,
  off, off again and with the daemon's events on (budget_slices.c), in CPU time. The first two against one another are
  the proof: they show zero within their error. Of the second-level cache and the server a slice is 1 ms with one
  interrupt in it, and what that costs is multiplied by how many there are; of a build it is one file compiled at the
  daemon's rate, and of an idle machine 50 ms.
- what the daemon's threads and workers take, exactly, by their CPU clocks, while the load runs as it likes.

What is paid once (symbols and tables of files never seen) is paid before, by a daemon without a budget, and told apart.

    bench/run BUILD [--quick] budget        some 20 minutes; --quick: 3 minutes
    LOADS=build,idle BUDGETS=1 bench/run BUILD budget
"""
import math
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import loads  # pylint: disable=wrong-import-position
import measure  # pylint: disable=wrong-import-position
import trimmed  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
BUDGETS = [float(b) for b in os.environ.get("BUDGETS", "1,0.3").split(",")]
WINDOW_S = 10  # BUDGET_WINDOW_NS
SETTLE, WINDOWS = (1, 1) if QUICK else (2, 4)  # of these
SLICE_MS = 1
IDLE_MS = 50
SEED = 20261122
IDLE = "an idle machine"
WORK = {"a build": (loads.build_argv(BUILD, TMP, 60), loads.compile_argv(BUILD), 12 if QUICK else 120),
        "a server under load": (loads.server_argv(BUILD, 200000), ["server", str(SLICE_MS)], 5 if QUICK else 30),
        "a program in the second-level cache": (loads.memory_argv(BUILD, 1000), ["memory", str(SLICE_MS)],
                                                5 if QUICK else 30),
        IDLE: (None, ["idle", str(IDLE_MS)], 5 if QUICK else 40)}


class Daemon:
    """Until the end of the block, with a database and a cache of the load's."""

    def __init__(self, *options):
        self.socket = os.path.join(TMP, "control")
        self.log = os.path.join(TMP, "daemon.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(BUILD, "culprit"), "daemon", "-o", os.path.join(TMP, "db"), "--socket", self.socket,
                 *options], stdout=log, stderr=log, env=dict(os.environ, CACHE_DIRECTORY=os.path.join(TMP, "cache")))

    def __enter__(self):
        while self.process.poll() is None and not os.path.exists(self.socket):
            time.sleep(0.05)
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8") as log:
                sys.exit(f"the daemon does not run: {log.read()}")
        return self

    def status(self):
        out = subprocess.run([os.path.join(BUILD, "culprit"), "ctl", "--socket", self.socket, "status"],
                             capture_output=True, text=True, check=True).stdout
        return dict(line.split(None, 1) for line in out.splitlines() if " " in line)

    def cpu_s(self):
        """Of the process, of its children and of those that have ended."""
        pid = self.process.pid
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            ended = f.read().rsplit(")", 1)[1].split()[13:15]
        total = sum(int(ticks) for ticks in ended) / os.sysconf("SC_CLK_TCK")
        for p in [pid, *measure.children_of(pid)]:
            try:
                total += time.clock_gettime_ns(~p << 3 | 2) / 1e9  # clock_getcpuclockid(3)
            except OSError:
                pass  # ended meanwhile, and counted the next time
        return total

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def pay_once(argv):
    """CPU seconds for the start and for what is new: beyond what goes on and on, by the daemon's own account."""
    with Daemon("-F", "200", "--budget", "100") as daemon, loads.Forever(argv):
        began = time.monotonic()
        time.sleep((SETTLE + 1) * WINDOW_S)
        on_and_on = float(daemon.status()["budget_collector_percent"]) / 100 * measure.CPUS
        return max(daemon.cpu_s() - on_and_on * (time.monotonic() - began), 0)


def watch(daemon):
    """The daemon's account of each window, in percent, with what it took by its clocks: of all CPUs."""
    found = []
    before, began = daemon.cpu_s(), time.monotonic()
    for _ in range(WINDOWS):
        time.sleep(WINDOW_S)
        after, ended = daemon.cpu_s(), time.monotonic()
        status = daemon.status()
        window = {key: float(status[f"budget_{key}_percent"])
                  for key in ("interrupts", "stacks", "windows", "programs", "ticks", "records", "collector")}
        window["daemon"] = 100 * (after - before) / (ended - began) / measure.CPUS
        # How many there were on a CPU at work, including those that draw new periods.
        window["hz"] = window["interrupts"] / 100 * 1e9 / float(status["interrupt_ns"])
        found.append(window)
        before, began = after, ended
    return {key: [w[key] for w in found] for key in found[0]}, status


def slices(pid, argv, seconds):
    """Blocks of three times in ns, of each CPU."""
    out = subprocess.run([os.path.join(BUILD, "bench", "budget-slices"), str(pid), str(seconds), str(SEED), *argv],
                         capture_output=True, text=True, cwd=loads.ROOT)
    if out.returncode:
        sys.exit(f"budget-slices: {out.stderr}")
    return [[float(ns) for ns in line.split()[1:]] for line in out.stdout.splitlines()]


def is_regular(block):
    """Neither too short for its interrupt nor long enough for two: the same rule for all its slices."""
    return min(block) > 0.75e6 * SLICE_MS and max(block) < 1.5e6 * SLICE_MS


def is_idle(block):
    """Nobody else ran for long: otherwise there is no idle machine to be measured."""
    return max(block) < 0.2e6 * IDLE_MS


def compare(name, blocks, rate):
    """What an interrupt cost in us, and the slices without against one another in percent of the CPU at that rate, each
    with its error; and of how many blocks."""
    if name == "a build":  # files take different times
        lost = [1e6 * math.log(b[2] / ((b[0] + b[1]) / 2)) / rate for b in blocks]
        proof = [100 * math.log(b[0] / b[1]) for b in blocks]
    else:
        blocks = [b for b in blocks if (is_idle if name == IDLE else is_regular)(b)]
        interrupts, part = (IDLE_MS / 1e3 * rate, IDLE_MS * 1e4) if name == IDLE else (1, 1e7 / rate)
        lost = [(b[2] - (b[0] + b[1]) / 2) / 1e3 / interrupts for b in blocks]
        proof = [(b[0] - b[1]) / part for b in blocks]
    return trimmed.mean(lost), trimmed.mean(proof), len(lost)


def pool(found):
    """One cost of values with half-widths, weighted by these: of an interrupt at each budget."""
    weights = [1 / half ** 2 if half > 0 else 0 for _, half in found]
    total = sum(weights)
    return (sum(w * value for w, (value, _) in zip(weights, found)) / total, total ** -0.5) if total else found[0]


def one(name, budget):
    """A load beside a daemon at a budget."""
    argv, sliced, seconds = WORK[name]
    with Daemon("--budget", str(budget)) as daemon:
        with loads.Forever(argv):
            time.sleep(SETTLE * WINDOW_S)
            windows, status = watch(daemon)
        began = float(daemon.status()["rate_hz"])
        blocks = slices(daemon.process.pid, sliced, seconds)
        rate = (began + float(daemon.status()["rate_hz"])) / 2
    if name == IDLE:  # no CPU at work to be interrupted
        windows["hz"] = [float(status["rate_hz"])]
    return windows, status, *compare(name, blocks, rate)


def show(name, budget, cost, windows, status, own, proof, pairs):
    if not pairs:
        measure.note(f"{name} at {budget:g}%: not measured, the machine was too busy: load {os.getloadavg()[0]:.0f}")
        return
    mean = {key: statistics.fmean(values) for key, values in windows.items()}
    interrupts, error = (c * mean["hz"] / 1e4 for c in cost)
    new = max(mean["daemon"] - mean["collector"], 0)
    daemon, spread = trimmed.mean(windows["collector"])
    # Ticks go on in all slices, so their program is charged by its own clock.
    kernel = mean["programs"] + mean["ticks"] + (0 if name == "a build" else mean["records"])
    total = interrupts + daemon + kernel
    measure.row(f"{name} loses at {budget:g}%", "%", total, "-", "-", f"{budget:g} at most")
    measure.note(f"{name} at {budget:g}%: {total:.2f}% +-{math.hypot(error, spread):.2f}: interrupts {interrupts:.3f} "
                 f"+-{error:.3f}, daemon {daemon:.3f} +-{spread:.3f}, its programs and records {kernel:.3f}; beside "
                 f"it {new:.3f} for tables and symbols of the new; off against off {proof[0]:+.3f} +-{proof[1]:.3f} "
                 f"({pairs} pairs)")
    account = ", ".join(f"{key} {mean[key]:.3f}" for key in ("interrupts", "stacks", "windows", "programs", "ticks",
                                                                     "records")
                        if mean[key] >= 5e-4)
    measure.note(f"{name} at {budget:g}%: {mean['hz']:.0f} interrupts a second of {cost[0]:.1f} +-{cost[1]:.1f} us (at "
                 f"this budget alone {own[0]:.1f} +-{own[1]:.1f}); the daemon's account: {account}; an interrupt "
                 f"{float(status['interrupt_ns']) / 1e3:.3g} us, rate {status['budget_rate_factor']} of the plan; load "
                 f"{os.getloadavg()[0]:.0f}")


def main():
    wanted = os.environ.get("LOADS")
    for name, (argv, _, _) in WORK.items():
        if wanted and not any(word in name for word in wanted.split(",")):
            continue
        measure.note(f"{name}: paid once {pay_once(argv):.1f} s of CPU")
        found = {budget: one(name, budget) for budget in BUDGETS}
        cost = pool([f[2] for f in found.values()])
        for budget in BUDGETS:
            show(name, budget, cost, *found[budget])
        for folder in ("db", "cache"):
            shutil.rmtree(os.path.join(TMP, folder), ignore_errors=True)


main()

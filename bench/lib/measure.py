# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What the benchmarks share: loads, collectors side by side, and precise CPU time.

CPU time is what the scheduler adds up in nanoseconds (/proc/PID/task/TID/schedstat, and the sum of
user and system time in rusage), never wall time. The kernel splits it into user and system by which
of them each timer tick met, so the parts are estimates where the sum is not.
"""
import os
import re
import signal
import statistics
import subprocess
import sys
import time

CPUS = os.cpu_count()
EVENT = "cpu-clock"
# A mistake of Linux (6.18 at least): where an event with attr.build_id sees a mapping first, the
# records of events without it are marked to have build-ids too, and perf reads nonsense.
PERF_CRASHES = "it does when another profiler asks for build-ids in the kernel's records meanwhile"


def row(what, unit, ours, reference, theirs, goal="-"):
    def text(value):
        return value if isinstance(value, str) else f"{value:.4g}"
    print("row", what, unit, text(ours), reference, text(theirs), goal, sep="\t", flush=True)


def note(text):
    print("note " + text, flush=True)


def spread(values):
    """Median, least and most, as text."""
    return (f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g} of "
            f"{len(values)})")


def tasks_of(pid):
    try:
        return [int(t) for t in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def children_of(pid):
    found = []
    for tid in tasks_of(pid):
        try:
            with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as f:
                found += [int(c) for c in f.read().split()]
        except OSError:
            pass
    return found


def task_times(pid, tid):
    """CPU time of a thread in seconds: all of it, and the user part by ticks."""
    try:
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
            total = int(f.read().split()[0]) / 1e9
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return total, int(fields[11]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0, 0


class Times:
    """CPU time of a collector: the thread that samples, and its helpers (threads and children)."""

    def __init__(self, pid):
        self.main, self.user = task_times(pid, pid)
        self.helpers = sum(task_times(pid, t)[0] for t in tasks_of(pid) if t != pid)
        self.helpers += sum(sum(task_times(c, t)[0] for t in tasks_of(c)) for c in children_of(pid))


def memory_kb(pid):
    """Resident memory of a process and its children, pages they share counted once."""
    total = 0
    for p in [pid] + children_of(pid):
        try:
            with open(f"/proc/{p}/smaps_rollup", encoding="ascii") as f:
                total += int(re.search(r"^Pss: *(\d+)", f.read(), re.M).group(1))
        except (OSError, AttributeError):
            pass
    return total


def bytes_of(path):
    """Bytes in a file, or in all files under a directory."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(path) for f in fs)


class Load:
    """A command that is something to sample; ends with the block."""

    def __init__(self, argv):
        self.argv = argv

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def collector_argv(kind, build, hz, out):
    if kind.startswith("culprit"):
        return [os.path.join(build, "culprit"), "record", "-a", "-q", "-e", EVENT, "-F", str(hz),
                "-o", out] + kind.split()[1:]
    # -B: reading build-ids from each file at the end is left out of perf's bill, not out of ours.
    return ["perf", "record", "-a", "-q", "-B", "-e", EVENT, "-F", str(hz), "-o", out] + \
        (["-z"] if kind == "perf -z" else [])


class Run:
    """A collector for a time: its CPU time between two looks, and from start to end."""

    def __init__(self, kind, build, hz, seconds, out, settle=2 if os.environ.get("CULPRIT_BENCH_QUICK") else 4):
        started = time.monotonic()
        self.kind, self.out = kind, out
        with open(out + ".log", "wb") as log:
            p = subprocess.Popen(collector_argv(kind, build, hz, out), stdout=log, stderr=log)
        # On a busy machine the start takes seconds.
        deadline = time.monotonic() + 20
        while not self.begun() and time.monotonic() < deadline and p.poll() is None:
            time.sleep(0.05)
        time.sleep(settle)
        before, at = Times(p.pid), time.monotonic()
        time.sleep(seconds)
        after, self.seconds = Times(p.pid), time.monotonic() - at
        self.resident_kb = memory_kb(p.pid)
        os.kill(p.pid, signal.SIGINT)  # Popen would reap one that has crashed
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = status
        self.ok = after.main > 0
        if not self.ok:
            note(f"{kind} at {hz} Hz ended before its time")
        self.ok &= not (os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGINT)
        # cpu-clock interrupts idle CPUs too, so the number is the rate's.
        self.samples = hz * CPUS * self.seconds
        self.whole_samples = hz * CPUS * (time.monotonic() - started)
        per = 1e6 / (self.samples / 1000)  # us per 1000 samples
        self.main = (after.main - before.main) * per
        self.user = (after.user - before.user) * per
        self.helpers = (after.helpers - before.helpers) * per
        self.cpu_ms = (usage.ru_utime + usage.ru_stime) * 1e3  # from start to end
        self.bytes = bytes_of(out)
        with open(out + ".log", encoding="utf-8", errors="replace") as f:
            counted = re.search(r"(\d+) samples", f.read())
        if counted and abs(int(counted.group(1)) / self.whole_samples - 1) > 0.25:
            note(f"{kind} at {hz} Hz took {counted.group(1)} samples where "
                 f"{self.whole_samples:.0f} were due")

    def begun(self):
        if not self.kind.startswith("culprit"):
            return os.path.exists(self.out)
        with open(self.out + ".log", encoding="utf-8", errors="replace") as f:
            return "culprit:" in f.read()


def alternate(kinds, repeat, run):
    """run(kind, number) in turn, so that drifts of the machine meet all; a list for each kind."""
    found = {kind: [] for kind in kinds}
    for i in range(repeat):
        for kind in kinds if i % 2 == 0 else reversed(kinds):
            found[kind].append(run(kind, i))
    return found


def median(runs, field):
    return statistics.median(getattr(r, field) for r in runs)


def timed(*argv):
    """CPU seconds, wall seconds and peak memory (MB) of a command."""
    start = time.monotonic()
    p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    if status:
        sys.exit(f"{argv[0]} {argv[1]} failed")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss / 1024


def arguments():
    """The build directory, the temporary directory, and whether to be quick."""
    build = os.path.abspath(sys.argv[1])
    return build, os.environ.get("TMPDIR", "."), bool(os.environ.get("CULPRIT_BENCH_QUICK"))

# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""culprit top on a terminal: python3 top.py CULPRIT CASE, while the program ./spin runs. ./spread is
started where many functions are needed."""
import os
import signal
import subprocess
import sys
import time

from terminal import Terminal

HOT = "spin_here"


def scratch_of(process):
    """The directory that a running top keeps its samples in."""
    for fd in os.listdir(f"/proc/{process.pid}/fd"):
        try:
            path = os.readlink(f"/proc/{process.pid}/fd/{fd}")
        except FileNotFoundError:
            continue
        if "/culprit-top." in path:
            head, tail = path.split("/culprit-top.")
            return head + "/culprit-top." + tail.split("/")[0]
    raise AssertionError("no temporary directory")


class Top:
    def __init__(self, *options, rows=24, columns=80, hot=HOT):
        self.terminal = Terminal([sys.argv[1], "top", "-d", "0.5", *options], rows, columns)
        self.terminal.wait_text(hot)
        assert self.terminal.alternate and not self.terminal.cursor
        self.scratch = scratch_of(self.terminal.process)

    def check_end(self):
        status = self.terminal.wait_end()
        assert status == 0, f"exit status {status}"
        self.terminal.check_restored()
        self.check_removed()

    def check_removed(self):
        assert not os.path.exists(self.scratch), f"{self.scratch} is left"


def case_keys(t):
    t.wait_text("samples/s", "lost 0", "unknown", "idle", "by function", "q end")
    t.press("v")
    t.wait_text("by image", "/spin")
    t.press("\t")
    t.wait_text("by thread", "command")
    t.press("v")
    t.wait_text("by subject", "comm=spin")
    t.press("v")
    t.wait_text("by function", HOT)
    t.press("s")
    t.wait_text("sorted by function")
    t.press("s")
    t.wait_for("by samples again", lambda s: "sorted by function" not in s and HOT in s)
    t.press("+")
    t.wait_text("every 1 s")
    t.press("-")
    t.wait_text("every 0.5 s")
    t.press("i")
    t.wait_text("with idle")
    t.press("h")
    t.wait_text("pause; again", "any key: back")
    t.press("h")
    t.wait_text(HOT, "q end")
    t.press("z")
    t.wait_text(HOT)


def case_filter(t):
    t.press("/no_such")
    t.wait_for("a filter that nothing matches",
               lambda s: "only /no_such/" in s and HOT not in s and "/no_such_" in s)
    t.press("\x7f" * 7 + "spin_h[e]")
    t.wait_text("only /spin_h[e]/", HOT)
    t.press("[")
    t.wait_text("not a regular expression", "only /spin_h[e]/")
    t.press("\x7f\r")
    t.wait_text("only /spin_h[e]/", "q end")
    t.press("\x1b")
    t.wait_for("no filter", lambda s: "only /" not in s and HOT in s)


def case_pause(t):
    t.press(" ")
    t.wait_text("PAUSED", HOT)
    while t.read(0.7):
        pass
    before = t.text()
    assert not t.read(1.5), "the picture moves in a pause"
    t.press("v")
    t.wait_text("PAUSED", "by image", "/spin")
    t.press("vvv")
    t.wait_for("what was seen before", lambda s: s == before)
    t.press(" ")
    t.wait_for("going on", lambda s: "PAUSED" not in s and HOT in s)


def case_scroll(t):
    t.wait_for("a full table", lambda s: len(s.splitlines()[-2].split()) > 3)
    t.press(" ")
    t.wait_text("PAUSED")
    first = t.lines()[3]
    t.press("\x1b[B")
    t.wait_for("the second row first", lambda s: s.splitlines()[3] != first)
    t.press("\x1b[F")
    t.wait_text("100.00")
    t.press("\x1b[H")
    t.wait_for("the first row", lambda s: s.splitlines()[3] == first)
    t.press("\x1b[6~\x1b[5~")
    t.wait_for("the first row", lambda s: s.splitlines()[3] == first)


def case_resize(t):
    t.press(" ")  # so that what is drawn is for the new size
    t.wait_text("PAUSED")
    for rows, columns in ((5, 20), (1, 1), (2, 7), (50, 200)):
        t.set_size(rows, columns)
        t.wait_for(f"a picture of {rows} by {columns}",
                   lambda s: s.strip() and not t.overflow and (columns < 200 or HOT in s))
        while t.read(0.7):
            pass
        assert not t.overflow, f"more than {rows} by {columns} holds"
    t.set_size(24, 80)
    t.wait_text(HOT, "q end")


def case_stop(t):
    t.press("\x1a")
    pid, status = os.waitpid(t.process.pid, os.WUNTRACED)
    assert pid and os.WIFSTOPPED(status), "Ctrl-Z does not stop it"
    while t.read(0):
        pass
    t.check_restored()
    t.process.send_signal(signal.SIGCONT)
    t.wait_for("the screen again", lambda s: t.alternate and HOT in s)


def run_keys(case, *options):
    top = Top(*options)
    case(top.terminal)
    top.terminal.press("q")
    top.check_end()


def run_scroll():
    """The program has more functions than the screen has rows."""
    with subprocess.Popen(["./spread"]) as spread:
        try:
            top = Top("-F", "1000", "-p", str(spread.pid), hot="spread_")
            case_scroll(top.terminal)
            top.terminal.press("q")
            top.check_end()
        finally:
            spread.kill()


def run_signal(number):
    top = Top()
    top.terminal.process.send_signal(number)
    top.check_end()


def run_interrupt():
    top = Top()
    top.terminal.press("\x03")
    top.check_end()


def run_hangup():
    top = Top()
    os.close(top.terminal.slave)
    os.close(top.terminal.master)
    assert top.terminal.process.wait(60) == 0
    top.check_removed()


def run_blocked():
    """A terminal that takes nothing any more does not keep it from ending."""
    top = Top(rows=200, columns=400)
    time.sleep(3)
    top.terminal.process.send_signal(signal.SIGTERM)
    assert top.terminal.process.wait(60) == 0
    top.check_removed()


def run_killed():
    """What one that was killed left is removed by the next, and that of one that runs is not."""
    killed, running = Top(), Top()
    killed.terminal.process.kill()
    killed.terminal.process.wait(60)
    assert os.path.exists(killed.scratch)
    lookalike = os.path.join(os.path.dirname(killed.scratch), "culprit-top.link42")
    os.symlink(os.path.abspath("kept"), lookalike)
    os.makedirs("kept/inside", exist_ok=True)
    try:
        for _ in range(100):  # its workers may live a moment longer
            Top("-n", "1").check_end()
            if not os.path.exists(killed.scratch):
                break
        killed.check_removed()
        assert os.path.exists(running.scratch), "that of one that runs is gone"
        assert os.path.lexists(lookalike) and os.path.exists("kept/inside")
    finally:
        os.unlink(lookalike)
    running.terminal.press("q")
    running.check_end()


def run_iterations():
    top = Top("-n", "3")
    top.check_end()


def run_process():
    top = Top("--per-process")
    top.terminal.press("vvvv")
    top.terminal.wait_text("by process", "spin")
    top.terminal.press("q")
    top.check_end()


def run_events():
    top = Top("-e", "cpu-clock", "-e", "page-faults")
    top.terminal.wait_text("cpu-clock every", "sorted by cpu-clock", "page-faults")
    top.terminal.press("s")
    top.terminal.wait_text("sorted by page-faults")
    top.terminal.press("s")
    top.terminal.wait_text("sorted by function")
    top.terminal.press("q")
    top.check_end()


CASES = {
    "keys": lambda: run_keys(case_keys),
    "filter": lambda: run_keys(case_filter),
    "pause": lambda: run_keys(case_pause),
    "scroll": run_scroll,
    "resize": lambda: run_keys(case_resize),
    "stop": lambda: run_keys(case_stop),
    "process": run_process,
    "events": run_events,
    "iterations": run_iterations,
    "killed": run_killed,
    "interrupt": run_interrupt,
    "terminate": lambda: run_signal(signal.SIGTERM),
    "hangup": run_hangup,
    "blocked": run_blocked,
}

CASES[sys.argv[2]]()

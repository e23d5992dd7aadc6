# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""culprit tui on a terminal: python3 tui.py CULPRIT CASE, of the database a.db of tui.sh."""
import os
import signal
import sys

from terminal import Terminal


class Tui:
    def __init__(self, *options, rows=24, columns=100, first="main"):
        self.terminal = Terminal([sys.argv[1], "tui", "-i", "a.db", *options], rows, columns)
        self.terminal.wait_text(first, "h help")
        assert self.terminal.alternate and not self.terminal.cursor

    def end(self, key="q"):
        self.terminal.press(key)
        self.check_end()

    def check_end(self):
        status = self.terminal.wait_end()
        assert status == 0, f"exit status {status}"
        self.terminal.check_restored()


def row(t, name):
    """The columns of the line of a scope."""
    return next(line.split() for line in t.lines()[2:] if name in line)


def names(t):
    return [line[24:].rstrip() for line in t.lines()[2:-1] if line.strip()]


def case_tree(t):
    t.wait_text("called from the start in, by total", "cycles")
    assert row(t, "main")[:3] == ["95.00", "0.00", "95"], row(t, "main")
    t.press(" ")
    t.wait_text("- main", "one", "two")
    t.press("j+")
    t.wait_text("leaf")
    assert row(t, "leaf")[0] == "73.00", row(t, "leaf")
    t.press("-")
    t.wait_for("one is closed", lambda s: "leaf" not in s)
    t.press("-")
    t.press("-")
    t.wait_for("main, which is around it, is closed", lambda s: "two" not in s and "+ main" in s)
    t.press("p")
    t.wait_text("small (inlined)", "- leaf")
    t.press("c")
    t.wait_for("all is closed", lambda s: "+ main" in s and "leaf" not in s)
    t.press("f")
    t.wait_for("flattened", lambda s: "flattened 1" in s and "one" in s and "+ main" not in s)
    t.press("u")
    t.wait_text("+ main")


def case_views(t):
    t.press("v")
    t.wait_text("called by, by self")
    assert names(t)[0].strip() == "+ small (inlined)", names(t)
    t.press(" ")
    t.wait_text("leaf")
    t.press("\t")
    t.wait_text("functions by image", "/app", "/gone/lib")
    t.press("f")
    t.wait_text("flattened 1", "leaf", "[no symbol]")
    t.press("ss")
    t.wait_text("by total")
    assert names(t)[0].strip() == "leaf", names(t)
    t.press("s")
    t.wait_text("by self")
    t.press("s")
    t.wait_text("by name")
    t.press("v")
    t.wait_text("called from the start in")


def case_search(t):
    t.press("/LEA\r")
    t.wait_text("leaf", "- main")
    t.press("n")
    t.wait_text("leaf")
    t.press("/nowhere\r")
    t.wait_text("nothing has 'nowhere' in its name")
    t.press("/x\x1b")
    t.wait_text("q end")


def case_code(t):
    t.press("v" "v" "/one\r\r")
    t.wait_text("one, source and instructions", "call", "leaf();")
    t.press("a")
    t.wait_for("instructions alone", lambda s: "one, instructions" in s and "call" in s and "leaf();" not in s)
    t.press("a")
    t.wait_for("source alone", lambda s: "one, source" in s and "leaf();" in s and "call " not in s)
    t.press("np\x1b[B\x1b[A\x1b[F\x1b[H")
    t.wait_text("one, source")
    t.press("h")
    t.wait_text("the next hot line", "note: ")
    t.press("x")
    t.wait_text("one, source")
    t.press("q")
    t.wait_text("functions by image")
    t.press("/gone\r\r")
    t.wait_text("this has no code of its own to show")


def case_hostile(t):
    t.press("/evil\r")
    t.wait_text("evil\\x1b[31m")
    t.press("v")
    t.wait_text("called by")
    t.press("v")
    t.wait_text("functions by image")


def case_resize(t):
    t.press("p")
    t.wait_text("small")
    for rows, columns in ((5, 20), (1, 1), (2, 7), (3, 30), (50, 200)):
        t.set_size(rows, columns)
        t.wait_for(f"a picture of {rows} by {columns}",
                   lambda s: s.strip() and not t.overflow and (columns < 200 or "small" in s))
        while t.read(0.5):
            pass
        assert not t.overflow, f"more than {rows} by {columns} holds"
    t.set_size(24, 80)
    t.wait_text("small", "q end")


def case_stop(t):
    t.press("\x1a")
    pid, status = os.waitpid(t.process.pid, os.WUNTRACED)
    assert pid and os.WIFSTOPPED(status), "Ctrl-Z does not stop it"
    while t.read(0):
        pass
    t.check_restored()
    t.process.send_signal(signal.SIGCONT)
    t.wait_for("the screen again", lambda s: t.alternate and "main" in s)


def run(case, *options):
    tui = Tui(*options)
    case(tui.terminal)
    tui.end()


def run_flat():
    """Without stacks only one view is there."""
    tui = Tui("--event", "misses", first="/app")
    tui.terminal.wait_text("functions by image")
    tui.terminal.press("v")
    tui.terminal.wait_text("there are no stacks")
    tui.end("\x03")


def run_hangup():
    tui = Tui()
    os.close(tui.terminal.slave)
    os.close(tui.terminal.master)
    assert tui.terminal.process.wait(60) == 0


def run_terminate():
    tui = Tui()
    tui.terminal.process.send_signal(signal.SIGTERM)
    tui.check_end()


CASES = {
    "tree": lambda: run(case_tree),
    "views": lambda: run(case_views),
    "search": lambda: run(case_search),
    "code": lambda: run(case_code),
    "hostile": lambda: run(case_hostile),
    "resize": lambda: run(case_resize),
    "stop": lambda: run(case_stop),
    "flat": run_flat,
    "hangup": run_hangup,
    "terminate": run_terminate,
}

CASES[sys.argv[2]]()

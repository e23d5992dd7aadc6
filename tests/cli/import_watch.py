# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Imports from a pipe whose other end is held here, on a terminal.

    import_watch.py CULPRIT RECORDS CASE
"""
import os
import signal
import subprocess
import sys
import time

from terminal import LIMIT_S, Terminal

CULPRIT = sys.argv[1]
with open(sys.argv[2], "rb") as records:
    RECORDS = records.read()


class Import:
    """An import that has got the records, and waits for more."""

    def __init__(self, db):
        self.db, fifo = db, db + ".fifo"
        os.mkfifo(fifo)
        self.end = os.open(fifo, os.O_RDWR)
        self.terminal = Terminal(["sh", "-c", 'exec "$0" import - -o "$1" <"$2"', CULPRIT, db, fifo])
        os.write(self.end, RECORDS)
        self.terminal.wait_text("culprit: -: reading, 0 MB")

    def finish(self, echoed=False):
        status = self.terminal.wait_end()
        screen = self.terminal.text()
        # What the terminal shows of keys may have pushed the line up.
        assert echoed or "reading, 0 MB" not in screen, screen
        self.terminal.check_restored()
        session = str(self.terminal.process.pid)
        left = subprocess.run(["pgrep", "-s", session], stdout=subprocess.PIPE, check=False).stdout
        assert not left, f"left behind: {left}"
        return status, screen

    def stored(self):
        found = subprocess.run([CULPRIT, "epochs", "-i", self.db], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, check=False)
        return found.returncode == 0 and "Z" in found.stdout


def ctrl_c_that_ended_the_recording():
    i = Import("whole.db")
    i.terminal.press("\x03")
    time.sleep(0.5)
    assert i.terminal.process.poll() is None, "the first Ctrl-C is for who writes"
    os.close(i.end)
    status, screen = i.finish()
    assert status == 0 and "lost 7, unknown 2" in screen, (status, screen)
    assert i.stored(), "nothing is stored"


def ctrl_c_again():
    i = Import("stopped.db")
    end = time.monotonic() + LIMIT_S
    while i.terminal.process.poll() is None:
        assert time.monotonic() < end, "Ctrl-C does not end it"
        i.terminal.press("\x03")
        time.sleep(0.5)
        i.terminal.read(0)
    status, screen = i.finish(echoed=True)
    assert status == -signal.SIGINT and "-: stopped; nothing was stored" in screen, (status, screen)
    assert not i.stored(), "something is stored"


def a_signal():
    i = Import("ended.db")
    i.terminal.process.send_signal(signal.SIGTERM)
    status, screen = i.finish()
    assert status == -signal.SIGTERM and "nothing was stored" in screen, (status, screen)
    assert not i.stored(), "something is stored"


globals()[sys.argv[3]]()

# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A program on a terminal of its own, its screen as a person would see it, for tests.

It knows the sequences that culprit uses and refuses all others. Waiting is for a condition; the
time limit only ends a test that has failed.
"""
import codecs
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time

LIMIT_S = 60
SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Terminal:
    def __init__(self, command, rows=24, columns=80):
        self.master, self.slave = os.openpty()
        self.alternate = False
        self.cursor = True
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.rest = ""
        self.set_size(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=self.environment(),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    @staticmethod
    def environment():
        env = dict(os.environ, TERM="xterm")
        env.pop("COLUMNS", None)
        return env

    def set_size(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.clear()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def clear(self):
        self.cells = [[" "] * self.columns for _ in range(self.rows)]
        self.row = self.column = 0
        self.overflow = False

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.lines())

    def _put(self, c):
        if c == "\r":
            self.column = 0
        elif c == "\n":
            self.row = min(self.row + 1, self.rows - 1)
        elif self.column >= self.columns or self.row >= self.rows:
            self.overflow = True
        else:
            self.cells[self.row][self.column] = c
            self.column += 1

    def _obey(self, private, parameters, letter):
        numbers = [int(n) for n in parameters.split(";") if n]
        if private:
            if 1049 in numbers:
                self.alternate = letter == "h"
                self.clear()
            elif 25 in numbers:
                self.cursor = letter == "h"
            else:
                assert numbers == [7], parameters
        elif letter == "H":
            row, column = (numbers + [1, 1])[:2]
            if row == 1:
                self.overflow = False  # a new picture
            if row > self.rows:
                self.overflow = True
            self.row, self.column = row - 1, column - 1
        elif letter == "K":
            self._erase(self.row, self.row + 1)
        elif letter == "J":
            self._erase(self.row, self.rows)
        else:
            assert letter == "m", f"unknown sequence {parameters}{letter}"

    def _erase(self, first, end):
        for row in range(first, min(end, self.rows)):
            start = self.column if row == self.row else 0
            for column in range(start, self.columns):
                self.cells[row][column] = " "

    def feed(self, data):
        text = self.rest + self.decoder.decode(data)
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = SEQUENCE.match(text, at)
                if not found:
                    assert len(text) - at < 20, f"unknown sequence {text[at:at + 20]!r}"
                    break
                self._obey(*found.groups())
                at = found.end()
                continue
            if text[at] != "\x18":
                assert text[at] in "\r\n" or text[at].isprintable(), repr(text[at])
                self._put(text[at])
            at += 1
        self.rest = text[at:]

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            self.feed(os.read(self.master, 65536))
        return bool(ready)

    def wait_for(self, what, condition):
        """Reads until condition(screen's text) holds."""
        end = time.monotonic() + LIMIT_S
        while not condition(self.text()):
            assert time.monotonic() < end, f"never seen: {what}\n{self.text()}"
            self.read(0.2)

    def wait_text(self, *texts):
        self.wait_for(texts, lambda screen: all(t in screen for t in texts))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def wait_end(self):
        """The exit status; what was written last is on the screen."""
        end = time.monotonic() + LIMIT_S
        while self.process.poll() is None:
            assert time.monotonic() < end, "it does not end"
            self.read(0.1)
        while self.read(0):
            pass
        return self.process.returncode

    def check_restored(self):
        assert termios.tcgetattr(self.slave) == self.before, "the terminal's modes are not restored"
        assert not self.alternate, "the alternate screen was not left"
        assert self.cursor, "the cursor is not back"

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

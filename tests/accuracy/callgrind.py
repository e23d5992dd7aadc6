# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reads what valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes wrote.

Addresses are the images' own virtual addresses already. The format is valgrind's documented one
("Callgrind Format Specification"); positions are relative to the last position of a cost line.
"""
import re

NAME = re.compile(r"\((\d+)\)(?: (.*))?$")


class Image:
    """Counts of one object file."""

    def __init__(self, path):
        self.path = path
        self.counts = {}  # offset -> list of events, the first is executions
        self.jumps = {}   # (from, to) -> times taken
        self.conditional = {}  # offset of a conditional jump -> executions
        self.calls = {}   # (from, path of the callee's image, to) -> count


class Reader:
    def __init__(self, path):
        self.path, self.images, self.names = path, {}, {}
        self.address = 0
        self.events = []

    def name(self, text):
        """Names are written once, then by number."""
        match = NAME.match(text)
        if not match:
            return text
        if match[2] is not None:
            self.names[match[1]] = match[2]
        return self.names[match[1]]

    def position(self, field):
        """An address field: absolute, relative to the last one, or the same."""
        if field == "*":
            return self.address
        if field[0] in "+-":
            return self.address + int(field)
        return int(field, 16)

    def image(self, path):
        if path not in self.images:
            self.images[path] = Image(path)
        return self.images[path]

    def read(self):
        here = callee = None
        pending = None  # what the next line is the source position of
        with open(self.path, encoding="utf-8", errors="surrogateescape") as text:
            for line in text:
                first = line[:1]
                if first in "0+-*":
                    fields = line.split()
                    self.address = self.position(fields[0])
                    if pending:
                        self.finish(here, *pending)
                        pending = None
                    elif len(fields) > 2:
                        self.count(here, [int(f) for f in fields[2:]])
                elif line.startswith("calls="):
                    number, target = line[len("calls="):].split()[:2]
                    pending = ("call", callee or here, self.position(target), int(number), 0)
                    callee = None
                elif line.startswith("jump="):
                    number, target = line[len("jump="):].split()[:2]
                    pending = ("jump", callee or here, self.position(target), int(number), 0)
                    callee = None
                elif line.startswith("jcnd="):
                    number, target = line[len("jcnd="):].split()[:2]
                    taken, executed = number.split("/")
                    pending = ("cond", callee or here, self.position(target), int(taken),
                               int(executed))
                    callee = None
                elif line.startswith("ob="):
                    here = self.image(self.name(line[3:].rstrip("\n")))
                elif line.startswith(("cob=", "job=")):
                    callee = self.image(self.name(line[4:].rstrip("\n")))
                elif line.startswith("events:"):
                    self.events = line.split()[1:]
                # fl=, fi=, fe=, fn=, cfi=, cfn=, jfi=, jfn= have numbers of name spaces of their
                # own: source positions are not used here.
        return self.images

    def count(self, here, values):
        have = here.counts.get(self.address)
        here.counts[self.address] = values if have is None else [
            (have[i] if i < len(have) else 0) + (values[i] if i < len(values) else 0)
            for i in range(max(len(have), len(values)))]

    def finish(self, here, kind, target, to, number, executed):
        source = self.address
        if kind == "call" or target is not here:
            key = (source, target.path, to)
            here.calls[key] = here.calls.get(key, 0) + number
            return
        if number:
            key = (source, to)
            here.jumps[key] = here.jumps.get(key, 0) + number
        if kind == "cond":
            here.conditional[source] = here.conditional.get(source, 0) + executed

# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The loops of a C or C++ source, as the compiler's own syntax tree has them."""
import bisect
import json
import os
import subprocess

LOOPS = {"ForStmt": "for", "WhileStmt": "while", "DoStmt": "do", "CXXForRangeStmt": "for"}
WRAPPERS = ("ParenExpr", "ImplicitCastExpr", "ConstantExpr", "IntegerLiteral", "CXXBoolLiteralExpr")


class Loop:
    """From begin to end, each (line, column)."""

    def __init__(self, kind, file, begin, end):
        self.kind, self.file, self.begin, self.end = kind, file, begin, end

    def __repr__(self):
        return f"{os.path.basename(self.file)}:{self.begin[0]}-{self.end[0]} ({self.kind})"


class Reader:
    """clang's JSON leaves out the file and the line of a place where they are those of the place before, so places
    are completed in the order in which they stand there, which is the order in which the parser calls us."""

    def __init__(self, folder):
        self.folder, self.file, self.line = folder, None, None
        self.loops, self.gotos, self.labels = [], [], {}

    def take(self, pairs):
        entry = dict(pairs)
        if "col" in entry and "offset" in entry:
            if "file" in entry:
                self.file = os.path.normpath(os.path.join(self.folder, entry["file"]))
            self.line = entry.get("line", self.line)
            return {"at": (self.file, self.line, entry["col"])}
        if "expansionLoc" in entry:
            return entry["expansionLoc"]
        if "kind" not in entry or "inner" not in entry and entry["kind"] not in ("GotoStmt",) + WRAPPERS:
            return entry if "begin" in entry else {}
        kind, where = entry["kind"], entry.get("range", {})
        begin, end = where.get("begin", {}).get("at"), where.get("end", {}).get("at")
        if kind == "GotoStmt" and begin:
            self.gotos.append((entry.get("targetLabelDeclId"), begin))
        if kind == "LabelStmt" and begin:
            self.labels[entry.get("declId")] = begin
        if kind in LOOPS and begin and end and begin[0] == end[0] and not is_once(kind, entry["inner"]):
            self.loops.append(Loop(LOOPS[kind], begin[0], begin[1:], end[1:]))
        if kind in WRAPPERS:
            return {"kind": kind, "value": entry.get("value"), "inner": entry.get("inner", [])}
        return {"kind": kind}

    def finish(self):
        """A jump back is a loop, from the label to the end of the last of them, with loops that it leaves by that."""
        last = {}
        for label, at in self.gotos:
            begin = self.labels.get(label)
            if begin and begin[0] == at[0] and at[1:] >= begin[1:]:
                last[label] = max(last.get(label, at), at)
        jumps = []
        for label, at in last.items():
            begin, end = self.labels[label][1:], at[1:]
            ends = [loop.end for loop in self.loops if loop.file == at[0] and begin <= loop.begin <= end <= loop.end]
            jumps.append(Loop("goto", at[0], begin, max(ends + [end])))
        return self.loops + jumps


def is_once(kind, inner):
    """do { } while (0), which is no loop but the body of a macro."""
    condition = inner[-1] if kind == "DoStmt" and inner else {}
    while condition.get("kind") in WRAPPERS and condition.get("inner"):
        condition = condition["inner"][0]
    return condition.get("kind") in WRAPPERS and condition.get("value") in ("0", False)


def read(source, options, compiler="clang"):
    run = subprocess.run([compiler, *options, "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json", source],
                         stdout=subprocess.PIPE, check=True)
    reader = Reader(os.getcwd())
    json.loads(run.stdout, object_pairs_hook=reader.take)
    return reader.finish()


class Loops:
    """The loops of a program, each once, to be looked up: a list for each of its sources, as headers are in several."""

    def __init__(self, lists):
        self.files = {}
        self.counts = {}  # several at one place are of one macro: the first stands for them
        for loops in lists:
            own = {}
            for loop in loops:
                key = (loop.file, loop.begin, loop.end)
                own[key] = own.get(key, 0) + 1
                if key not in self.counts:
                    self.counts[key] = 0
                    self.files.setdefault(loop.file, []).append(loop)
            for key, count in own.items():
                self.counts[key] = max(self.counts[key], count)
        self.sort()

    def sort(self):
        for own in self.files.values():
            own.sort(key=lambda loop: (loop.begin, (-loop.end[0], -loop.end[1])))
        self.begins = {file: [loop.begin for loop in own] for file, own in self.files.items()}

    def remove(self, loops):
        gone = {id(loop) for loop in loops}
        for own in self.files.values():
            own[:] = [loop for loop in own if id(loop) not in gone]
        self.sort()

    def count(self, loop):
        return self.counts[(loop.file, loop.begin, loop.end)]

    def all(self):
        return [loop for own in self.files.values() for loop in own]

    def innermost(self, file, first, last=None):
        """The innermost that has all from first to last, each (line, column), or (line,): anywhere in it."""
        last = last or first
        found = None
        own = self.files.get(file, [])
        for loop in own[:bisect.bisect_right(self.begins.get(file, []), first + (1 << 30,) if len(first) == 1 else first)]:
            n, m = len(first), len(last)
            if loop.begin[:n] <= first and last <= loop.end[:m] and (
                    found is None or loop.begin >= found.begin and loop.end <= found.end):
                found = loop
        return found

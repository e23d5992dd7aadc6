#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Writes small profiles as other tools do: pprof's, gmon.out.

    foreign.py KIND FILE

pprof's format is that of src/exchange/pprof.proto, gmon.out's that of sys/gmon_out.h."""
import gzip
import struct
import sys

BUILD_ID = "00112233445566778899aabbccddeeff00112233"


def varint(n):
    n &= 2 ** 64 - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


class Profile:
    def __init__(self, *types):
        self.strings, self.body, self.functions, self.locations = [""], b"", {}, 0
        self.types = len(types)
        for name, unit in types:
            self.body += message(1, number(1, self.text(name)) + number(2, self.text(unit)))

    def text(self, s):
        if s not in self.strings:
            self.strings.append(s)
        return self.strings.index(s)

    def mapping(self, ident, start, limit, offset, path, build_id):
        self.body += message(3, number(1, ident) + number(2, start) + number(3, limit)
                             + number(4, offset) + number(5, self.text(path))
                             + number(6, self.text(build_id)))

    def function(self, name, file):
        if (name, file) not in self.functions:
            self.functions[name, file] = len(self.functions) + 1
            self.body += message(5, number(1, len(self.functions)) + number(2, self.text(name))
                                 + number(4, self.text(file)))
        return self.functions[name, file]

    def location(self, lines, mapping=0, address=0):
        """lines: (function, file, line), the innermost first."""
        self.locations += 1
        body = number(1, self.locations) + number(2, mapping) + number(3, address)
        for name, file, line in lines:
            body += message(4, number(1, self.function(name, file)) + number(2, line))
        self.body += message(4, body)
        return self.locations

    def sample(self, locations, *values, **labels):
        body = message(1, b"".join(varint(n) for n in locations))
        body += message(2, b"".join(varint(n) for n in values))
        for key, value in labels.items():
            what = number(3, value) if isinstance(value, int) else number(2, self.text(value))
            body += message(3, number(1, self.text(key)) + what)
        self.body += message(2, body)

    def bytes(self):
        return self.body + b"".join(message(6, s.encode()) for s in self.strings)


def heap():
    """No addresses, two values that are events of their own, labels of both kinds."""
    p = Profile(("alloc_objects", "count"), ("alloc_space", "bytes"))
    main = p.location([("main", "/src/main.x", 5)])
    other = p.location([("main", "/src/main.x", 9)])
    make = p.location([("inner", "/src/lib.x", 2), ("make", "/src/lib.x", 30)])
    p.sample([make, main], 3, 3072, bytes=1024, kind="list")
    p.sample([make, other], 1, 64, bytes=64)
    p.sample([main], 2, 20)
    p.sample([main], -2, 20)
    return p


def short():
    """A sample without a value for each type."""
    p = Profile(("alloc_objects", "count"), ("alloc_space", "bytes"))
    p.sample([p.location([("main", "/src/main.x", 5)])], 3)
    return p


def mapped():
    """Time by address, of a program that is not here; 30 ms a sample."""
    p = Profile(("samples", "count"), ("cpu", "nanoseconds"))
    p.mapping(1, 0x55550000, 0x55560000, 0x1000, "/none/program", BUILD_ID)
    p.mapping(2, 0x7f0000000000, 0x7f0000010000, 0, "/none/lib.so", "")
    main = p.location([("main", "main.c", 10)], 1, 0x55550105)
    work = p.location([("inlined", "work.h", 3), ("work", "work.c", 20)], 1, 0x55550200)
    also = p.location([("work", "work.c", 21)], 1, 0x55550210)
    lib = p.location([("compute", "", 0)], 2, 0x7f0000000042)
    bare = p.location([], 2, 0x7f0000008000)
    lost = p.location([], 0, 0x1234)
    p.sample([work, main], 4, 120000000, comm="worker")
    p.sample([also, main], 3, 90000000, comm="worker", request="a")
    p.sample([lib, work, main], 2, 60000000)
    p.sample([bare], 1, 30000000)
    p.sample([lost], 1, 30000000)
    return p


def gmon(word="Q"):
    """20 ticks of 10 ms at 0x1000 to 0x1040, in bins of 2 bytes; two arcs. word: of an address."""
    out = b"gmon" + struct.pack("<I12x", 1)
    bins = [0] * 32
    bins[0], bins[8], bins[31] = 12, 7, 1
    out += struct.pack(f"<B{word}{word}II15sc32H", 0, 0x1000, 0x1040, 32, 100, b"seconds", b"s", *bins)
    out += struct.pack(f"<B{word}{word}I", 1, 0x1008, 0x1010, 70)
    out += struct.pack(f"<B{word}{word}I", 1, 0, 0x1000, 1)
    return out


def main():
    kind, path = sys.argv[1:]
    if kind.startswith("gmon"):
        data = gmon("I" if kind == "gmon-narrow" else "Q")
    else:
        data = {"heap": heap, "mapped": mapped, "short": short}[kind.split("-")[0]]().bytes()
    if kind.endswith("-gzip"):
        data = gzip.compress(data, mtime=0)
    with open(path, "wb") as out:
        out.write(data)


main()

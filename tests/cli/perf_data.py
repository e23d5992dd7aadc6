#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Writes small perf.data files of what this machine's perf cannot record.

    perf_data.py KIND FILE [PROGRAM LEAF MIDDLE START]

The format is that of tools/perf/Documentation/perf.data-file-format.txt."""
import os
import struct
import subprocess
import sys

IP, TID, TIME, ADDR, CALLCHAIN, ID, PERIOD, RAW, BRANCHES, REGS, STACK, WEIGHT, DATA_SRC, IDENTIFIER = (
    1 << n for n in (0, 1, 2, 3, 5, 6, 8, 10, 11, 12, 13, 14, 15, 16))
KERNEL, USER = 1, 2
MMAP, LOST, COMM, EXIT, FORK, SAMPLE, MMAP2 = 1, 2, 3, 4, 7, 9, 10
WEIGHT_STRUCT = 1 << 24
ATTR, FINISHED_ROUND, AUXTRACE_INFO, AUXTRACE, EVENT_UPDATE, FEATURE, COMPRESSED = 64, 68, 70, 71, 78, 80, 81
CONTEXT_KERNEL, CONTEXT_USER = 2 ** 64 - 128, 2 ** 64 - 512
TEXT = 0xffffffffa1000000  # _text at run time
BUILD_ID = bytes(range(1, 21))


def text(s, size=None):
    raw = s.encode() + b"\0"
    return raw.ljust(size or (len(raw) + 7) // 8 * 8, b"\0")


def feature_text(s):
    raw = text(s, (len(s) // 64 + 1) * 64)
    return struct.pack("<I", len(raw)) + raw


class Recording:
    """Records of one or more events; sample types are the same for all."""

    def __init__(self, names, sample_type, period=1000):
        self.names, self.type, self.period = names, sample_type | IDENTIFIER | TIME | TID | IP, period
        self.records, self.registers = [], 0
        self.types, self.pmus = {}, None  # by number of an event; names of PMUs by type
        self.precise, self.cpuid = 0, None

    def attr(self, number):
        head = struct.pack("<IIQQQQQ", self.types.get(number, 0), 128, number, self.period, self.type, 0,
                           1 << 18 | self.precise << 15)
        return (head.ljust(80, b"\0") + struct.pack("<Q", self.registers)).ljust(128, b"\0")

    @staticmethod
    def ident(number):
        return 100 + number

    def add(self, kind, body, misc=0):
        self.records.append(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)

    def trailer(self, pid, time):
        return struct.pack("<IIQQ", pid, pid, time, self.ident(0))

    def mmap(self, pid, start, size, offset, path, time, misc=USER, build_id=None):
        if build_id:
            place = struct.pack("<BBH20s", len(build_id), 0, 0, build_id)
            misc |= 1 << 14
        else:
            inode = os.stat(path).st_ino if os.path.exists(path) else 77
            place = struct.pack("<IIQQ", 0, 0, inode, 0)
        self.add(MMAP2, struct.pack("<IIQQQ", pid, pid, start, size, offset) + place
                 + struct.pack("<II", 5, 2) + text(path) + self.trailer(pid, time), misc)

    def kernel(self):
        self.add(MMAP, struct.pack("<IIQQQ", 2 ** 32 - 1, 0, TEXT, 0x1000000, TEXT)
                 + text("[kernel.kallsyms]_text") + self.trailer(0, 0), KERNEL)

    def comm(self, pid, name, time, execed=False):
        self.add(COMM, struct.pack("<II", pid, pid) + text(name) + self.trailer(pid, time),
                 1 << 13 if execed else 0)

    def fork(self, pid, parent, time):
        self.add(FORK, struct.pack("<IIIIQ", pid, parent, pid, parent, time)
                 + self.trailer(pid, time))

    def sample(self, pid, ip, time, event=0, misc=USER, **more):
        body = struct.pack("<QQIIQ", self.ident(event), ip, pid, pid, time)
        if self.type & ADDR:
            body += struct.pack("<Q", more.get("addr", 0))
        if self.type & PERIOD:
            body += struct.pack("<Q", more.get("period", self.period))
        if self.type & CALLCHAIN:
            chain = more.get("chain", [])
            body += struct.pack(f"<Q{len(chain)}Q", len(chain), *chain)
        if self.type & RAW:
            raw = more.get("raw", b"no data of IBS, or anybody's")
            body += struct.pack("<I", more.get("raw_size", len(raw))) + raw
        if self.type & BRANCHES:
            branches = more.get("branches", [])
            body += struct.pack("<Q", len(branches))
            body += b"".join(struct.pack("<QQQ", f, t, 0) for f, t in branches)
        if self.type & REGS:
            abi, known = more["abi"], more["registers"]
            values = [known.get(n, 0) for n in range(64) if self.registers >> n & 1]
            body += struct.pack("<Q", abi)
            body += struct.pack(f"<{len(values)}Q", *values) if abi else b""
        if self.type & STACK:
            copy = more["copy"]
            body += struct.pack("<Q", more.get("size", len(copy))) + copy
            body += struct.pack("<Q", more.get("valid", len(copy))) if copy else b""
        if self.type & (WEIGHT | WEIGHT_STRUCT):
            body += struct.pack("<Q", more.get("weight", 0))
        if self.type & DATA_SRC:
            body += struct.pack("<Q", more.get("source", 0))
        self.add(SAMPLE, body, misc)

    def round(self):
        self.add(FINISHED_ROUND, b"")

    def lost(self, count, time):
        self.add(LOST, struct.pack("<QQ", self.ident(0), count) + self.trailer(0, time))

    def aux(self, data, tid=0, offset=0):
        self.add(AUXTRACE, struct.pack("<QQQIIII", len(data), offset, 0, 0, tid, 0, 0))
        self.records.append(data)

    def pack(self, pieces):
        """Compresses the records, as perf record -z does: one stream, cut where it may be cut into
        records, and those into others."""
        data = subprocess.run(["zstd", "-q", "-c"], input=b"".join(self.records), check=True,
                              stdout=subprocess.PIPE).stdout
        size = (len(data) + pieces - 1) // pieces
        self.records = []
        for at in range(0, len(data), size):
            self.add(COMPRESSED, data[at:at + size])

    def description(self):
        out = struct.pack("<II", len(self.names), 128)
        for number, name in enumerate(self.names):
            out += self.attr(number) + struct.pack("<I", 1) + feature_text(name)
            out += struct.pack("<Q", self.ident(number))
        return out

    def mappings(self):
        """Which PMU has which type (HEADER_PMU_MAPPINGS)."""
        out = struct.pack("<I", len(self.pmus))
        for kind, name in self.pmus.items():
            out += struct.pack("<I", kind) + feature_text(name)
        return out

    def file(self):
        """The form with a header that says where everything is."""
        ids = b"".join(struct.pack("<Q", self.ident(n)) for n in range(len(self.names)))
        attrs_at = 104 + len(ids)
        attrs = b"".join(self.attr(n) + struct.pack("<QQ", 104 + 8 * n, 8)
                         for n in range(len(self.names)))
        data = b"".join(self.records)
        data_at = attrs_at + len(attrs)
        features = {3: feature_text("elsewhere"), 12: self.description()}
        if self.cpuid:
            features[9] = feature_text(self.cpuid)
        if self.pmus is not None:
            features[16] = self.mappings()
        table, at = b"", data_at + len(data) + 16 * len(features)
        for number in sorted(features):
            table += struct.pack("<QQ", at, len(features[number]))
            at += len(features[number])
        bits = sum(1 << n for n in features)
        header = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 144, attrs_at, len(attrs), data_at,
                                           len(data), 0, 0)
        header += bits.to_bytes(32, "little")
        return (header + ids + attrs + data + table
                + b"".join(features[n] for n in sorted(features)))

    def pipe(self):
        """The form that is written from front to back."""
        out = [b"PERFILE2" + struct.pack("<Q", 16)]
        for number, name in enumerate(self.names):
            body = self.attr(number) + struct.pack("<Q", self.ident(number))
            out.append(struct.pack("<IHH", ATTR, 0, 8 + len(body)) + body)
            body = struct.pack("<QQ", 2, self.ident(number)) + text(name)
            out.append(struct.pack("<IHH", EVENT_UPDATE, 0, 8 + len(body)) + body)
        features = {3: feature_text("elsewhere")}
        if self.cpuid:
            features[9] = feature_text(self.cpuid)
        if self.pmus is not None:
            features[16] = self.mappings()
        for number, text_of in features.items():
            body = struct.pack("<Q", number) + text_of
            out.append(struct.pack("<IHH", FEATURE, 0, 8 + len(body)) + body)
        return b"".join(out + self.records)


def ordered():
    """Two processors' records: what was mapped when, in an order that only the times tell."""
    r = Recording(["cycles", "cache-misses:u"], 0)
    r.comm(10, "parent", 1)
    r.mmap(10, 0x400000, 0x10000, 0, "/none/first", 2)
    for n in range(10):
        r.sample(10, 0x401000 + n, 100 + n)
    r.sample(10, 0x401000, 260)  # after /none/second is there
    r.round()
    r.mmap(10, 0x408000, 0x8000, 0x2000, "/none/second", 150)
    r.sample(10, 0x409000, 149)
    r.sample(10, 0x409000, 151, event=1)
    r.fork(11, 10, 200)
    r.sample(11, 0x409000, 250)
    r.comm(11, "child", 300, execed=True)
    r.mmap(11, 0x400000, 0x1000, 0, "/none/third", 301)
    r.round()
    r.sample(11, 0x400100, 302, event=1)
    r.sample(11, 0x409000, 303)  # mapped no longer
    r.sample(12, 0x409000, 304)  # nobody said what that is
    r.lost(7, 305)
    r.round()
    return r


def gone():
    """A task that ends has no number any more."""
    r = Recording(["cycles", "cache-misses:u"], 0)
    r.sample(2 ** 32 - 1, 0x409000, 100)
    r.round()
    return r


def hardware():
    """What comes from hardware that virtual machines do not have."""
    r = Recording(["cycles:pp", "cpu/mem-loads/"], ADDR | PERIOD | CALLCHAIN | RAW | BRANCHES
                  | WEIGHT | DATA_SRC)
    r.kernel()
    r.comm(20, "worker", 1)
    r.mmap(20, 0x500000, 0x10000, 0x1000, "/none/program", 2, build_id=BUILD_ID)
    hit = 2
    levels = {"l1": 1 << 3, "l2": 1 << 5, "ram": 1 << 7}
    for n in range(6):
        r.sample(20, 0x500100, 100 + n, period=500 + n, addr=0x7000 + n,
                 chain=[CONTEXT_USER, 0x500100, 0x500205, 0x500305],
                 branches=[(0x500090, 0x500100), (0x500205, 0x500080)])
    for n, level in enumerate(["l1", "l1", "l2", "ram"]):
        r.sample(20, 0x500400, 200 + n, event=1, addr=0x8000, weight=10 * (n + 1),
                 source=(levels[level] | hit) << 5, chain=[CONTEXT_USER, 0x500400])
    r.sample(20, TEXT + 0x1234, 300, misc=KERNEL,
             chain=[CONTEXT_KERNEL, TEXT + 0x1234, TEXT + 0x2000, CONTEXT_USER, 0x500500])
    r.aux(b"x" * 1000)
    r.sample(20, 0x500600, 301, chain=[])
    return r


def kernels():
    """Two kernels, of which only the second one's build is told."""
    r = Recording(["cycles"], 0)
    r.kernel()
    r.mmap(2 ** 32 - 1, TEXT + 0x10000000, 0x1000000, TEXT + 0x10000000, "[guest.kernel.kallsyms]", 0,
           misc=KERNEL, build_id=BUILD_ID)
    r.comm(20, "worker", 1)
    r.sample(20, TEXT + 0x1234, 300, misc=KERNEL)
    r.sample(20, TEXT + 0x10001234, 301, misc=KERNEL)
    return r


# What AMD's processors say of a sample: capabilities, then registers, as Linux hands them out. No
# such processor was at hand: the values are made up by the documents.
ZEN4 = 0xfff
RETIRED, TAKEN, MISPREDICTED, RIP_INVALID = 1 << 37, 1 << 35, 1 << 36, 1 << 38
LOAD, STORE, MISS, LINEAR, PHYSICAL = 1, 2, 1 << 7, 1 << 17, 1 << 18


def ibs_op(rip, caps=ZEN4, data=0, data2=0, data3=0, linear=0, physical=0, target=0, data4=0,
           tag=40, done=10, count=None):
    values = [0x3d09 | 0xe << 16 | 5 << 32, rip, done | tag << 16 | data, data2, data3, linear,
              physical]
    values += [target] if caps & 1 << 5 else []
    values += [data4] if caps & 1 << 10 else []
    values = (values + [0] * 8)[:count or len(values)]
    return struct.pack(f"<I{len(values)}Q", caps, *values)


def ibs_fetch(address, caps=ZEN4, latency=7, physical=0, extended=None, more=()):
    control = 0x1000 | latency << 32 | 1 << 49 | 1 << 50 | (1 << 52 if physical else 0)
    values = [control, address, physical, *([] if extended is None else [extended]), *more]
    return struct.pack(f"<I{len(values)}Q", caps, *values)


def instructions(mapped=True, names=("ibs_op//", "ibs_fetch//", "syscalls:sys_enter_read")):
    """Samples of instructions one by one, and raw data of a tracepoint."""
    r = Recording(list(names), RAW)
    r.types = {0: 9, 1: 8, 2: 2}
    if mapped:
        r.pmus = {4: "cpu", 9: "ibs_op", 8: "ibs_fetch", 2: "tracepoint"}
    program, at = 0x500000, 0x500100
    r.kernel()
    r.comm(20, "worker", 1)
    r.mmap(20, program, 0x10000, 0x1000, "/none/program", 2, build_id=BUILD_ID)
    r.sample(20, at, 100, raw=ibs_op(at, data3=LOAD | MISS | LINEAR | PHYSICAL | 3 << 22 | 321 << 32,
                                     data2=2, linear=0x7ffd00001040, physical=0x12345040))
    r.sample(20, at, 101, raw=ibs_op(at, data3=LOAD | LINEAR, linear=0x7ffd00001048, tag=700))
    for time in 102, 103:  # equal; what is not valid is of other samples
        r.sample(20, at + 4, time, raw=ibs_op(at + 4, data=RETIRED | TAKEN | MISPREDICTED,
                                              target=program + 0x80, linear=0xbad, physical=0xbad))
    r.sample(20, at + 8, 104, raw=ibs_op(at + 8, target=0xbad, data4=1))
    r.sample(20, at + 12, 105, raw=ibs_op(0xbad, data=RIP_INVALID))
    r.sample(20, at + 16, 106, raw=ibs_op(0x666, data=RETIRED, target=TEXT + 0x40))
    r.sample(20, at + 20, 107, raw=ibs_op(at + 20, count=7))  # of a kernel that reads no more
    r.sample(20, TEXT + 0x1234, 108, misc=KERNEL, raw=ibs_op(TEXT + 0x1234, data3=STORE))
    r.sample(20, at, 200, event=1, raw=ibs_fetch(at, extended=77, physical=0x777100))
    r.sample(20, at, 201, event=1, raw=ibs_fetch(at))
    r.sample(20, at, 202, event=1, raw=ibs_fetch(at, caps=0x7ff, more=(1, 2)))  # before 5.12
    r.sample(20, at, 300, event=2, raw=b"a system call's 20 b")
    return r


def liars():
    """Raw data of IBS that is none: each costs itself alone."""
    r = instructions()
    at = 0x500200
    whole = ibs_op(at)
    for raw in (whole[:4], whole[:-1], whole + b"1234", whole + b"12345678", whole[:4 + 6 * 8],
                ibs_op(at, caps=1, count=8), ibs_fetch(at, caps=1, extended=1)):
        r.sample(20, at, 400, event=1 if raw[:4] == whole[:4] and len(raw) == 60 else 0, raw=raw)
    r.sample(20, at, 401, raw=b"")
    r.sample(20, at, 402, raw=whole, raw_size=len(whole) + 8)  # past the record's end
    r.sample(20, at, 403, raw=whole, raw_size=2 ** 32 - 1)
    r.sample(20, at, 404, raw=whole)
    return r


def precise(cpuid="GenuineIntel,6,143,8", precision=2):
    """Precise samples, of which the kernel tells where the data was and what three stages took: in
    /none/program at 0x500100 four loads that missed of ten, a store, a load of the kernel."""
    r = Recording(["cpu/mem-loads,ldlat=30/P", "cycles"], ADDR | WEIGHT_STRUCT | DATA_SRC)
    r.precise, r.cpuid = precision, cpuid
    r.kernel()
    r.comm(20, "worker", 1)
    r.mmap(20, 0x500000, 0x10000, 0x1000, "/none/program", 2, build_id=BUILD_ID)
    load, store, hit, miss, l1, l3, memory = 2, 4, 2, 4, 8, 1 << 6, 1 << 7
    for n in range(10):
        level = (l1 | hit if n > 3 else l3 | hit if n > 0 else memory | hit) << 5
        r.sample(20, 0x500100, 100 + n, addr=0x7ffd00001000 + 64 * n, source=load | level,
                 weight=5 + 50 * (n < 4) | 9 + n << 32 | n << 48)
    r.sample(20, 0x500104, 200, addr=0x7ffd00001000, source=store | (l1 | miss) << 5, weight=3 << 48)
    r.sample(20, TEXT + 0x1234, 300, misc=KERNEL, addr=TEXT + 0x5000, source=load | (l1 | hit) << 5)
    return r


def packet(header, payload, size):
    return bytes([header]) + payload.to_bytes(size, "little")


def spe_load(address, data, tid=None, events=0x16, latency=30, level=1 << 63):
    out = packet(0xb0, address | level, 8) + (packet(0x65, tid, 4) if tid else b"")
    out += packet(0x49, 0, 1) + packet(0x52, events, 2) + packet(0x99, 10, 2)
    out += packet(0x98, latency, 2) + packet(0x9a, 1, 2) + packet(0xb2, data, 8)
    return out + packet(0x71, 12345, 8)


def spe_branch(address, events, tid=None):
    out = packet(0xb0, address | 1 << 63, 8) + (packet(0x65, tid, 4) if tid else b"")
    return out + packet(0x4a, 1, 1) + packet(0x42, events, 1) + packet(0x01, 0, 0)[:1]


def spe(named="arm_spe_0", kind=4):
    """Arm's SPE: traces of a thread and of a CPU, of threads that each record names or does not."""
    r = Recording([f"{named}//", "dummy:u"], 0)
    r.types, r.pmus = {0: 40, 1: 1}, {4: "armv8_pmuv3", 40: named, 1: "software"}
    r.add(AUXTRACE_INFO, struct.pack("<II", kind, 0) + bytes(32))
    r.kernel()
    r.comm(20, "worker", 1)
    r.mmap(20, 0x500000, 0x10000, 0x1000, "/none/program", 2, build_id=BUILD_ID)
    r.add(FORK, struct.pack("<IIIIQ", 20, 20, 21, 20, 3) + r.trailer(20, 3))
    hit, walk, miss = 1 << 1 | 1 << 2 | 1 << 4, 1 << 5, 1 << 3
    r.aux(bytes(7) + b"".join(spe_load(0x500100, 0x7ffd00001000 + 64 * n, 21, hit | walk * (n == 0) | miss * (n < 3),
                                       30 + n) for n in range(9)))
    # Mapped while the CPU ran; its trace comes after what was told by then.
    r.mmap(20, 0x600000, 0x10000, 0x1000, "/none/late", 50, build_id=bytes(range(2, 22)))
    r.aux(spe_branch(0x600010, 1 << 1, 20) + spe_branch(0x600010, 1 << 1 | 1 << 6 | 1 << 7, 20)
          + spe_branch(0x600010, 0, 20) + spe_load(TEXT + 0x1234 & 2 ** 56 - 1, 0xff0000001000, 21,
                                                 level=5 << 61), 2 ** 32 - 1)
    r.aux(spe_load(0x500108, 0x7ffd00001000), 20)  # of the thread that the trace is of
    r.aux(spe_load(0x500108, 0x7ffd00001000), 2 ** 32 - 1)  # of nobody that is known
    r.aux(spe_load(0x50010c, 0x7ffd00001000, 20)[:-3] + bytes([0xff]) * 5, 20)  # cut, and no packets
    r.aux(b"", 20)
    r.round()
    return r


BP, SP, PC = 6, 7, 8
ALL = 0xff0fff  # what perf asks for on x86-64
TOP = 0x7ffd00001000
MADE = 0x7f0000000000  # code that is made at run time


def copied(registers, program="/none/copied", leaf=0x401010, middle=0x401020, start=0x401030,
           build_id=None):
    """Copies of stacks of a program whose _start calls middle, which has 40 bytes of stack and calls
    leaf, which has pushed a register. A process each: what becomes of it is its name."""
    r = Recording(["cpu-clock"], CALLCHAIN | REGS | STACK)
    r.registers = registers
    page = leaf & ~0xfff
    whole = struct.pack("<QQ", 7, middle) + b"m" * 40 + struct.pack("<QQQ", start, 1, 0)
    cases = {
        "whole": {"copy": whole},
        "cut": {"copy": whole[:24]},
        "short": {"copy": whole, "valid": 24},
        "one-byte": {"copy": whole[:8], "valid": 1},
        "stray": {"copy": struct.pack("<QQ", 7, 0x1234567) + whole[16:]},
        "loop": {"copy": struct.pack("<8Q", 7, *[leaf] * 7)},
        "compat": {"copy": whole, "abi": 1},
        "strange-abi": {"copy": whole, "abi": 77},
        "no-registers": {"copy": b"", "abi": 0},
        "no-copy": {"copy": b""},
        "lies-of-size": {"copy": whole, "size": 1 << 40},
        "lies-of-bytes": {"copy": whole, "valid": 1 << 40},
        "no-address": {"copy": whole, "at": 0x10},
        "top-of-memory": {"copy": whole, "stack": 2 ** 64 - 16},
        "made": {"copy": struct.pack("<2Q", TOP + 16, MADE + 0x220)
                 + struct.pack("<2Q", TOP + 32, MADE + 0x330) + struct.pack("<2Q", 0, middle) + whole[16:],
                 "at": MADE + 0x110, "frame": TOP},
        "made-stray": {"copy": struct.pack("<2Q", TOP + 16, MADE + 0x2220), "at": MADE + 0x110,
                       "frame": TOP},
        "made-loop": {"copy": struct.pack("<2Q", TOP, MADE + 0x220), "at": MADE + 0x110,
                      "frame": TOP},
        "made-cut": {"copy": struct.pack("<2Q", TOP + 16, MADE + 0x220), "at": MADE + 0x110,
                     "frame": TOP},
        "made-without": {"copy": whole, "at": MADE + 0x110},
    }
    for pid, (name, case) in enumerate(cases.items(), 30):
        known = {SP: case.pop("stack", TOP), PC: case.pop("at", leaf),
                 BP: case.pop("frame", 0x1000)}
        r.comm(pid, name, 1)
        r.mmap(pid, MADE, 0x1000, 0, "//anon", 2)
        r.mmap(pid, page, 0x1000, 0x1000, program, 2, build_id=build_id)
        r.sample(pid, known[PC], 100 + pid, registers=known, **{"abi": 2, **case})
    # In the kernel, called from the leaf.
    r.comm(60, "system-call", 1)
    r.mmap(60, page, 0x1000, 0x1000, program, 2, build_id=build_id)
    r.kernel()
    r.sample(60, TEXT + 0x1234, 300, misc=KERNEL, chain=[CONTEXT_KERNEL, TEXT + 0x1234],
             registers={SP: TOP, PC: leaf}, abi=2, copy=whole)
    return r


def main():
    kind, path = sys.argv[1:3]  # NAME[-packed|-nested][-pipe]
    makers = {"instructions": instructions, "liars": liars,
              "precise": precise, "vague": lambda: precise(precision=0),
              "foreign": lambda: precise("AuthenticAMD,25,17,1"),
              "spe": spe, "trace": lambda: spe(kind=1), "nameless": lambda: spe("hidden_0"),
              "unmapped": lambda: instructions(False),
              "unnamed": lambda: instructions(False, ("load", "fetch", "sys")),
              "ordered": ordered, "gone": gone, "hardware": hardware, "kernels": kernels, "copied": lambda *a: copied(ALL, *a),
              "few": lambda *a: copied(1 << SP | 1 << PC, *a),
              "wide": lambda *a: copied(ALL | 1 << 40, *a),
              "blind": lambda *a: copied(1 << BP, *a),
              "other": lambda *a: copied(ALL, *a, BUILD_ID)}
    form = "pipe" if kind.endswith("-pipe") else "file"
    given = [os.path.realpath(sys.argv[3]), *(int(a, 16) for a in sys.argv[4:])] if sys.argv[3:] else []
    recording = makers[kind.split("-")[0]](*given)
    if "-packed" in kind:
        recording.pack(3)
    for _ in range(2 * ("-nested" in kind)):
        recording.pack(1)
    with open(path, "wb") as out:
        out.write(getattr(recording, form)())


if __name__ == "__main__":
    main()

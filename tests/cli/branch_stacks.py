#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Writes a perf.data with the branch stacks of a real run, which no virtual machine records.

    branch_stacks.py PROGRAM RECORDS PLAIN TRUTH

The program (x86-64, not position independent) is stepped, instruction by instruction, from the entry of its
function work() until that returns. So every taken branch is known, and each stack is what a processor's last
branch records would have held: SYNTHESISED from the true path, not recorded by hardware. Samples of
`branches` carry the stacks; those of `cycles`, in which a division takes 40 cycles and all else one, carry
none. PLAIN has the samples of `cycles` alone. TRUTH gets as JSON how often each instruction ran and each branch
was taken."""
import ctypes
import json
import os
import random
import re
import signal
import subprocess
import sys

from perf_data import BRANCHES, PERIOD, Recording

TRACEME, PEEKTEXT, PEEKUSER, POKETEXT, POKEUSER, CONT, SINGLESTEP = 0, 1, 3, 4, 6, 7, 9
RIP, RSP = 16 * 8, 19 * 8  # in struct user
SYS_PTRACE = 101
DIVISION_CYCLES, DEPTH = 40, 16
BRANCHES_PERIOD, CYCLES_PERIOD = 11, 101  # on average: no loop keeps step with them
PID, TIMES = 20, iter(range(10, 1 << 62))

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, address=0, data=0):
    if libc.ptrace(request, pid, address, data) == -1:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")


def peek(pid, request, address):
    """The system call itself, unlike libc's function, stores the word."""
    word = ctypes.c_ulong()
    if libc.syscall(SYS_PTRACE, ctypes.c_long(request), ctypes.c_long(pid), ctypes.c_void_p(address), ctypes.byref(word)):
        raise OSError(ctypes.get_errno(), "ptrace")
    return word.value


def disassemble(program):
    """What follows each instruction, which are divisions, and where work() lies."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", program], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout
    rows = [(int(a, 16), op) for a, op in re.findall(r"^ +([0-9a-f]+):\t(\S+)", text, re.M)]
    follows = {a: b for (a, _), (b, _) in zip(rows, rows[1:])}
    work = int(re.search(r"^([0-9a-f]+) <work>:", text, re.M)[1], 16)
    return follows, {a for a, op in rows if "div" in op}, work


def step_through(program, work):
    """Yields the addresses of the instructions that run, from the first of work() on."""
    pid = os.fork()
    if not pid:
        ptrace(TRACEME, 0)
        os.execv(program, [program])

    def wait():
        _, status = os.waitpid(pid, 0)
        assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTRAP, status
    wait()
    word = peek(pid, PEEKTEXT, work)
    ptrace(POKETEXT, pid, work, word & ~0xff | 0xcc)
    ptrace(CONT, pid)
    wait()
    ptrace(POKETEXT, pid, work, word)
    ptrace(POKEUSER, pid, RIP, work)
    back = peek(pid, PEEKTEXT, peek(pid, PEEKUSER, RSP))
    at = work
    while at != back:
        yield at
        ptrace(SINGLESTEP, pid)
        wait()
        at = peek(pid, PEEKUSER, RIP)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def begin(program, sample_type):
    r = Recording(["branches:u", "cycles:u"], PERIOD | sample_type)
    r.comm(PID, "app", 1)
    for offset, start, size in executable(program):
        r.mmap(PID, start, size, offset, program, 2)
    return r


def executable(program):
    """The segments with code: offset, address, size."""
    text = subprocess.run(["readelf", "-lW", program], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout
    for offset, start, size in re.findall(r"LOAD +(\S+) (\S+) \S+ (\S+) \S+ +R E ", text):
        yield int(offset, 16), int(start, 16), (int(size, 16) + 4095) & ~4095


def main():
    program, *out = os.path.realpath(sys.argv[1]), *sys.argv[2:]
    follows, divisions, work = disassemble(program)
    recorded, plain = begin(program, BRANCHES), begin(program, 0)
    random.seed(1)
    ran, taken, stack, branches, cycles, before = {}, {}, [], 0, 0, None
    for at in step_through(program, work):
        if before is not None and follows[before] != at:
            stack = [(before, at)] + stack[:DEPTH - 1]
            taken[before, at] = taken.get((before, at), 0) + 1
            branches -= 1
            if branches < 0:
                branches = random.randrange(2 * BRANCHES_PERIOD - 1)
                recorded.sample(PID, at, next(TIMES), event=0, period=BRANCHES_PERIOD, branches=stack)
        cycles -= DIVISION_CYCLES if at in divisions else 1
        if cycles < 0:
            cycles += random.randrange(1, 2 * CYCLES_PERIOD)
            time = next(TIMES)
            for r in recorded, plain:
                r.sample(PID, at, time, event=1, period=CYCLES_PERIOD)
        ran[at] = ran.get(at, 0) + 1
        before = at
    for r, path in (recorded, out[0]), (plain, out[1]):
        with open(path, "wb") as file:
            file.write(r.file())
    with open(out[2], "w", encoding="ascii") as file:
        json.dump({"ran": ran, "taken": [[f, t, n] for (f, t), n in taken.items()]}, file)


main()

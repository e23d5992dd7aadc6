# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Loops with one cause each, of many kinds, whose executions and cycles are exact.

Each loop is a function of rounds (rdi) and of its memory (rsi), in assembly that is made here, so that
the number of its instructions is known: `instructions` a round and `once` a call. What belongs to one
kind shares a cause; what must hold of kinds that nobody thought of is tried by leaving whole kinds out.
"""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
RING, STREAM, PLAIN = "ring", "stream", "plain"


class Loop:
    """memory: (form, bytes, stride, huge pages) of loops/main.c; partly: some of the time of a call is
    spent elsewhere, in the kernel or in a callee."""

    def __init__(self, kind, name, body, before=(), memory=(PLAIN, 8192, 64, 0), partly=False,
                 text=None, instructions=None, once=None):
        self.kind, self.name, self.memory, self.partly = kind, name, memory, partly
        self.body, self.before, self.text = list(body), list(before), text
        self.instructions = instructions or sum(not line.endswith(":") for line in self.body) + 2
        # Where a chase ends the next call goes on.
        self.after = ["mov %rsi, %rax"] if memory[0] == RING else []
        self.once = once if once is not None else len(self.before) + 1 + len(self.after)

    def assembly(self):
        if self.text:
            return self.text
        lines = [*self.before, ".p2align 6", f"L{self.name}:", *self.body,
                 "dec %rdi", f"jnz L{self.name}", *self.after, "ret"]
        return "\n\t".join(lines)


def callee(name):
    """What follows is a function of its own."""
    return (f".size loop_{name}, . - loop_{name}\n\t.type callee_{name}, @function\n\t"
            f"callee_{name}:")


def seed():
    return "mov $88172645463325252, %rax"


# A step of a pseudo-random sequence in rax; r8 holds the factor.
FACTOR = "mov $6364136223846793005, %r8"
STEP = ["imul %r8, %rax", "add $1442695, %rax"]


def chains():
    fp = ["mov $0x3ff0000000000000, %rax", "movq %rax, %xmm0", "movq %rax, %xmm1"]
    yield Loop("dependency", "add_chain", ["add %rsi, %rax"] * 16)
    yield Loop("dependency", "imul_chain", ["imul %rsi, %rax"] * 8)
    yield Loop("dependency", "imul_filled", ["imul %rsi, %rax", "mov %rsi, %rcx", "inc %rdx",
                                             "lea 3(%rsi), %r9"] * 6)
    yield Loop("fp_latency", "mulsd_chain", ["mulsd %xmm1, %xmm0"] * 8, fp)
    yield Loop("fp_latency", "addsd_filled", ["addsd %xmm1, %xmm0", "inc %rcx", "inc %rdx"] * 8, fp)
    yield Loop("fp_latency", "convert_chain", ["cvtsi2sd %rax, %xmm0", "cvttsd2si %xmm0, %rax"] * 4,
               fp)
    yield Loop("divider", "div64", ["mov $0x123456789abcdef, %rax", "xor %edx, %edx",
                                    "div %rcx"] * 4, ["mov $7, %ecx"])
    yield Loop("divider", "sqrtsd", ["sqrtsd %xmm1, %xmm0", "sqrtsd %xmm1, %xmm2", "inc %rax"] * 3,
               fp)
    yield Loop("divider", "divsd_chain", ["divsd %xmm1, %xmm0"] * 4 + ["inc %rax"], fp)


def ports():
    regs = ["rax", "rdx", "rcx", "r8", "r9", "r10"]
    yield Loop("port", "pdep", [f"pdep %rsi, %rsi, %{r}" for r in regs])
    yield Loop("port", "crc", [f"crc32q %rsi, %{r}" for r in regs])
    yield Loop("port", "shuffle", [f"imul $7, %rsi, %{r}" for r in regs] * 2)
    yield Loop("issue_width", "nops", ["nop"] * 60)
    yield Loop("issue_width", "mixed", ["lea 1(%rsi), %eax", "nop", "mov %rsi, %rcx",
                                        "xor %edx, %edx", "nop"] * 10)
    yield Loop("issue_width", "loads", ["mov (%rsi), %rax", "mov 64(%rsi), %rcx", "nop", "nop"] * 10)


def mispredicted():
    random = [FACTOR, seed()]
    # The way not taken has one instruction more, half of the time.
    branch = [*STEP, "mov %rax, %rdx", "shr $40, %rdx", "test $1, %edx", "jc 9f", "jnz 9f", "9:"]
    yield Loop("mispredict", "coin", branch, random)
    many = ["mov %rax, %rcx"]
    for bit in range(16):
        many += [f"bt ${20 + 2 * bit}, %rcx", "jc 9f", "9:"]
    yield Loop("mispredict", "coins", STEP + many, random)
    text = "\n\t".join([*random, "lea Tjump(%rip), %r9", "Ljump:", *STEP, "mov %rax, %rdx",
                        "shr $60, %rdx", "jmp *(%r9,%rdx,8)",
                        *[f"Sjump{i}: inc %rcx\n\tdec %rdi\n\tjnz Ljump\n\tret" for i in range(16)],
                        ".pushsection .data.rel.ro,\"aw\"\n\tTjump:",
                        *[f".quad Sjump{i}" for i in range(16)], ".popsection"])
    yield Loop("indirect", "jump", [], text=text, instructions=8, once=4)
    text = "\n\t".join([*random, "lea Tcalls(%rip), %r9", "Lcalls:", *STEP, "mov %rax, %rdx",
                        "shr $60, %rdx", "call *(%r9,%rdx,8)", "dec %rdi", "jnz Lcalls", "ret",
                        callee("calls"),
                        *[f"Scalls{i}: lea {i}(%rcx), %rcx\n\tnop\n\tret" for i in range(16)],
                        ".pushsection .data.rel.ro,\"aw\"\n\tTcalls:",
                        *[f".quad Scalls{i}" for i in range(16)], ".popsection"])
    yield Loop("indirect", "calls", [], text=text, instructions=7, once=4, partly=True)


def front_ends():
    yield Loop("lcp", "lcp_large", ["testw $0x1234, %si", "nop", "testw $0x2345, %cx", "nop"] * 900)
    yield Loop("lcp", "lcp_small", ["addw $0x1234, %ax", "addw $0x2345, %cx", "addw $0x789, %dx"] * 8)
    yield Loop("front_end", "large_code", ["xchg %ax, %ax", "nop", "lea 1(%rsi), %eax"] * 2500)
    yield Loop("front_end", "long_instructions",
               ["mov $0x123456789abcdef0, %rax", "mov $0x123456789abcdef0, %rcx"] * 700)
    yield code_loop("icache", "icache_256k", 4096, 64, 0)
    yield code_loop("icache", "icache_1m", 16384, 64, 0)
    yield code_loop("itlb", "itlb_512", 512, 4096, 61)
    yield code_loop("itlb", "itlb_2048", 2048, 4096, 61)


def code_loop(kind, name, count, stride, skew):
    """Jumps to lines without a pattern: rounds are jumps."""
    order, at = [0] * count, 0
    for i in range(count):
        following = (at * 5 + 12345 if i + 1 < count else 0) % count
        order[at] = following
        at = following
    lines = [".p2align 12", f"L{name}:"]
    for i in range(count):
        lines.append(f".org L{name} + {i * stride + (64 * (i % skew) if skew else 0)}, 0x90")
        lines.append(f"S{name}{i}: dec %rdi\n\tjz E{name}\n\tjmp S{name}{order[i]}")
    lines.append(f"E{name}: ret")
    return Loop(kind, name, [], text="\n\t".join(lines), instructions=3, once=0)


def stores():
    yield Loop("store_forward", "high_part", ["movw %ax, 6(%rsi)", "movq (%rsi), %rax", "inc %rax"])
    yield Loop("store_forward", "high_filled", ["movb %al, 3(%rsi)", "movl (%rsi), %eax",
                                                "inc %rcx", "inc %rdx", "inc %r8"])
    yield Loop("two_stores", "two_halves", ["movl %eax, (%rsi)", "movl %eax, 4(%rsi)",
                                            "movq (%rsi), %rax", "inc %rax"])
    yield Loop("two_stores", "two_quads", ["movq %rax, (%rsi)", "movq %rax, 8(%rsi)",
                                           "movups (%rsi), %xmm0", "movq %xmm0, %rax", "inc %rax"])
    large = (PLAIN, 1 << 27, 64, 1)
    yield Loop("store_buffer", "random_stores", [*STEP, "mov %rax, %rdx", "shr $20, %rdx",
                                                 "and $0x7ffffc0, %edx", "mov %rax, (%rsi,%rdx)"],
               [FACTOR, seed()], large)
    yield Loop("store_buffer", "stride_stores", ["mov %rcx, (%rsi,%rdx)", "add $4160, %rdx",
                                                 "and $0x7ffffc0, %edx"], ["xor %edx, %edx"], large)
    yield Loop("store_buffer", "l2_stores", [*STEP, "mov %rax, %rdx", "shr $20, %rdx",
                                             "and $0x7ffc0, %edx", "mov %rax, (%rsi,%rdx)"],
               [FACTOR, seed()], (PLAIN, 1 << 19, 64, 1))
    yield Loop("nontemporal", "movnti", ["movnti %rax, (%rsi,%rdx)", "add $8, %rdx",
                                         "and $0x3fffff8, %edx"], ["xor %edx, %edx"],
               (PLAIN, 1 << 26, 64, 1))
    yield Loop("nontemporal", "movnti_lines", ["movnti %rax, (%rsi,%rdx)", "add $64, %rdx",
                                               "and $0x3ffffc0, %edx"], ["xor %edx, %edx"],
               (PLAIN, 1 << 26, 64, 1))
    yield Loop("aliasing", "alias_4k", ["movq %rax, (%rsi)", "movq 4096(%rsi), %rax", "inc %rcx"])
    yield Loop("aliasing", "alias_some", ["movq %rax, 64(%rsi)", "movq 4160(%rsi), %rcx",
                                          "add %rcx, %rax", "inc %rdx"] * 2)


def serial():
    yield Loop("lock", "lock_add", ["lock addq $1, (%rsi)", "inc %rax"])
    yield Loop("lock", "xchg", ["xchg %rax, (%rsi)", "inc %rcx", "inc %rdx", "inc %r8"])
    yield Loop("lock", "cmpxchg", ["mov (%rsi), %rax", "lea 1(%rax), %rcx",
                                   "lock cmpxchg %rcx, (%rsi)"] + ["nop"] * 12)
    yield Loop("fence", "mfence", ["movq %rax, (%rsi)", "mfence", "inc %rax"])
    yield Loop("fence", "lfence", ["imul %rsi, %rax", "lfence", "inc %rcx", "inc %rdx"])
    yield Loop("fence", "sfence", ["movq %rax, (%rsi)", "sfence", "inc %rax"] + ["nop"] * 9)
    yield Loop("microcode", "rdtsc", ["rdtsc", "inc %rcx", "inc %rcx"])
    yield Loop("microcode", "pause", ["pause", "inc %rcx"])
    yield Loop("microcode", "fsin", ["fld1", "fsin", "fstp %st(0)", "inc %rcx"])
    yield Loop("rep_string", "rep_stos", ["mov %rsi, %r8", "mov %rdi, %r9", "mov $64, %ecx",
                                          "mov %rsi, %rdi", "rep stosq", "mov %r9, %rdi"])
    yield Loop("rep_string", "rep_movs", ["mov %rsi, %r8", "mov %rdi, %r9", "mov $300, %ecx",
                                          "lea 4096(%rsi), %rdi", "rep movsb", "mov %r9, %rdi",
                                          "mov %r8, %rsi"])
    # The other half of the vector lies in a page that must not be read (loops/main.c).
    guarded = ["vpcmpeqd %xmm0, %xmm0, %xmm0"]
    for name, filler in (("masked_load", 1), ("masked_filled", 20)):
        one = Loop("assist", name, ["vmaskmovps (%rsi), %ymm0, %ymm1"] + ["inc %rax"] * filler,
                   guarded, ("guard", 8192, 64, 0), once=3)
        one.after = ["vzeroupper"]
        yield one
    tiny = ["mov $0x10, %rax", "movq %rax, %xmm1", "mov $0x3fe8000000000000, %rax",
            "movq %rax, %xmm2"]
    yield Loop("denormal", "denormal_mul", ["movaps %xmm1, %xmm0", "mulsd %xmm2, %xmm0",
                                            "addsd %xmm0, %xmm3"] * 3, tiny)
    yield Loop("denormal", "denormal_x87", ["fldl (%rsi)", "fmul %st(0), %st(0)", "fstp %st(0)",
                                            "inc %rax"], [*tiny, "mov $0x10, %rax",
                                                          "movq %rax, (%rsi)"])


def loads():
    chase = ["mov (%rsi), %rsi", "inc %rax"]
    for name, size in (("chase_l1", 1 << 14), ("chase_l2", 1 << 19), ("chase_l3", 1 << 21),
                       ("chase_memory", 1 << 28)):
        yield Loop("chase", name, chase, memory=(RING, size, 64, 1))
    yield Loop("chase", "chase_filled", chase + ["lea 5(%rcx), %rcx", "inc %r8"] * 6,
               memory=(RING, 1 << 28, 64, 1))
    yield Loop("dtlb", "pages_8192", chase, memory=(RING, 1 << 25, 4096, 0))
    yield Loop("dtlb", "pages_1024", chase + ["inc %rcx"] * 4, memory=(RING, 1 << 22, 4096, 0))
    random = ["mov %rax, %rdx", "shr $20, %rdx", "and $0x3ffffc0, %edx", "add (%rsi,%rdx), %rcx"]
    yield Loop("many_misses", "random_loads", [*STEP, *random], [FACTOR, seed()],
               (PLAIN, 1 << 26, 64, 1))
    yield Loop("many_misses", "random_small_pages", [*STEP, *random, "inc %r9", "inc %r10"],
               [FACTOR, seed()], (PLAIN, 1 << 26, 64, 0))
    yield Loop("stream", "sum", ["add (%rsi,%rdx), %rcx", "add $64, %rdx", "and $0x3ffffc0, %edx"],
               ["xor %edx, %edx"], (PLAIN, 1 << 26, 64, 1))
    yield Loop("stream", "sum_words", ["add (%rsi,%rdx), %rcx", "add 8(%rsi,%rdx), %rcx",
                                       "add 16(%rsi,%rdx), %rcx", "add 24(%rsi,%rdx), %rcx",
                                       "add $32, %rdx", "and $0x3ffffe0, %edx"],
               ["xor %edx, %edx"], (PLAIN, 1 << 26, 64, 1))
    yield Loop("split", "split_lines", ["mov 60(%rsi), %rax", "mov 124(%rsi), %rcx",
                                        "mov 188(%rsi), %rdx"] * 3)
    yield Loop("split", "split_pages", ["mov 4092(%rsi), %rax", "inc %rcx", "inc %rcx"] * 2)
    yield Loop("gather", "gather", ["vpcmpeqd %ymm1, %ymm1, %ymm1",
                                    "vpgatherdd %ymm1, (%rsi,%ymm2,4), %ymm3"],
               ["vpxor %xmm2, %xmm2, %xmm2"])
    yield Loop("gather", "gather_filled", ["vpcmpeqd %ymm1, %ymm1, %ymm1",
                                           "vpgatherdd %ymm1, (%rsi,%ymm2,4), %ymm3"]
               + ["inc %rax", "inc %rcx"] * 8, ["vpxor %xmm2, %xmm2, %xmm2"])


def calls_and_kernel():
    text = "\n\t".join(["Lcalled:", "call Scalled", "call Scalled", "dec %rdi", "jnz Lcalled", "ret",
                        callee("called"), "Scalled: inc %rax", "ret"])
    yield Loop("calls", "called", [], text=text, instructions=4, once=1, partly=True)
    text = "\n\t".join(["Ldeep:", "mov $40, %ecx", "call Sdeep", "dec %rdi", "jnz Ldeep", "ret",
                        callee("deep"), "Sdeep: dec %ecx", "jz 9f", "call Sdeep", "9: ret"])
    yield Loop("calls", "deep", [], text=text, instructions=4, once=1, partly=True)
    for name, number in (("getppid", 110), ("bad_close", 3)):
        yield Loop("syscall", name, [f"mov ${number}, %eax", "mov %rdi, %r8", "mov $-1, %edi",
                                     "syscall", "mov %r8, %rdi"], partly=True)
    yield Loop("first_touch", "touch", ["movb $1, (%rsi)", "add $4096, %rsi"],
               memory=("fresh", 1 << 24, 4096, 0), partly=True)
    yield Loop("first_touch", "touch_filled", ["movb $1, (%rsi)", "add $4096, %rsi"]
               + ["add %rcx, %rax"] * 200, memory=("fresh", 1 << 24, 4096, 0), partly=True)


def list_loops():
    loops = []
    for part in (chains, ports, mispredicted, front_ends, stores, serial, loads, calls_and_kernel):
        loops += part()
    return loops


def compile_loops(build, every=None, name="loops"):
    """Writes the assembly and compiles it; returns the program. every: these loops; None: those of list_loops."""
    folder, every = os.path.join(build, "accuracy", name), every or list_loops()
    os.makedirs(folder, exist_ok=True)
    source, table, target = (os.path.join(folder, n) for n in ("loops.s", "loops.inc", name))
    with open(source, "w", encoding="utf-8") as out:
        out.write(".text\n")
        for one in every:
            out.write(f".p2align 6\n.globl loop_{one.name}\n.type loop_{one.name}, @function\n"
                      f"loop_{one.name}:\n\t{one.assembly()}\n"
                      + ("" if "callee_" in one.assembly() else
                         f".size loop_{one.name}, . - loop_{one.name}\n"))
        out.write('.section .note.GNU-stack,"",@progbits\n')
    with open(table, "w", encoding="utf-8") as out:
        for one in every:
            form, size, stride, huge = one.memory
            out.write(f'LOOP({one.name}, "{form}", {size}, {stride}, {huge})\n')
    subprocess.run(["gcc", "-O2", "-g", "-no-pie", "-Wl,--build-id", "-I", folder, "-o", target,
                    os.path.join(HERE, "loops", "main.c"), source], check=True)
    return target


def read_turns(printed):
    """{name: {"calls", "rounds", "ns"}} of what the program prints."""
    rows = (line.split() for line in printed.splitlines())
    return {name: {"calls": int(calls), "rounds": int(rounds), "ns": int(ns)} for name, calls, rounds, ns in rows}


def find_ghz(turns):
    """Cycles a nanosecond of the thread, as the chain of additions between the turns had it: less than the clock's
    frequency by what interrupts and the host take."""
    return turns["clock"]["rounds"] / turns["clock"]["ns"]

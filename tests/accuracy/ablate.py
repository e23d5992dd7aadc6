# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Loops made by chance, of one cause or several, and for each cause the same loop without it.

The truth is what leaving a cause out saves: the difference of the two times, in cycles a round. A cause
goes by a change of operands wherever that is enough (a mask of bits, an address, a register), so that both
loops have the same instructions; what they share costs the same in both. A seed makes one kernel, on every
machine the same; `seeds` says which may choose a rule and which may judge it.
"""
import random

import loops

REGISTERS = ["r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"]
SAVED = {"r12", "r13", "r14", "r15"}
MEGABYTE = 1 << 20

# What chose a rule does not judge it; those of `make check` are of neither.
SEEDS = {"choose": range(0, 150), "judge": range(1000, 1150), "check": range(5000, 5012)}


def step(x):
    """The next number of a pseudo-random sequence; its high bits are the random ones."""
    return [f"imul $1664525, %{x}, %{x}", f"add $1013904223, %{x}"]


MARK = '771: .pushsection .known,"a"; .quad 771b; .popsection\n\t'


def blamed(text):
    return MARK + text


class Cause:
    """One cause in a loop. takes: registers; size: bytes of memory of its own; pages: 1 wants large ones, 0 small
    ones, None any. unknown: causes that it has of itself, with the cause or without. lines(on): of a round, with the
    cause or without."""
    takes, size, pages, unknown = 1, 4096, None, ()

    def __init__(self, draw):
        self.draw_parameters(draw)
        self.registers, self.at = [], 0

    def draw_parameters(self, draw):
        self.times = draw.choice([1, 2, 3, 4, 6])

    def before(self):
        return [f"mov $88172645463325252, %{self.registers[0]}"]

    def skipped(self, _on):
        """Instructions of a round's lines that are not executed, on average."""
        return 0


class Dependency(Cause):
    cause, takes = "dependency", 2

    def draw_parameters(self, draw):
        self.times = draw.choice([4, 8, 12])
        self.step = draw.choice(["imul $7, %{0}, %{1}", "lea 1(%{0},%{0},2), %{1}", "rol $3, %{1}"])

    def lines(self, on):
        x, other = self.registers
        if self.step.startswith("rol"):
            # Turns the same register again and again, or turns another into it.
            return [blamed(f"rol $3, %{x}") if on else f"rorx $3, %{x}, %{other}"] * self.times
        text = self.step.format(x if on else other, x)
        return [blamed(text) if on else text] * self.times


class FloatDependency(Cause):
    cause = "dependency"

    def draw_parameters(self, draw):
        self.times, self.step = draw.choice([2, 4, 6]), draw.choice(["vmulsd", "vaddsd", "vfmadd231sd"])
        self.xmm = draw.choice([3, 5, 7])

    def before(self):
        x = self.registers[0]
        return [f"mov $0x3ff0000000000000, %{x}", f"movq %{x}, %xmm1", f"movq %{x}, %xmm{self.xmm}"]

    def lines(self, on):
        if self.step == "vfmadd231sd":
            text = f"vfmadd231sd %xmm1, %xmm1, %xmm{self.xmm}" if on else f"vmulsd %xmm1, %xmm1, %xmm{self.xmm}"
        else:
            text = f"{self.step} %xmm1, %xmm{self.xmm if on else 1}, %xmm{self.xmm}"
        return [blamed(text) if on else text] * self.times


class Divider(Cause):
    cause = "divider"

    def draw_parameters(self, draw):
        self.times, self.form = draw.choice([1, 2, 3]), draw.choice(["div", "sqrt"])

    def before(self):
        x = self.registers[0]
        return [f"mov $7, %{x}", f"cvtsi2sd %{x}, %xmm13"]

    def lines(self, on):
        x = self.registers[0]
        if self.form == "sqrt":
            return [blamed("vsqrtsd %xmm13, %xmm13, %xmm14") if on else "vmovsd %xmm13, %xmm13, %xmm14"] * self.times
        return ["mov $0x123456789abcdef, %rax", "xor %edx, %edx",
                blamed(f"div %{x}") if on else f"mov %{x}, %rdx"] * self.times


class Port(Cause):
    cause, takes = "port", 2

    def draw_parameters(self, draw):
        self.times = draw.choice([6, 10, 16])
        self.step = draw.choice(["pdep %rsi, %rsi, %{0}", "imul $9, %rsi, %{0}"])

    def lines(self, on):
        """Onto one port, or onto any."""
        names = [self.registers[i % 2] for i in range(self.times)]
        return [blamed(self.step.format(r)) if on else f"lea 9(%rsi), %{r}" for r in names]


class DataCache(Cause):
    cause, takes, pages = "dcache", 2, 1

    def draw_parameters(self, draw):
        self.size = 1 << draw.choice([17, 18, 19, 21, 26])
        self.chained = draw.choice([True, True, False])

    def lines(self, on):
        x, y = self.registers
        mask = (self.size if on else 2048) - 64
        load = f"add {self.at}(%rsi,%{y}), %{x if self.chained else y}"
        return [*step(x), f"mov %{x}, %{y}", f"shr $28, %{y}", f"and ${mask}, %{y}", blamed(load)]


class Pages(Cause):
    # So many lines do not fit into the first cache, side by side or not.
    cause, takes, pages, unknown = "dtlb", 3, 0, ("dcache",)

    def draw_parameters(self, draw):
        self.count = draw.choice([512, 1024, 4096])
        self.size = self.count * 4096

    def lines(self, on):
        """As many lines, each in a page of its own or side by side; by the upper bits of a page's number, so that
        those of pages that lie side by side are of many sets."""
        x, y, z = self.registers
        upper = (self.count // 64).bit_length() - 1
        return [*step(x), f"mov %{x}, %{y}", f"shr $28, %{y}", f"and ${self.count - 1}, %{y}", f"mov %{y}, %{z}",
                f"shl ${12 if on else 6}, %{y}", f"shr ${upper}, %{z}", f"and ${63 if on else 0}, %{z}",
                f"shl $6, %{z}", f"add %{z}, %{y}",
                blamed(f"add {self.at}(%rsi,%{y}), %{x}")]


class Mispredict(Cause):
    cause, takes = "branch_mispredict", 3

    def draw_parameters(self, draw):
        self.times = draw.choice([1, 2, 4])

    def lines(self, on):
        x, y, z = self.registers
        text = [*step(x), f"mov %{x}, %{y}", f"shr $30, %{y}"]
        for bit in range(self.times):
            text += [f"test ${1 << bit if on else 0}, %{y}d", blamed("jnz 9f"), f"lea 1(%{z}), %{z}", "9:"]
        return text

    def skipped(self, on):
        return self.times / 2 if on else 0


class Indirect(Cause):
    cause, takes = "branch_mispredict", 3

    def draw_parameters(self, draw):
        self.ways = draw.choice([4, 8, 16])

    def lines(self, on):
        x, y, z = self.registers
        table = ['.pushsection .data.rel.ro,"aw"', "772:", *[f".quad 77{3 + i % 7}f" for i in range(self.ways)],
                 ".popsection"]
        ways = [line for i in range(7) for line in (f"77{3 + i}:", f"lea {i}(%{z}), %{z}", "jmp 9f")]
        return [*step(x), f"mov %{x}, %{y}", f"shr $30, %{y}", f"and ${self.ways - 1 if on else 0}, %{y}",
                *table, f"lea 772b(%rip), %{z}", blamed(f"jmp *(%{z},%{y},8)"), *ways, "9:"]

    def skipped(self, _on):
        return 12


class StoreForward(Cause):
    cause = "store_forward"

    def draw_parameters(self, draw):
        self.times, self.part = draw.choice([1, 2]), draw.choice([("b", 3), ("w", 4), ("d", 4), ("b", 6)])

    def lines(self, on):
        x, (width, offset) = self.registers[0], self.part
        move = {"b": "movb", "w": "movw", "d": "movl"}[width]
        store = f"{move} %{x}{width}, {self.at + offset}(%rsi)" if on else f"movq %{x}, {self.at}(%rsi)"
        return [blamed(store), f"movq {self.at}(%rsi), %{x}"] * self.times


class StoreBuffer(Cause):
    cause, takes, pages, size = "store_buffer", 2, 1, 64 * MEGABYTE

    def lines(self, on):
        x, y = self.registers
        mask = (self.size if on else 2048) - 64
        return [*step(x), f"mov %{x}, %{y}", f"shr $28, %{y}", f"and ${mask}, %{y}",
                blamed(f"mov %{x}, {self.at}(%rsi,%{y})")]


class Lock(Cause):
    cause = "lock"

    def draw_parameters(self, draw):
        self.times = draw.choice([1, 2])
        self.step = draw.choice(["addq $1, {0}(%rsi)", "xaddq %{1}, {0}(%rsi)", "orq $1, {0}(%rsi)"])

    def lines(self, on):
        text = self.step.format(self.at, self.registers[0])
        return [blamed("lock " + text) if on else text] * self.times


class Fence(Cause):
    cause = "fence"

    def lines(self, on):
        return [f"movq %{self.registers[0]}, {self.at}(%rsi)", blamed("mfence") if on else "nopl (%rax)"]


KINDS = [Dependency, FloatDependency, Divider, Port, DataCache, Pages, Mispredict, Indirect, StoreForward,
         StoreBuffer, Lock, Fence]


def choose_causes(draw):
    """One to three that go together: small pages or large ones, of registers no more than there are."""
    chosen, left = [], len(REGISTERS)
    for kind in draw.sample(KINDS, draw.choice([1, 1, 1, 2, 2, 3])):
        one = kind(draw)
        if one.takes <= left and (one.pages is None or all(o.pages in (None, one.pages) for o in chosen)):
            chosen.append(one)
            left -= one.takes
    return chosen


def place(causes, draw):
    """Gives each its registers and its memory; returns the bytes."""
    names, at = draw.sample(REGISTERS, len(REGISTERS)), 0
    for one in sorted(causes, key=lambda one: -one.size):
        one.registers, names = names[:one.takes], names[one.takes:]
        one.at, at = at, at + one.size + 4096
    return max(1 << (at - 1).bit_length(), 1 << 16)


def count_instructions(lines):
    count, elsewhere = 0, False
    for line in lines:
        elsewhere = elsewhere or line.startswith(".pushsection")
        count += not elsewhere and not line.endswith(":")
        elsewhere = elsewhere and line != ".popsection"
    return count


class Kernel:
    """whole: the loop; without: [(cause's name, the loop that lacks it, how many of its rounds are one of the
    whole's)];
    marks: of each mark in the whole loop, which cause it is of."""

    def __init__(self, seed, draw):
        self.seed, self.causes = seed, choose_causes(draw)
        self.bytes = place(self.causes, draw)
        self.pages = next((one.pages for one in self.causes if one.pages is not None), 1)
        self.filler = [draw.choice(["nop", "mov %rsi, %rdx", "lea 1(%rsi), %eax", "nopl (%rax)"])
                       for _ in range(draw.choice([0, 0, 4, 10, 20]))]
        self.whole = self.make_loop(f"k{seed}", None)
        names = sorted({one.cause for one in self.causes})
        self.without = [(name, self.make_loop(f"k{seed}_{i}", name), 1) for i, name in enumerate(names)]
        self.marks = [one for one in self.causes for line in one.lines(True) if line.startswith(MARK)]
        self.unknown = sorted({cause for one in self.causes for cause in one.unknown})

    def make_loop(self, name, left_out):
        used = [r for one in self.causes for r in one.registers]
        saved = [r for r in used if r in SAVED]
        body, skipped = [], 0
        for one in self.causes:
            body += [*one.lines(one.cause != left_out), *self.filler]
            skipped += one.skipped(one.cause != left_out)
        before = [f"push %{r}" for r in saved]
        for one in self.causes:
            before += [f"mov $0, %{r}" for r in one.registers] + one.before()
        loop = loops.Loop("made", name, body, before, (loops.PLAIN, self.bytes, 64, self.pages),
                          instructions=count_instructions(body) - skipped + 2, once=len(before) + len(saved) + 1)
        loop.after = [f"pop %{r}" for r in reversed(saved)]
        return loop


class CodeKernel:
    """More code than something holds, and as much as it holds."""

    def __init__(self, seed, draw):
        self.seed, self.marks, self.unknown = seed, [], []
        cause, name = draw.choice(["icache", "itlb", "front_end"]), f"k{seed}"
        if cause == "front_end":
            # What is decoded again and again, of 24 KB at most: the first cache of instructions holds it.
            body = draw.sample(["xchg %ax, %ax", "nop", "lea 1(%rsi), %eax", "mov $0x123456789abcdef0, %rdx",
                                "lea 0x1234(%rsi,%rsi,4), %ecx"], 3)
            self.whole, small = (loops.Loop("made", name + part, body * times)
                                 for part, times in (("", draw.choice([900, 1200])), ("_0", 20)))
        elif cause == "icache":
            # As many jumps, as far apart as a line is long or a quarter of it.
            count = draw.choice([1024, 1400])
            self.whole, small = (loops.code_loop("made", name + part, count, stride, 0)
                                 for part, stride in (("", draw.choice([64, 128])), ("_0", 16)))
        else:
            # Lines of as many places do not fit into the first cache, whatever their pages.
            self.unknown = ["icache"]
            count = draw.choice([512, 1024, 1400])
            self.whole, small = (loops.code_loop("made", name + part, count, stride, skew)
                                 for part, stride, skew in (("", 4096, 61), ("_0", 64, 0)))
        self.without = [(cause, small, self.whole.instructions / small.instructions)]


def make_kernel(seed):
    draw = random.Random(seed)
    return (CodeKernel if draw.random() < 0.1 else Kernel)(seed, draw)


def list_loops(kernels):
    return [loop for kernel in kernels for loop in [kernel.whole, *[one[1] for one in kernel.without]]]

#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The machine model beside llvm-mca on blocks of real programs, and beside the clock on blocks that
nobody tuned it to.

    bench/machine_blocks.py BUILD [--core zen4] [--count 200] [--seed 1] [--worst 12] [FILE...]

Without --core: random blocks of simple instructions, timed here. With it: random basic blocks of
FILE... (default: some libraries of this machine), by llvm-mca-19 with the core's model and by the
simulator, and the time that each took.
"""
import argparse
import glob
import os
import random
import re
import resource
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

LLVM = {"skylake": "skylake-avx512", "icelake": "icelake-server", "alderlake-p": "alderlake",
        "sapphirerapids": "sapphirerapids", "zen3": "znver3", "zen4": "znver4"}
FILES = ["/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
         "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/python3", "/usr/bin/perl"]
ENDS = re.compile(r"\b(j\w+|call|ret|loop|syscall|hlt|ud2|int3|leave|notrack|bnd|rep\w*|lock)\b")
# Data among the code decodes to these; no compiler makes them.
RARE = re.compile(r"^\s*(in|out|ins|outs|enter|iret|scas|lods|movs[bwlq]? |stos|xlat|f\w+|xchg|cl[id]|"
                  r"st[cid]|cmc|sahf|lahf|pushf|popf|cwtl|r[co]l|rcr|lea.*%[c-g]s|les|lds)")
# Registers rax rcx rdx r8 r10 r11 change; rsi and r9 hold an address.
REGISTERS = ["rax", "rcx", "rdx", "r8", "r10", "r11"]
SHORT = {"rax": "eax", "rcx": "ecx", "rdx": "edx", "r8": "r8d", "r10": "r10d", "r11": "r11d"}


def run(argv, text):
    return subprocess.run(argv, input=text, capture_output=True, text=True, check=True).stdout


def random_vector(draw, wide):
    """Old encodings and new ones are not mixed: no compiler does."""
    memory = f"{8 * draw.randrange(200)}(%{draw.choice(['rsi', 'r9'])})"
    x, y, z = (f"%{'ymm' if wide else 'xmm'}{draw.randrange(8)}" for _ in range(3))
    if not wide:
        return draw.choice([
            f"movups {memory},{x}", f"movups {x},{memory}", f"paddd {x},{y}", f"pxor {x},{y}",
            f"pshufd $27,{x},{y}", f"mulps {x},{y}", f"addpd {x},{y}", f"movaps {x},{y}",
            f"punpcklbw {x},{y}", f"psrlq $3,{x}", f"pmulld {x},{y}", f"mulsd {x},{y}"])
    return draw.choice([
        f"vmovups {memory},{x}", f"vmovups {x},{memory}", f"vpaddq {x},{y},{z}",
        f"vfmadd231ps {x},{y},{z}", f"vpxor {x},{y},{z}", f"vmulpd {x},{y},{z}",
        f"vaddps {x},{y},{z}", f"vpshufb {x},{y},{z}", f"vpsrlq $3,{x},{y}", f"vmovaps {x},{y}",
        f"vpunpcklbw {x},{y},{z}", f"vandps {x},{y},{z}"])


def random_integer(draw):
    a, b = (draw.choice(REGISTERS) for _ in range(2))
    base, offset = draw.choice(["rsi", "r9"]), 8 * draw.randrange(200)
    return draw.choice([
        f"{draw.choice(['add', 'sub', 'and', 'or', 'xor'])} %{a},%{b}",
        f"{draw.choice(['add', 'sub', 'and', 'xor'])} ${draw.randrange(1, 90)},%{a}",
        f"mov %{a},%{b}", f"lea {offset}(%{a}),%{b}", f"lea {offset}(%{a},%{b},4),%{b}",
        f"imul %{a},%{b}", f"shl $3,%{a}", f"shr $5,%{SHORT[a]}", f"ror $7,%{a}",
        f"popcnt %{a},%{b}", f"bswap %{a}", f"neg %{a}", f"adc %{a},%{b}",
        f"cmp %{a},%{b}\ncmovb %{b},%{a}", f"movzbl %{draw.choice(['al', 'cl', 'dl'])},%{SHORT[b]}",
        f"test %{a},%{a}\nsetz %dl", f"xor %{SHORT[a]},%{SHORT[a]}",
        f"mov {offset}(%{base}),%{a}", f"mov {offset}(%{base}),%{a}",
        f"mov %{a},{offset}(%{base})", f"add {offset}(%{base}),%{a}", f"add %{a},{offset}(%{base})",
        f"movzwl {offset}(%{base}),%{SHORT[a]}",
    ])


def random_block(draw):
    """Assembly that may run in a loop: integer code, a third of the blocks with vectors too."""
    vectors, wide = draw.choice([0, 0, 0.5]), draw.random() < 0.5
    return "\n".join(random_vector(draw, wide) if draw.random() < vectors else random_integer(draw)
                     for _ in range(draw.randrange(4, 24)))


def assemble(blocks):
    """Hex of each block."""
    text = "\n".join(f"b{i}:\n{b}" for i, b in enumerate(blocks))
    out = run(["llvm-mc-19", "-triple=x86_64", "-show-encoding", "-mattr=+avx2,+fma,+bmi,+bmi2"],
              text + "\n")
    result = []
    for line in out.splitlines():
        if re.match(r"b\d+:", line):
            result.append("")
        found = re.search(r"encoding: \[([^\]]*)\]", line)
        if found:
            result[-1] += found[1].replace("0x", "").replace(",", "")
    return result


def real_blocks(files, draw, count):
    """Hex of basic blocks of 4 to 40 instructions without their jumps."""
    found = []
    for name in files:
        out = subprocess.run(["objdump", "-d", "--no-addresses", "-w", name], capture_output=True,
                             text=True, check=True).stdout
        block = []
        for line in out.splitlines():
            part = line.split("\t")
            if len(part) < 3 or "(bad)" in line or ENDS.search(part[2]) or part[2].startswith("nop"):
                if 4 <= len(block) <= 40 and block[0][0] != "x":
                    found.append("".join(block))
                block = []
                continue
            if RARE.search(part[2]):
                block = ["x" * 1000]  # too long: not taken
                continue
            block.append(part[1].replace(" ", ""))
    return draw.sample(found, min(count, len(found)))


def mca(block, cpu, rounds):
    """What llvm-mca prints, and the seconds of CPU that it took."""
    code = " ".join("0x" + block[i:i + 2] for i in range(0, len(block), 2))
    text = run(["llvm-mc-19", "-triple=x86_64", "-disassemble"], code)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(["llvm-mca-19", f"-mcpu={cpu}", f"-iterations={rounds}",
                           "-instruction-info=false", "-resource-pressure=false"], input=text,
                          capture_output=True, text=True, check=False)
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def mca_cycles(block, cpu):
    """Cycles a round; None when LLVM cannot."""
    cycles = re.search(r"Total Cycles:\s+(\d+)", mca(block, cpu, 200)[0])
    return int(cycles[1]) / 200 if cycles else None


def mca_speed(block, cpu):
    """Million instructions a second, the start of its process left out."""
    short, long = mca(block, cpu, 1000), mca(block, cpu, 51000)
    count = [int(re.search(r"Instructions:\s+(\d+)", t)[1]) for t, _ in (short, long)]
    return (count[1] - count[0]) / max(long[1] - short[1], 1e-3) / 1e6


def own_speed(build):
    out = run([os.path.join(build, "bench", "bench-machine")], "")
    return float(re.search(r"^row\tthe simulator\t[^\t]*\t([0-9.]+)", out, re.M)[1])


def disassemble(block):
    code = " ".join("0x" + block[i:i + 2] for i in range(0, len(block), 2))
    text = run(["llvm-mc-19", "-triple=x86_64", "-disassemble"], code)
    return "; ".join(" ".join(line.split()) for line in text.splitlines() if ".text" not in line)


def show(pairs, what, worst):
    """pairs: (reference, simulated, bound, block)"""
    errors = sorted(abs(s / r - 1) for r, s, _, _ in pairs)
    within = [100 * sum(e <= w for e in errors) / len(errors) for w in (0.05, 0.1, 0.2, 0.5)]
    print(f"{len(pairs)} blocks; simulated against {what}: median error "
          f"{100 * statistics.median(errors):.1f}%, mean {100 * statistics.mean(errors):.1f}%; "
          f"within 5/10/20/50%: {within[0]:.0f} {within[1]:.0f} {within[2]:.0f} {within[3]:.0f}%; "
          f"mean of simulated/{what}: {statistics.mean(s / r for r, s, _, _ in pairs):.2f}")
    measure.row(f"simulated cycles of {len(pairs)} blocks against {what}, median error", "%",
                100 * statistics.median(errors), "-", "-")
    measure.row("the same, blocks within 20%", "%", within[2], "-", "-")
    for r, s, bound, block in sorted(pairs, key=lambda p: -abs(p[1] / p[0] - 1))[:worst]:
        print(f"  {what} {r:7.2f} simulated {s:7.2f} {bound:13} {disassemble(block)[:230]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--core", choices=sorted(LLVM))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=12)
    parser.add_argument("--builtin", action="store_true")
    parser.add_argument("--quick", action="store_true", help="50 blocks")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    if args.quick or os.environ.get("CULPRIT_BENCH_QUICK"):
        args.count = min(args.count, 50)
    tool = [os.path.join(args.build, "bench", "machine-blocks")]
    tool += ["--builtin"] if args.builtin else []
    if not args.core:
        blocks = assemble(random_block(draw) for _ in range(args.count))
        out = run(tool + ["--time"], "\n".join(blocks) + "\n").split("\n")
        rows = [line.split() for line in out if line]
        pairs = [(float(r[2]), float(r[0]), r[1], b) for r, b in zip(rows, blocks) if float(r[2]) > 0]
        if len(pairs) < len(blocks):
            print(f"{len(blocks) - len(pairs)} blocks were disturbed all the while: left out")
        if pairs:
            show(pairs, "measured", args.worst)
        return 0
    files = args.files or [f for f in FILES if glob.glob(f)]
    blocks = real_blocks(files, draw, args.count)
    reference = [mca_cycles(b, LLVM[args.core]) for b in blocks]
    blocks = [b for b, r in zip(blocks, reference) if r]
    reference = [r for r in reference if r]
    rows = [line.split() for line in
            run(tool + ["--core", args.core], "\n".join(blocks) + "\n").split("\n") if line]
    show([(r, float(o[0]), o[1], b) for r, o, b in zip(reference, rows, blocks)], "llvm-mca",
         args.worst)
    mca, ours = mca_speed(blocks[0], LLVM[args.core]), own_speed(args.build)
    measure.row("the simulator", "million instructions/s", ours, "llvm-mca", mca)
    return 0


if __name__ == "__main__":
    sys.exit(main())

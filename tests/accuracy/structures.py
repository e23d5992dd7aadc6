#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Whether the loops of culprit struct are those of the source: of programs that are compiled here.

    tests/accuracy/structures.py BUILD SOURCES [NAME...]

SOURCES: where the sources of Debian's packages are or will be unpacked. Without optimisation each loop of clang's
syntax tree must be found. With -O2 a program is sampled, and counted is the share of the samples that are given to
the loop of the source that they are in: by the line and column of their instruction, and of the calls around it
where that was inlined. Prints tables in Markdown.
"""
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import culprit  # noqa: E402
import source_loops  # noqa: E402


class Program:
    def __init__(self, name, package, sources, run, options=(), libraries=(), leave=(), held_out=True, files=()):
        self.name, self.package, self.sources, self.run, self.files = name, package, sources, run, dict(files)
        self.options, self.libraries, self.leave, self.held_out = list(options), list(libraries), leave, held_out

    def is_cxx(self):
        return any(s.endswith((".cc", ".cpp")) for s in self.sources)


# INPUT: a text of some megabytes, made here. Those not held out were looked at while the rules were chosen.
PROGRAMS = [
    Program("bzip2", "bzip2", ["blocksort.c", "huffman.c", "crctable.c", "randtable.c", "compress.c", "decompress.c",
                               "bzlib.c", "bzip2.c"], ["-kc", "INPUT"], ["-D_FILE_OFFSET_BITS=64"], held_out=False),
    Program("minigzip", "zlib", ["*.c", "test/minigzip.c"], ["-9", "-c", "INPUT"], ["-I.", "-DHAVE_UNISTD_H"],
            held_out=False),
    Program("lua", "lua5.4", ["src/*.c"], ["QUEENS"], ["-DLUA_USE_POSIX"], ["-lm"], ["luac.c"],
            held_out=False, files={"src/lua5.4-deb-multiarch.h": '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"\n'}),
    Program("lz4", "lz4", ["lib/*.c", "programs/*.c"], ["-9", "-f", "INPUT", "OUTPUT"],
            ["-Ilib", "-DXXH_NAMESPACE=LZ4_", "-DLZ4IO_MULTITHREAD=0"], ["-lpthread"], held_out=False),
    Program("zopfli", "zopfli", ["src/zopfli/*.c"], ["--i1", "-c", "SMALL"], [], ["-lm"]),
    Program("lzip", "lzip", ["*.cc"], ["-kc", "INPUT"], ['-DPROGVERSION="1"']),
    Program("brotli", "brotli", ["c/common/*.c", "c/dec/*.c", "c/enc/*.c", "c/tools/brotli.c"],
            ["-c", "-q", "9", "INPUT"], ["-Ic/include", "-DOS_LINUX"], ["-lm"]),
    Program("zstd", "libzstd", ["lib/common/*.c", "lib/compress/*.c", "lib/decompress/*.c", "lib/dictBuilder/*.c",
                                "programs/*.c"], ["-9", "-f", "-o", "OUTPUT", "INPUT"],
            ["-Ilib", "-Ilib/common", "-DZSTD_DISABLE_ASM"], ["-lpthread"]),
    Program("zpaq", "zpaq", ["*.cpp"], ["a", "OUTPUT.zpaq", "SMALL", "-m3", "-t1"], ["-Dunix", "-DNOJIT"], ["-lpthread"]),
    Program("tcc", "tcc", ["tcc.c"], ["-c", "-o", "OUTPUT", "BIGC"], [], ["-lm", "-ldl", "-lpthread"],
            files={"config.h": '#define TCC_VERSION "0"\n#define CONFIG_TCCDIR "/"\n'}),
]


def find_folder(sources, program):
    """Where its package is unpacked; gets it where it is not."""
    found = sorted(glob.glob(os.path.join(sources, program.package + "-*/")))
    if not found:
        subprocess.run(["apt-get", "source", "-qq", program.package], cwd=sources, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = sorted(glob.glob(os.path.join(sources, program.package + "-*/")))
    for name, text in program.files.items():
        with open(os.path.join(found[0], name), "w", encoding="utf-8") as file:
            file.write(text)
    return found[0]


def list_sources(folder, program):
    found = [path for pattern in program.sources for path in sorted(glob.glob(os.path.join(folder, pattern)))]
    return [path for path in found if os.path.basename(path) not in program.leave]


def compile_program(folder, program, level, target, compiler=None):
    compiler = compiler or ("clang++" if program.is_cxx() else "clang")
    subprocess.run([compiler, "-w", "-g", level, *program.options, "-o", target, *list_sources(folder, program),
                    *program.libraries], cwd=folder, check=True)


def read_source_loops(folder, program):
    here, loops = os.getcwd(), []
    os.chdir(folder)
    for source in list_sources(folder, program):
        loops.append(source_loops.read(source, program.options, "clang++" if program.is_cxx() else "clang"))
    os.chdir(here)
    return source_loops.Loops(loops)


def read_structure(build, target, folder):
    """Clang's files may be relative to the folder in which it ran."""
    structure = culprit.run_json([os.path.join(build, "culprit"), "struct", "--json", target])
    for file in structure["files"]:
        for function in file["functions"]:
            for scope, _ in walk(function):
                if scope["file"]:
                    scope["file"] = os.path.normpath(os.path.join(folder, scope["file"]))
    return structure


def walk(scope, around=()):
    yield scope, around
    for inner in scope.get("scopes", []):
        yield from walk(inner, around + (scope,))


def find_loop(loops, scope):
    """The loop of the source that a loop of the structure is."""
    if not scope["first_line"] or not scope["file"]:
        return None
    return loops.innermost(scope["file"], (scope["first_line"],), (scope["last_line"],))


def compare(structure, loops):
    """(loops of the source that have code, those not found, loops found that are none of these)."""
    functions, found, extra = [], {}, []
    for file in structure["files"]:
        for function in file["functions"]:
            for scope, around in walk(function):
                if scope["kind"] == "function" and scope["file"] and scope["first_line"]:
                    functions.append((scope["file"], scope["first_line"], scope["last_line"]))
                if scope["kind"] == "loop":
                    loop = find_loop(loops, scope)
                    calls = tuple(s["call_line"] for s in around if s["kind"] == "inlined")
                    key = (function["entry"], calls, id(loop))
                    found[key] = found.get(key, 0) + 1
                    if loop is None or found[key] > loops.count(loop):
                        extra.append((scope["file"], scope["first_line"], scope["last_line"], scope["header"]))
    have = {key[-1] for key in found}
    wanted = [loop for loop in loops.all()
              if any(f[0] == loop.file and f[1] <= loop.begin[0] and loop.end[0] <= f[2] for f in functions)]
    return wanted, [loop for loop in wanted if id(loop) not in have], extra


def symbolize(target, addresses, folder):
    """{address: [(file, line, column), ...] from the innermost frame outwards}."""
    text = "".join(f"0x{a:x}\n" for a in addresses)
    run = subprocess.run(["llvm-symbolizer", "--inlines", "--output-style=JSON", "-e", target], input=text.encode(),
                         stdout=subprocess.PIPE, check=True)
    frames = {}
    for line in run.stdout.splitlines():
        answer = json.loads(line)
        frames[int(answer["Address"], 16)] = [(os.path.normpath(os.path.join(folder, f["FileName"])), f["Line"], f["Column"])
                                              for f in answer.get("Symbol", [])]
    return frames


def true_loop(loops, frames):
    """(whether it is known, the loop of the source)."""
    if not frames or not frames[0][1]:
        return False, None
    for file, line, column in frames:
        loop = loops.innermost(file, (line, column)) if line else None
        if loop:
            return True, loop
    return True, None


class Answers:
    """Which loop an address is given to: by the structure, and by the machine code's loops alone."""

    def __init__(self, structure):
        self.statements, self.loops = [], []
        for file in structure["files"]:
            for function in file["functions"]:
                for scope, around in walk(function):
                    inner = [s for s in around + (scope,) if s["kind"] == "loop"]
                    for start, end in scope.get("ranges", []):
                        if scope["kind"] == "statement":
                            self.statements.append((int(start, 16), int(end, 16), inner[-1] if inner else None))
                        elif scope["kind"] == "loop":
                            self.loops.append((int(start, 16), int(end, 16), scope))

    def of(self, address):
        own = [loop for start, end, loop in self.statements if start <= address < end]
        return own[0] if own else self.of_machine(address)

    def of_machine(self, address):
        own = [loop for start, end, loop in self.loops if start <= address < end]
        return max(own, key=lambda loop: loop["depth"]) if own else None


def score(structure, loops, samples, frames):
    """Shares of the samples: known, in loops; right of those known; right where a loop is; by the machine's loops."""
    answers, sums, wrong = Answers(structure), dict.fromkeys(("all", "known", "in", "right", "right_in", "machine"), 0), {}
    for address, count in samples.items():
        known, loop = true_loop(loops, frames.get(address))
        sums["all"] += count
        if not known:
            continue
        ours, machine = answers.of(address), answers.of_machine(address)
        mine = find_loop(loops, ours) if ours else None
        sums["known"] += count
        sums["in"] += count if loop else 0
        sums["machine"] += count if (find_loop(loops, machine) if machine else None) is loop else 0
        if mine is loop:
            sums["right"] += count
            sums["right_in"] += count if loop else 0
        else:
            key = (str(loop), str(mine), str(frames[address][0][1]))
            wrong[key] = wrong.get(key, 0) + count
    return sums, sorted(wrong.items(), key=lambda item: -item[1])


def make_inputs(work):
    """The same each time: words by chance, and a program that has much to do."""
    state, words = 1, ["loop", "line", "sample", "block", "while", "of", "the", "a", "structure", "time", "\n"]
    text = []
    for _ in range(700000):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        text.append(words[(state >> 33) % len(words)] if state >> 60 else str(state >> 40))
    data = " ".join(text).encode()
    queens = """local N = 9
local function ok(a, n, c) for i = 1, n - 1 do if a[i] == c or a[i] - i == c - n or a[i] + i == c + n then return false end end return true end
local count = 0
local function add(a, n) if n > N then count = count + 1 else for c = 1, N do if ok(a, n, c) then a[n] = c add(a, n + 1) end end end end
for i = 1, 3 do add({}, 1) end
local t = {} for i = 1, 200000 do t[i] = tostring((i * 7919) % 100003) end table.sort(t) print(count, #table.concat(t))
"""
    source = "".join(f"int f{i}(int a) {{ int s = {i}; for (int k = 0; k < a; k++) s += k * {i} + (s >> 3); return s; }}\n"
                     for i in range(60000))
    for name, content in (("INPUT", data), ("SMALL", data[:300000]), ("QUEENS", queens.encode()),
                          ("BIG.c", source.encode())):
        with open(os.path.join(work, name), "wb") as file:
            file.write(content)


def argv_of(program, target, work):
    names = {"INPUT": "INPUT", "SMALL": "SMALL", "QUEENS": "QUEENS", "BIGC": "BIG.c", "OUTPUT": "OUTPUT",
             "OUTPUT.zpaq": "OUTPUT.zpaq"}
    return [target] + [os.path.join(work, names[a]) if a in names else a for a in program.run]


def sample(build, work, program, target):
    database = os.path.join(work, program.name + ".db")
    for name in glob.glob(os.path.join(work, "OUTPUT*")):
        os.unlink(name)
    culprit.record(build, database, argv_of(program, target, work), ["-F", "2500"], work, os.environ)
    return culprit.read_samples(build, database)[0]


def measure(build, sources, work, program, verbose):
    folder = find_folder(sources, program)
    loops = read_source_loops(folder, program)
    plain, fast = (os.path.join(work, program.name + level) for level in ("-O0", "-O2"))
    compile_program(folder, program, "-O0", plain)
    wanted, missing, extra = compare(read_structure(build, plain, folder), loops)
    # Not every jump back comes back to itself: those that are no loop of the code are none of the truth's.
    loops.remove([loop for loop in missing if loop.kind == "goto"])
    row = {"program": program, "loops": len(wanted), "missing": missing, "extra": len(extra), "o2": [],
           "jumps": sum(loop.kind == "goto" for loop in wanted)}
    if verbose:
        print(f"{program.name}: not found {missing}\nextra {extra}", file=sys.stderr)
    for compiler in ("clang++", "g++") if program.is_cxx() else ("clang", "gcc"):
        compile_program(folder, program, "-O2", fast, compiler)
        structure = read_structure(build, fast, folder)
        samples = sample(build, work, program, fast).get(structure["build_id"], {})
        sums, wrong = score(structure, loops, samples, symbolize(fast, samples, folder))
        row["o2"].append((compiler, sums))
        for key, number in wrong[:12] if verbose else []:
            print(f"{program.name} {compiler}: {100 * number / sums['all']:.1f}% true {key[0]}, given {key[1]}, line {key[2]}",
                  file=sys.stderr)
    return row


def count_kinds(row):
    """Loops and those found, then jumps back and those that are loops."""
    gone = sum(loop.kind == "goto" for loop in row["missing"])
    jumps = row["jumps"]
    return row["loops"] - jumps, row["loops"] - jumps - (len(row["missing"]) - gone), jumps, jumps - gone


def percent(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else "-"


def main():
    verbose = "-v" in sys.argv
    arguments = [a for a in sys.argv[1:] if a != "-v"]
    if len(arguments) < 2:
        sys.exit(__doc__)
    build, sources = map(os.path.abspath, arguments[:2])
    work = os.path.join(build, "accuracy-structures")
    os.makedirs(work, exist_ok=True)
    make_inputs(work)
    rows = [measure(build, sources, work, p, verbose) for p in PROGRAMS if not arguments[2:] or p.name in arguments[2:]]
    print("| program, -O0 | for, while, do | found | jumps back | loops | other loops found |\n" + "| --- " * 6 + "|")
    for row in rows:
        print(f"| {row['program'].name} | " + " | ".join(map(str, count_kinds(row))) + f" | {row['extra']} |")
    print("\n| program, -O2 | compiler | chose the rules | samples | line known | in loops | right | right, in loops | "
          "right by the machine's loops |\n" + "| --- " * 9 + "|")
    for row in rows:
        for compiler, s in row["o2"]:
            print(f"| {row['program'].name} | {compiler} | {'no' if row['program'].held_out else 'yes'} | {s['all']} | "
                  f"{percent(s['known'], s['all'])} | {percent(s['in'], s['known'])} | {percent(s['right'], s['known'])} | "
                  f"{percent(s['right_in'], s['in'])} | {percent(s['machine'], s['known'])} |")


if __name__ == "__main__":
    main()

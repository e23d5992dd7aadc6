# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Compares the stacks of a recording's processes, frame by frame, as perf script unwinds them and as
`culprit import` did.

    perf_stacks.py CULPRIT PPROF_PROTO RECORDING DB [SHOW]

A frame is (file, offset in it); frames of the kernel are left aside. Prints a line of numbers:
stacks of each, equal in every frame, of which as far as the shorter goes, complete by each."""
import collections
import functools
import os
import re
import struct
import subprocess
import sys
import tempfile

ROOTS = ("_start", "clone", "clone3", "__clone", "__clone3", "start_thread")


@functools.lru_cache(None)
def segments(path):
    """(address, offset, size) of what an ELF file has loaded."""
    try:
        with open(path, "rb") as f:
            head = f.read(64)
            at, = struct.unpack_from("<Q", head, 32)
            each, count = struct.unpack_from("<HH", head, 54)
            f.seek(at)
            table = f.read(each * count)
    except OSError:
        return []
    found = []
    for i in range(count):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", table, i * each)
        if kind == 1:
            found.append((address, offset, size))
    return found


def file_offset(path, address):
    for start, offset, size in segments(path):
        if start <= address < start + size:
            return address - start + offset
    return address


def perf_stacks(recording):
    """Lists of (file, offset, symbol), the innermost frame first."""
    text = subprocess.run(["perf", "script", "-i", recording, "--no-inline", "-F", "comm,ip,sym,dso"],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    stack = None
    for line in text.decode("utf-8", "replace").splitlines():
        frame = re.match(r"\s+([0-9a-f]+) (.*) \((.*)\)$", line)
        if frame and stack is not None:
            stack.append((frame[3], int(frame[1], 16), frame[2].split("@")[0]))
        elif not line.strip():
            if stack is not None:
                yield stack
            stack = None
        else:
            stack = []


def fields(lines):
    """protoc's text to a list of (name, text or list)."""
    found = []
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith("{"):
            found.append((line[:-2], fields(lines)))
        else:
            name, value = line.split(": ", 1)
            found.append((name, value))
    return found


def culprit_stacks(culprit, proto, db):
    """Lists of (file, offset, symbol), and how often each was taken."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "p.gz")
        subprocess.run([culprit, "export", "-i", db, "--pprof", out], check=True)
        raw = subprocess.run(["gzip", "-dc", out], check=True, stdout=subprocess.PIPE).stdout
    text = subprocess.run(["protoc", "--proto_path=" + os.path.dirname(proto),
                           "--decode=culprit.pprof.Profile", proto], input=raw, check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    profile = fields(iter(text.splitlines()))
    strings = [eval(v) for n, v in profile if n == "string_table"]  # quoted as in C
    mappings, functions, locations = {}, {}, {}
    for name, value in profile:
        if name in ("mapping", "function", "location"):
            entry = dict(value)
            number = int(entry["id"])
            if name == "mapping":
                mappings[number] = strings[int(entry.get("filename", 0))]
            elif name == "function":
                functions[number] = strings[int(entry.get("name", 0))]
            else:
                lines = [dict(v) for n, v in value if n == "line"]
                last = int(lines[-1].get("function_id", 0)) if lines else 0
                locations[number] = (int(entry.get("mapping_id", 0)), int(entry.get("address", 0)), last)
    for name, value in profile:
        if name != "sample":
            continue
        stack = []
        for n, v in value:
            if n == "location_id":
                mapping, address, function = locations[int(v)]
                path = mappings.get(mapping, "")
                stack.append((path, file_offset(path, address) if path else address,
                              functions.get(function, "")))
        yield stack, int(next(v for n, v in value if n == "value"))


def of_process(stack):
    """Only frames in files; [truncated: ...] and the kernel's are none."""
    return tuple((os.path.basename(path), offset) for path, offset, _ in stack
                 if path.startswith("/") or path == "[vdso]")


def main():
    culprit, proto, recording, db = sys.argv[1:5]
    show = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    theirs, ours, names = collections.Counter(), collections.Counter(), {}
    whole = [0, 0]
    for stack in perf_stacks(recording):
        names.update({(os.path.basename(p), o): s for p, o, s in stack})
        theirs[of_process(stack)] += 1
        whole[0] += bool(stack) and stack[-1][2] in ROOTS
    for stack, count in culprit_stacks(culprit, proto, db):
        names.update({(os.path.basename(p), o): s for p, o, s in stack})
        ours[of_process(stack)] += count
        whole[1] += count * (not any("[truncated" in symbol for _, _, symbol in stack))
    equal = ours & theirs
    left, right = ours - equal, theirs - equal
    longer = prefixes = 0
    for stack, count in right.items():
        for other in left:
            short = min(len(stack), len(other))
            if short and stack[:short] == other[:short] and left[other] > 0:
                both = min(count, left[other])
                left[other] -= both
                prefixes += both
                longer += both * (len(other) > len(stack))
                break
    print(f"perf {sum(theirs.values())} culprit {sum(ours.values())} equal {sum(equal.values())} "
          f"prefix {prefixes} longer {longer} perf_whole {whole[0]} culprit_whole {whole[1]}")
    for stacks, who in ((right, "perf"), (left, "culprit")):
        for stack, count in stacks.most_common(show):
            print(who, count, *(f"\n    {f} {o:x} {names.get((f, o))}" for f, o in stack))


main()

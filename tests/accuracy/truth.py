# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Exact counts of one run of a program, from callgrind, kept as BUILD/accuracy-truth/NAME.json.

README.md describes the files. A truth is made again when the command, its environment, its inputs or
any image that it ran has changed.
"""
import bisect
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time

from callgrind import Reader
from elf import Elf
from programs import ENVIRONMENT

VERSION = 5
TIMEOUT_S = 600


def hash_file(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def key_of(program, work, images, cache_sim):
    """What a truth depends on. A file that is gone changes it."""
    files = sorted({os.path.join(work, name) for name in program.argv[1:]
                    if os.path.isfile(os.path.join(work, name))} | set(images))
    state = [VERSION, list(cache_sim), program.argv, sorted(ENVIRONMENT.items()),
             [(path, hash_file(path) if os.path.isfile(path) else None) for path in files]]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def fix_repeats(elf, image):
    """callgrind counts a repeated string instruction once for each repetition. How often it was
    executed is how often control fell out of it: the next instruction's count without jumps to it."""
    into = {}
    for (source, target), number in image.jumps.items():
        into.setdefault(target, []).append((source, number))
    for offset in sorted(image.counts, reverse=True):
        size = elf.rep_size(offset)
        if not size:
            continue
        after = image.counts.get(offset + size, [0])[0]
        jumps = sum(n for source, n in into.get(offset + size, ()) if source != offset)
        image.counts[offset][0] = max(0, after - jumps)
        for key in [key for key in image.jumps if key[0] == offset]:
            del image.jumps[key]
        image.conditional.pop(offset, None)


def adopt_strangers(images, elves):
    """valgrind knows linkage tables (.plt) of no image: they stand under '???', by their address in
    the process. A direct call into one tells where its image was, so they can go home."""
    strange = images.get("???")
    if not strange:
        return
    bases = {}
    for path, elf in elves.items():
        for source, callee, target in images[path].calls:
            told = elf.direct_target(source) if callee == "???" else None
            if told is not None and target >= told:
                votes = bases.setdefault(path, {})
                votes[target - told] = votes.get(target - told, 0) + 1
    homes = [(path, max(votes, key=votes.get)) for path, votes in bases.items()]

    def home(address):
        for path, base in homes:
            if elves[path].has(address - base):
                return path, address - base
        return "???", address
    for address in list(strange.counts):
        path, offset = home(address)
        if path != "???":
            images[path].counts[offset] = strange.counts.pop(address)
    for (source, callee, target), number in list(strange.calls.items()):
        path, offset = home(source)
        if path != "???":
            images[path].calls[(offset, *(home(target) if callee == "???" else
                                          (callee, target)))] = number
            del strange.calls[source, callee, target]
    for (source, target), number in list(strange.jumps.items()):
        (path, offset), (other, to) = home(source), home(target)
        if path != "???" and path == other:
            images[path].jumps[offset, to] = number
    for path in elves:
        calls = images[path].calls
        for source, callee, target in [key for key in calls if key[1] == "???"]:
            number, key = calls.pop((source, callee, target)), (source, *home(target))
            calls[key] = calls.get(key, 0) + number


def make_branches(elf, image):
    """[from, executions, fall-through address or null, [[to, taken]...]] for each jump: conditional
    ones with both outcomes, and unconditional ones, direct and indirect. A jump into another
    function (which callgrind holds for a call) is one too, where it stays in the image."""
    targets, conditional = {}, dict(image.conditional)
    for (source, target), number in image.jumps.items():
        targets.setdefault(source, {})[target] = number
    calls = []
    for (source, path, target), number in image.calls.items():
        if path == image.path and not elf.is_call(source):
            into = targets.setdefault(source, {})
            into[target] = into.get(target, 0) + number
        calls.append([source, path, target, number])
    order, branches = sorted(image.counts), []
    for source in sorted(set(targets) | set(conditional)):
        executed = image.counts.get(source, [0])[0]
        taken = targets.get(source, {})
        rest = executed - sum(taken.values())
        after = None
        if source in conditional and rest > 0:
            i = bisect.bisect_right(order, source)
            if i < len(order) and order[i] - source <= 15:
                after = order[i]
        branches.append([source, executed, after, sorted(taken.items())])
    return branches, sorted(calls)


def write_truth(program, images, key, path, events):
    listed, skipped = [], 0
    elves = {path: Elf(path) for path, image in images.items()
             if os.path.isfile(path) and "/valgrind/" not in path and image.counts}
    adopt_strangers(images, elves)
    for image in images.values():
        elf = elves.get(image.path)
        if not elf:
            skipped += sum(values[0] for values in image.counts.values())
            continue
        fix_repeats(elf, image)
        branches, calls = make_branches(elf, image)
        listed.append({"path": image.path, "build_id": elf.build_id,
                       "instructions": sorted((o, v[0]) for o, v in image.counts.items()),
                       "branches": branches, "calls": calls})
        if len(events) > 1:
            listed[-1]["misses"] = sorted((o, v[1:]) for o, v in image.counts.items()
                                          if any(v[1:]))
    listed.sort(key=lambda image: -sum(n for _, n in image["instructions"]))
    total = sum(n for image in listed for _, n in image["instructions"])
    truth = {"version": VERSION, "key": key, "program": program.name, "argv": program.argv,
             "total": total, "skipped": skipped, "events": events, "images": listed}
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(truth, file, separators=(",", ":"))
    os.replace(path + ".new", path)
    return truth


def run_callgrind(program, work, extra=()):
    """Returns (images by path, names of events)."""
    with tempfile.TemporaryDirectory(prefix="culprit-truth-") as scratch:
        out = os.path.join(scratch, "callgrind.out")
        argv = ["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes",
                "--skip-plt=no", "--callgrind-out-file=" + out, *extra, *program.argv]
        with open(os.path.join(scratch, "output"), "wb") as output:
            run = subprocess.run(argv, cwd=work, env=ENVIRONMENT, timeout=TIMEOUT_S,
                                 stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE)
        if run.returncode or not os.path.exists(out):
            raise RuntimeError(f"{program.name}: exit status {run.returncode} under callgrind: "
                               + run.stderr.decode("utf-8", "replace")[-500:])
        reader = Reader(out)
        return reader.read(), reader.events


def get_truth(program, build, work, cache_sim=()):
    """The truth of a program, from the cache of truths where it still holds. cache_sim: options of
    callgrind's cache simulation, whose misses the truth then has too."""
    folder = os.path.join(build, "accuracy-truth")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, program.name + (".misses" if cache_sim else "") + ".json")
    try:
        with open(path, encoding="utf-8") as file:
            truth = json.load(file)
        if truth["key"] == key_of(program, work, [image["path"] for image in truth["images"]],
                                   cache_sim):
            return truth
    except (OSError, ValueError, KeyError):
        pass
    begin = time.monotonic()
    images, events = run_callgrind(program, work, ["--cache-sim=yes", *cache_sim] if cache_sim else [])
    key = key_of(program, work, [p for p, image in images.items()
                                 if os.path.isfile(p) and image.counts and "/valgrind/" not in p], cache_sim)
    truth = write_truth(program, images, key, path, events)
    print(f"truth: {program.name}: {truth['total'] / 1e6:.0f} million instructions, "
          f"{time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return truth

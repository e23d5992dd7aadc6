#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""How the in-kernel table's shape and policy would do on a real stream of samples: perf records the
(process, PC) of each sample of a mixed load, and a simulated table of each kind counts them, drained
at the same intervals as the real one. What matters is the share of samples that evict an entry (each
is one more entry to resolve) and entries drained (each costs the collector, evicted or not)."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
HZ, SECONDS = 20000, 3 if QUICK else 17
LOAD = f"""cd {TMP}
{os.path.join(BUILD, "bench", "load")} 20 600 40 &
while :; do
    python3 -c 'import json; [json.loads(json.dumps(list(range(5000)))) for i in range(200)]'
    echo 'int main(void) {{ return 0; }}' | gcc -O2 -x c - -o compiled
    xz -2 -c {os.path.join(BUILD, "culprit")} > packed.xz
done"""


def record():
    """A list of (time, bucket hash, key) for each CPU."""
    path = os.path.join(TMP, "stream.data")
    with measure.Load(["sh", "-c", LOAD]):
        subprocess.run(["perf", "record", "-a", "-q", "-B", "-e", measure.EVENT, "-F", str(HZ), "-o",
                        path, "sleep", str(SECONDS)], check=False, stderr=subprocess.DEVNULL)
    text = subprocess.run(["perf", "script", "-i", path, "-F", "pid,cpu,time,ip", "--ns"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    streams = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 4:
            continue
        pid, pc = int(fields[0]), int(fields[3], 16)
        # As bucket_of in src/bpf/sample.bpf.c, for generation 0 and the first event.
        key = (pc + ((pid & 0x3fffff) << 20) + ((1 << 24 | 1) << 7)) & (1 << 64) - 1
        mixed = (key * 0x9e3779b97f4a7c15 & (1 << 64) - 1) >> 40
        streams.setdefault(fields[1], []).append(
            (float(fields[2].rstrip(":")), mixed, pid << 64 | pc))
    os.remove(path)
    return streams


def move_to_front(bucket, at, key):
    del bucket[at]
    bucket.insert(0, key)


def swap_to_front(bucket, at, _):
    bucket[0], bucket[at] = bucket[at], bucket[0]


def stay(*_):
    pass


def simulate(streams, ways, buckets, hit, interval):
    """Samples, evictions and entries drained. stay with insertion at the end is round robin."""
    samples = evictions = drained = 0
    for stream in streams.values():
        table, end = {}, stream[0][0] + interval
        for at, mixed, key in stream:
            if at >= end:
                drained += sum(map(len, table.values()))
                table, end = {}, at + interval
            bucket = table.setdefault(mixed & buckets - 1, [])
            samples += 1
            try:
                place = bucket.index(key)
            except ValueError:
                if len(bucket) == ways:
                    evictions += 1
                    drained += 1
                    bucket.pop(0 if hit is stay else -1)
                if hit is stay:
                    bucket.append(key)
                else:
                    bucket.insert(0, key)
                continue
            if place:
                hit(bucket, place, key)
        drained += sum(map(len, table.values()))
    return samples, evictions, drained


def main():
    streams = record()
    count = sum(map(len, streams.values()))
    if not count:
        sys.exit("table_policy: perf gave no samples")
    base = simulate(streams, 6, 2048, move_to_front, 2)
    unique = simulate(streams, 1 << 30, 2048, stay, 2)[2]
    measure.note(f"{count} samples of {HZ} Hz; a table without end would hand over "
                 f"{100 * unique / count:.1f}% of them as entries at each 2 s")
    kinds = [(4, 2048, stay, "round robin"), (4, 2048, swap_to_front, "swap to front"),
             (4, 2048, move_to_front, "move to front"), (6, 1024, move_to_front, "move to front"),
             (6, 2048, stay, "round robin"), (6, 2048, swap_to_front, "swap to front"),
             (6, 2048, move_to_front, "move to front"), (6, 4096, move_to_front, "move to front"),
             (3, 4096, move_to_front, "move to front"), (12, 1024, move_to_front, "move to front")]
    for ways, buckets, hit, name in kinds:
        samples, evictions, drained = simulate(streams, ways, buckets, hit, 2)
        measure.row(f"evictions, {ways} ways of {buckets}, {name}", "% of samples",
                    100 * evictions / samples, "6 x 2048 move to front", 100 * base[1] / samples)
        measure.row(f"entries drained, {ways} ways of {buckets}, {name}", "% of samples",
                    100 * drained / samples, "6 x 2048 move to front", 100 * base[2] / samples)
    for interval in (0.5, 1, 2, 4, 8):
        _, evictions, drained = simulate(streams, 6, 2048, move_to_front, interval)
        measure.row(f"entries drained, every {interval} s", "% of samples", 100 * drained / count,
                    "every 2 s", 100 * base[2] / count)


main()

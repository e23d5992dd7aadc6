# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 10
# The kernel, BPF programs, the vDSO and code made at run time are images like any other.
. "$(dirname "$0")/../sampling.sh"
need_sampling

record kernel -F 2000 -- "$programs/kinds" kernel 1
expect 'the kernel has its functions' kernel.db '
kernel = p.select(image=r"\[kernel\.kallsyms\]")
n = sum(row["samples"] for row in kernel)
named = sum(row["samples"] for row in kernel if re.fullmatch(r"[A-Za-z_][\w.]*", row["function"]))
print(f"{n} samples in the kernel, {named} with a name")
assert n > 0.3 * p.samples and named >= 0.99 * n, p.top()
'
record vdso -F 2000 -- "$programs/kinds" vdso 1
expect 'the vDSO is an image with functions' vdso.db '
n = p.count(image=r"\[vdso\]")
named = p.function(".*clock_gettime.*", image=r"\[vdso\]")
print(f"{n} samples in the vDSO, {named} in clock_gettime")
assert n > 0.3 * p.samples and named > 0.9 * n, p.top()
assert p.unknown == 0
'
record bpf -F 2000 -- "$programs/kinds" bpf 1
expect 'a BPF program is an image, or a function of the kernel, by its name' bpf.db '
n = p.function("bpf_prog_[0-9a-f]{16}_busy_filter.*|busy_filter.*")
print(f"{n} samples of {p.samples}")
assert n > 0.3 * p.samples, p.top()
'
record filter -F 2000 -- "$programs/kinds" filter 1
expect 'a filter of system calls, which the kernel names to nobody, is an image of its own and not unknown' filter.db '
n = p.function(r"\[kernel\.unnamed\]", image=r"\[kernel\.unnamed\]")
print(f"{n} samples of {p.samples}")
assert n > 0.25 * p.samples and p.unknown == 0, p.top()
'
for kind in map dump; do
	record $kind -F 2000 -- "$programs/kinds" $kind 1
	expect "code made at run time has the names of its perf-$kind file, after the process is gone" $kind.db '
first, second = p.function("made_first"), p.function("made_second")
print(f"{first} and {second} samples")
# The second runs for three times as long.
own = p.count(image=r"\[jit\]|.*/kinds")
assert first > 20 and second > 1.5 * first and first + second > max(0.9 * own, 0.8 * p.samples), p.top()
assert p.unknown == 0
'
done
# The program goes with it into the new /tmp, which hides the one that it may be in.
mkdir fresh
# shellcheck disable=SC2016
record contained -F 2000 -- unshare -m bash -c 'mount -t tmpfs none fresh && cp "$1" fresh &&
	mount --move fresh /tmp && exec /tmp/kinds map 1.5' - "$programs/kinds"
expect 'and when its file could be seen by the process alone' contained.db '
assert p.function("made_first") > 20 and p.function("made_second") > 20, p.top()
'
if ! command -v node >/dev/null; then
	skip 'node' 'not installed'
else
	cat >busy.js <<'JS'
function busyLoop(n) {
	let x = 0;
	for (let i = 0; i < n; i++) x = (x * 31 + i) % 1000003;
	return x;
}
console.log(process.pid);
const start = process.cpuUsage();
let y = 0;
while (process.cpuUsage(start).user < 1500000) y += busyLoop(100000);
JS
	record node -F 1000 -- node --perf-basic-prof busy.js
	expect "node's functions have names" node.db '
n = p.function(".*busyLoop.*")
made = p.count(image=r"\[jit\]")
print(f"{n} samples in busyLoop, of {made} in code made at run time")
assert n > 100 and n > max(0.8 * made, 0.3 * p.samples), p.top()
'
fi
for made in map node; do
	[ ! -s $made.out ] || rm -f "/tmp/perf-$(cat $made.out).map"
done
tap_end

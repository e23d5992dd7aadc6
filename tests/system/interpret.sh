# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 24
# The interpreter of edge samples takes the path that the processor takes: real programs, and single
# instructions with random operands. INTERPRET_INSTRUCTIONS=60000 compares 300,000.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/large_source.sh"
. "$root/tests/native.sh"
native=$build/tests/system/native-path
n=${INTERPRET_INSTRUCTIONS:-8000}

if ! [ -x "$native" ]; then
	skip 'paths' 'not x86-64'
	tap_end
fi

limit_s=0
tell() { grep -a -A10 -E '^native-path: |^# ' err | head -40 | sed 's/^\(# \)*/# /'; }

large_source >large.c
cat large.c large.c large.c large.c large.c large.c "$build/culprit" >large

same gzip gzip -9 -c large
same sqlite3 sqlite3 :memory: 'create table t(a, b, c);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000)
insert into t select i, (i * 7919) % 100003, "text" || i from n; create index x on t(b);
select count(*), sum(length(c)) from t where b in (select a from t where a % 3 = 0);
select c from t order by b desc limit 5;'
same perl perl -e 'my %h; for my $i (1 .. 4000000) { my $k = "key" . ($i * 7919 % 10007);
$h{$k} .= chr(65 + $i % 26); if ($h{$k} =~ /(AB+C|X[YZ])/) { $h{$k} = lc $1 } }
print join(",", sort { $a cmp $b } map { length } values %h), "\n"'
same python3 "$(readlink -f /usr/bin/python3)" -c '
import json, re
d = {}
for i in range(3000000):
    d.setdefault("k%d" % (i * 7919 % 5003), []).append(i * 1.5)
print(len(json.dumps(d)), sum(1 for k in d if re.match("k[1-3]+", k)), sum(sum(v) for v in d.values()))'
same cc1 "$(gcc -print-prog-name=cc1)" -O2 -quiet large.c -o /dev/null
cat large.c{,}{,}{,} >eight.c
same sort sort --parallel=1 -k 3,3 -k 1n eight.c
sort -R --random-source=large eight.c >other.c
same git git diff --no-index --stat eight.c other.c

# One window, far longer than the kernel's, to the next system call.
export NATIVE_PATH_WINDOW=100000
same 'a long window' gzip -9 -c large
unset NATIVE_PATH_WINDOW

if "$build/tests/system/native-random" "$((n * 5))" 2>err; then pass "single instructions with random operands"; else
	fail "single instructions with random operands" "$(head -60 err)"
fi
tail -1 err | sed "s/^/# /"

# In the kernel: memory of devices is not read, for reading it may do something.
device=$build/tests/system/device
# unknown ARGUMENT: percentage of windows that ended at a value that is not known.
unknown() {
	"$culprit" record -v --edges --budget 60 -F 2000 -o device.db -- "$device" "$@" 2>&1 >/dev/null |
		sed -n 's/.* windows, .*unknown value \([0-9]*\)%.*/\1/p'
	rm -rf device.db
}
why=
[ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ] || why='not root, or no BTF'
grep -q '\[vvar\]' /proc/self/maps || why='no vDSO'
if [ -n "$why" ]; then
	skip 'memory of devices is not read' "$why"
else
	memory=$(unknown memory) devices=$(unknown)
	if [ "${memory:-100}" -lt 30 ] && [ "${devices:-0}" -gt 70 ]; then pass 'memory of devices is not read'; else
		fail 'memory of devices is not read' "windows that ended at an unknown value: $devices%, of its own memory $memory%"
	fi
fi
tap_end

# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 53
# Stacks: frame by frame those that elfutils finds at the same instruction, and complete. A stack that
# elfutils finds and ours lacks, or has otherwise, is counted, never a matter of chance; at most one in
# 200 may be. Of recorded ones, of 2 s of CPU time each, 98% must be complete and one more may not be.
# Where 0.5% are not, which is more than was measured, that fails by chance once in some 1000 runs of
# a case. STACKS=2000 compares more.
. "$(dirname "$0")/../sampling.sh"
. "$root/tests/large_source.sh"
. "$root/tests/native.sh"
need_sampling
native=$programs/native-stack
n=${STACKS:-100}
if ! [ -x "$native" ]; then
	skip 'stacks' 'not x86-64'
	tap_end
fi
total=0

limit_s=300
tell() {
	local few

	sed -n 's/^native-stack: [^:]*: /# /p' err
	few=$(sed -n 's/^native-stack: [^:]*: \([0-9]*\) stacks.*/\1/p' err)
	total=$((total + ${few:-0}))
}

large_source >large.c
cat large.c{,}{,}{,}{,}{,}{,} >one.c
sort -R --random-source=large.c one.c >two.c
sql='create table t(a, b, c);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000)
insert into t select i, (i * 7919) % 100003, "text" || i from n; create index x on t(b);
select count(*), sum(length(c)) from t where b in (select a from t where a % 3 = 0);
select c from t order by b desc limit 5;'
perl='my %h; for my $i (1 .. 9000000) { my $k = "key" . ($i * 7919 % 10007);
$h{$k} .= chr(65 + $i % 26); if ($h{$k} =~ /(AB+C|X[YZ])/) { $h{$k} = lc $1 } }'
python='
import json, re
d = {}
for i in range(5000000):
    d.setdefault("k%d" % (i * 7919 % 5003), []).append(i * 1.5)
print(len(json.dumps(d)), sum(1 for k in d if re.match("k[1-3]+", k)), sum(sum(v) for v in d.values()))'
python3=$(readlink -f /usr/bin/python3)
cc1=$(gcc -print-prog-name=cc1)

same 'cc1' "$cc1" -O2 -quiet large.c -o /dev/null
same 'python3' "$python3" -c "$python"
same 'perl' perl -e "$perl"
same 'sqlite3' sqlite3 :memory: "$sql"
same 'git' git diff --no-index --stat one.c two.c
same 'ripgrep, in Rust' rg -j1 -c '(a|b)+[0-9]{2,}x?(foo|bar)*.*[qz]' one.c two.c
same 'exceptions in C++' "$programs/thrown" 20
same 'lazy binding' "$programs/lazy" "$programs/liblazy.so" 20
for kind in plain recursion alloca handler altstack tail noreturn linkage kernel vdso; do
	same "$kind" "$programs/stacks" "$kind" 20
done
for kind in recursion alloca handler linkage; do
	same "$kind, without frame pointers, with marks for indirect branches" "$programs/stacks-omit" "$kind" 20
done
for kind in recursion handler altstack; do
	same "$kind, with frame pointers" "$programs/stacks-frame" "$kind" 20
	same "$kind, static" "$programs/stacks-static" "$kind" 20
done
strip -o stripped "$programs/stacks"
same 'linkage, stripped' ./stripped linkage 20
check "at least 1000 stacks were compared: $total" [ "$total" -ge 1000 ]

# complete NAME LEAST COMMAND...: a case: so many percent of a recording's stacks reach their thread's
# start.
complete() {
	local name=$1 least=$2 said
	shift 2
	if ! command -v "$1" >/dev/null; then
		skip "$name" "there is no $1"
		return
	fi
	rm -rf quality.db
	# shellcheck disable=SC2016
	"$culprit" record -v --no-edges -F 100 -o quality.db -- bash -c 'ulimit -c 0 -t 2; exec "$@"' - "$@" \
		>out 2>err </dev/null
	said=$(grep ' stacks, ' err)
	if python3 -c 'import re, sys
count, percent = map(float, re.search(r"(\d+) stacks, ([\d.e+]+)%", sys.argv[1]).groups())
sys.exit(count < 40 or count * percent < float(sys.argv[2]) * count - 100)' "$said" "$least"; then pass "complete: $name"; else
		fail "complete: $name" "$(cat err)"
	fi
	echo "# ${said#culprit: }"
}
complete 'cc1' 98 "$cc1" -O2 -quiet large.c -o /dev/null
complete 'python3' 98 "$python3" -c "$python"
complete 'perl' 98 perl -e "$perl"
complete 'sqlite3' 98 sqlite3 :memory: "$sql"
# shellcheck disable=SC2016
complete 'git' 98 bash -c 'for i in 1 2 3; do git diff --no-index --stat one.c two.c; done'
command -v rg >/dev/null && complete 'ripgrep, in Rust' 98 bash -c 'for i in {1..20}; do
	rg -j1 -c "(a|b)+[0-9]{2,}x?(foo|bar)*.*[qz]" {one,two}{,}{,}{,}.c; done'
complete 'threads' 98 "$programs/stacks" threads 20
complete 'recursion' 98 "$programs/stacks" recursion 20
complete 'handler' 98 "$programs/stacks-omit" handler 20
complete 'kernel' 98 "$programs/stacks" kernel 20
complete 'lazy binding' 98 "$programs/lazy" "$programs/liblazy.so" 20
# What called the fork is code that the child never runs: it is not in its memory. 256 KiB apart, as
# the kernel maps 64 around what is run.
cat >forked.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
volatile unsigned long turns;
#define FAR __attribute__((noinline, aligned(262144)))
FAR void spin(void)
{
	for (;;)
		turns++;
}
FAR void in_child(void)
{
	if (!fork())
		spin();
	wait(NULL);
	turns++;
}
FAR void middle(void)
{
	in_child();
	turns++;
}
FAR void outer(void)
{
	middle();
	turns++;
}
int main(void)
{
	outer();
	return 0;
}
C
gcc -O1 -fno-optimize-sibling-calls -fno-omit-frame-pointer -fno-asynchronous-unwind-tables forked.c -o forked
complete 'the child of a fork, without tables' 98 ./forked
complete 'static' 98 "$programs/stacks-static" linkage 20
# Mostly assembly without tables: of the stacks whose files had been seen at all 85% must be complete. Others
# are those from before a busy collector got its turn.
export CACHE_DIRECTORY=$PWD/cache # tables are made here, not found
encode() {
	if ! command -v ffmpeg >/dev/null; then
		skip "complete: ffmpeg, $1" 'there is no ffmpeg'
		return
	fi
	# Again where nearly all were early: a machine that did something else for these three seconds.
	for try in 1 2 3; do
		rm -rf quality.db
		[ "$try" = 1 ] || rm -rf "$CACHE_DIRECTORY"
		# shellcheck disable=SC2016
		"$culprit" record -v --no-edges -F 100 -o quality.db -- bash -c 'ulimit -c 0 -t 3; exec "$@"' - \
			ffmpeg -v error -f lavfi -i testsrc2=size=640x360:duration=60 -c:v "$1" -f null - >out 2>err </dev/null
		said=$(grep ' stacks, ' err)
		python3 -c 'import re, sys
count, early = re.search(r"(\d+) stacks, ", sys.argv[1]), re.search(r"not loaded yet (\d+)", sys.argv[1])
sys.exit(int(count[1]) - int(early[1] if early else 0) < 40)' "$said" && break
	done
	if python3 -c 'import re, sys
count, percent = map(float, re.search(r"(\d+) stacks, ([\d.e+]+)%", sys.argv[1]).groups())
early = re.search(r"not loaded yet (\d+)", sys.argv[1])
seen = count - (float(early[1]) if early else 0)
sys.exit(seen < 40 or count * percent < 85 * seen)' "$said"; then pass "complete: ffmpeg, $1"; else
		fail "complete: ffmpeg, $1" "$(cat err)"
	fi
	echo "# ${said#culprit: }"
}
encode libx264
encode libx265
# What took the longest is there the next time: 90% of all are complete, and more are not for want of rules.
if command -v ffmpeg >/dev/null; then
	encode libx265
	check 'complete: the same again, by tables that were kept' python3 -c 'import re, sys
count, percent = map(float, re.search(r"(\d+) stacks, ([\d.e+]+)%", sys.argv[1]).groups())
sys.exit(percent < 90 or int(re.search(r"(\d+) made before", sys.argv[1])[1]) < 1)' "$(cat err)"
fi
unset CACHE_DIRECTORY
# Go's stacks go on from the scheduler's to the goroutine's.
seq 1500000 | awk '{ print $1 * 7919 % 1000003 "/path/to/file" $1 }' >names
complete 'fzf, in Go' 98 bash -c 'for i in 1 2 3 4 5 6; do fzf -f "9 a $i b" <names; done'
# Where a handler's frame is put in place no table can say the way back; elfutils finds none either.
complete 'exceptions' 94 "$programs/thrown" 20
tap_end

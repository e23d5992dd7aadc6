# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit import of what other tools write: pprof's profiles, folded stacks, perf script's text,
# gmon.out; what comes of it, round trips, damaged files.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
export HOME=$PWD
make_foreign() { python3 "$root/tests/cli/foreign.py" "$@"; }
mkdb=$build/tests/cli/mkdb
import() { rm -rf ./p.db && "$culprit" import "$@" -o p.db; }
# rows BY EVENTS...: "NAME IMAGE SAMPLES..." of prof --by BY, sorted.
rows() {
	local by=$1
	shift
	"$culprit" prof -i p.db --by "$by" --json | python3 -c '
import json, sys
for row in json.load(sys.stdin)["rows"]:
    name = {"line": "{file}:{line}", "subject": "{subject}"}.get(sys.argv[1], "{function} {image}")
    print(name.format(**row), *(row["events"].get(e, 0) for e in sys.argv[2:]))' "$by" "$@" | sort
}
# The table and the tree without what stands above them: times, and the precision that is not kept.
table() { "$culprit" prof -i "$1" | sed '1,/^$/d'; }
tree() { "$culprit" calls -i "$1" | sed '1,/^$/d'; }

make_foreign mapped-gzip mapped.pb.gz
check_status "pprof: a compressed profile" 0 import mapped.pb.gz
check_match "its event, and what a sample stands for" err 'cpu-clock: 11 samples, one every 30 ms of a CPU on average'
check_match "what no mapping explains is unknown" err '11 stacks, 0 branches; lost 0, unknown 1'
check_same "functions are those that it names" "[no symbol] /none/lib.so 1
[unknown] [unknown] 1
compute /none/lib.so 2
work /none/program 7" "$(rows function cpu-clock)"
check_same "so are lines, of inlined code too" "None:None 1
None:None 1
None:None 2
work.c:21 3
work.h:3 4" "$(rows line cpu-clock)"
check_same "labels and the command" "comm=program 4
comm=worker 4
comm=worker label.request=a 3" "$(rows subject cpu-clock)"
check_match "files are known by their build-id" <("$culprit" prof -i p.db --by image --json) \
	00112233445566778899aabbccddeeff00112233
check_match "inlined functions are in the tree" <("$culprit" calls -i p.db) 'inlined \(inlined\) *work.c:20'
make_foreign mapped mapped.pb
cp -r p.db q.db
check_status "not compressed" 0 import mapped.pb
check_same "gives the same" "$(tree q.db)" "$(tree p.db)"
cat mapped.pb.gz | import - >/dev/null 2>&1
check_same "also through a pipe" "$(tree q.db)" "$(tree p.db)"
"$culprit" import -q mapped.pb -o p.db
check_match "twice in one database, it is twice as much" \
	<("$culprit" prof -i p.db --epoch all) '^ *14 .* work  '

make_foreign heap heap.pb
check_status "pprof: values that are no time, without addresses" 0 import heap.pb
check_match "negative values are counted" err 'not kept: negative_values 1'
check_same "each value is an event" "main [no image] 2 40
make [no image] 4 3136" "$(rows function alloc_objects alloc_space)"
check_match "lines tell calls apart" <("$culprit" calls -i p.db --event alloc_objects) 'make *main.x:9 '
check_match "numbers are labels too" <("$culprit" prof -i p.db --by subject) 'label.bytes=1024'

make_foreign short short.pb
check_status "pprof: a sample with a value too few is refused" 1 import short.pb
check_match "which is told" err 'a sample does not have one value of each type'

# Out and in again.
for kind in mapped heap; do
	import "$kind.pb" -q --program /bin/app
	for form in pprof folded; do
		"$culprit" export -i p.db "--$form" "$kind.$form"
		rm -rf "$form.db"
		check_status "$kind: export --$form, import" 0 "$culprit" import "$kind.$form" -o "$form.db"
		"$culprit" export -i "$form.db" "--$form" again
		[ "$form" = pprof ] || check "$kind: the same stacks again" cmp "$kind.$form" again
	done
	check_same "$kind: the same table by way of pprof" "$(table p.db)" "$(table pprof.db)"
	check_same "$kind: the same tree" "$(tree p.db)" "$(tree pprof.db)"
done

printf 'epoch\t1\t2\nframe\tmain\t1\t01\t/bin/app\t16\nsample\t1\t01\t/bin/app\tcpu-clock\t1000\t16\t9\tthread=alpha
stack\tcpu-clock\t1000\t9\tthread=alpha\tmain\n' | "$mkdb" threads.db m1
"$culprit" export -i threads.db --pprof threads.pb
import threads.pb -q
check_match "a thread's name comes back as one" <("$culprit" prof -i p.db --by thread) ' 9 .*alpha *app'

cat >some.folded <<'E2'
# a comment
app;main;parse file;read_[k] 5
app;main;[truncated: no unwind rule];x 2
app;main 3
other one;[unknown] 1
E2
check_status "folded stacks" 0 import some.folded
check_same "marks of the kernel are its image" "[unknown] [unknown] 1
main [no image] 3
read [kernel.kallsyms] 5
x [no image] 2" "$(rows function samples)"
check_same "the first frame is the command" "comm=app 10
comm=other one 1" "$(rows subject samples)"
check_status "or all are functions" 0 import some.folded --program /bin/thing
check_same "... of the program that is given" "comm=thing 11" "$(rows subject samples)"
printf 'app;main;[callers not known];read 2\napp;main;[frames left out];read 1\n' >gaps.folded
check_status "stacks with notes between" 0 import gaps.folded
check_same "only frames left out are missing" 1 "$("$culprit" calls -i p.db --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["gapped"])')"
printf 'a;b 1\na;c x\n' >bad.folded
check_status "a line without a count" 1 import bad.folded
check_match "is named" err 'bad.folded: line 2 does not end in a count'

cat >chains.txt <<'E2'
# cmdline : perf record -g
my app  77/78  [003]    12.500000:    1000 cycles:u: 
	          401136 inner+0x10 (/none/a b (deleted))
	          401150 small (inlined)
	          401150 outer(int, char)+0x1f (/none/a b (deleted))
	ffffffff81585f27 do_work+0x7 ([kernel.kallsyms])

my app 77 [003] 13.0: 3000 cycles:u: 
	    7f0000001234 [unknown] (/none/lib.so)
	               0 [unknown] ([unknown])

idle 0 [001] 13.25: 500 instructions: 
	ffffffffc0001000 run+0x0 ([some_module])
E2
check_status "perf script's text, with chains" 0 import chains.txt
check_match "the mean period" err 'cycles:u: 2 samples, one in 2000'
check_same "functions, in the files that it names" "[no symbol] /none/lib.so 1 0
inner /none/a b 1 0
run [module]/some_module 0 1" "$(rows function cycles:u instructions)"
check_same "commands with blanks" "comm=idle 0 1
comm=my app 2 0" "$(rows subject cycles:u instructions)"
check_match "inlined functions" <("$culprit" calls -i p.db) 'small \(inlined\)'
cat >plain.txt <<'E2'
          my app    77 13.000001:     250000 cpu-clock:       401136 inner+0x10 (/none/a)
          my app    77 13.000002:     250000 cpu-clock:       401137 inner+0x11 (/none/a)
             top    80 13.000003:     250000 cpu-clock:  ffffffff81585f27 [unknown] ([unknown])
this line is of nobody
E2
check_status "without chains" 0 import plain.txt
check_match "it has no stacks" err ' 0 stacks, 0 branches; lost 0, unknown 1'
check_same "each line is a sample" "[unknown] [unknown] 1
inner /none/a 2" "$(rows function cpu-clock)"

sed 's/cpu-clock:/cpu-clock:pppH:/' plain.txt >precise.txt
check_status "a clock with the modifiers that perf adds" 0 import precise.txt
check_same "is the clock" "[unknown] [unknown] 1
inner /none/a 2" "$(rows function cpu-clock)"

make_foreign gmon gmon.out
check_status "gmon.out without its program" 1 import gmon.out
check_match "says what to do" err 'gmon.out: .*name it with --program'
check_status "with it" 0 import gmon.out --program /none/program
check_match "ticks" err 'cpu-clock: 20 samples, one every 10 ms of a CPU on average'
check_match "calls" err 'calls: 71 samples, one in 1 '
check_match "who called" <("$culprit" calls -i p.db --event calls --json) '"total":70'
"$culprit" prof -i p.db --json | sed 1d >wide.json
"$culprit" calls -i p.db --event calls --json | sed 1d >wide-calls.json
make_foreign gmon-narrow narrow.out
check_status "gmon.out of a 32-bit program" 0 import narrow.out --program /none/program
check "has the same ticks and calls" diff <("$culprit" prof -i p.db --json | sed 1d) wide.json
check "and callers" diff <("$culprit" calls -i p.db --event calls --json | sed 1d) wide-calls.json

# Damage costs the import, in one line; nothing is written.
for file in mapped.pb mapped.pb.gz gmon.out narrow.out; do
	size=$(stat -c %s "$file")
	bad=0
	for at in 1 3 9 20 50 100 $((size / 2)) $((size - 1)); do
		head -c "$at" "$file" >bad
		rm -rf p.db
		"$culprit" import bad -o p.db --program /none/x >out 2>err
		[ $? = 1 ] && [ "$(wc -l <err)" = 1 ] && [ ! -e p.db ] || bad="$bad, $at: $(cat err)"
	done
	check_same "$file, cut off" 0 "$bad"
done
python3 - <<'E2'
import sys, gzip
def v(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n])
def m(f, d): return v(f << 3 | 2) + v(len(d)) + d
types = m(1, v(8) + v(1))
open("nowhere.pb", "wb").write(types + m(2, m(1, v(9)) + m(2, v(1))) + m(6, b"") + m(6, b"x"))
open("values.pb", "wb").write(types + m(2, m(2, v(1) + v(2))) + m(6, b"") + m(6, b"x"))
open("types.pb", "wb").write(m(2, m(2, v(1))) + m(6, b"") + m(6, b"x"))
open("bomb.pb.gz", "wb").write(gzip.compress(types + b"\x32\0\x32" + v(600 << 20) + b"\0" * (600 << 20), 6))
E2
for why in "nowhere.pb:location 9" "values.pb:one value of each type" "types.pb:does not say what" \
	"bomb.pb.gz:more than 512 MiB"; do
	check_status "hostile: ${why%%:*}" 1 import "${why%%:*}"
	check_match "... says why" err "${why#*:}"
done
tap_end

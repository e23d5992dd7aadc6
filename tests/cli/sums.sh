# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# One definition of what a function took with all that it called, in all reports and exports: stacks of
# user code, the kernel, Python and code made at run time, of a part of the samples.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"

kernel=$'4\tcc33\t[kernel.kallsyms]' app=$'1\taa11\t/bin/app' python=$'1\tbb22\t/lib/libpython3.so' jit=$'8\tdd44\t[jit]'
event=$'cpu-clock\t1000000'
name() { printf 'symbol\t%s\t%s\n' "${1%$'\t'*}" "$2"$'\t'"$3"$'\t'"$4"; }
frame() { printf 'frame\t%s\t%s\t%s\n' "$1" "$2" "$3"; }
sample() { printf 'sample\t%s\t%s\t%s\t%s\tcomm=app\n' "$1" "$event" "$2" "$3"; }
stack() { # COUNT FRAMES
	printf 'stack\t%s\t%s\tcomm=app' "$event" "$1"
	# shellcheck disable=SC2086
	printf '\t%s' $2
	printf '\n'
}
# make EVALUATOR: lines for mkdb, with the evaluator by that name.
make() {
	printf 'epoch\t1700000000\t1700000060\n'
	name "$app" 0x1000 0x100 main
	name "$app" 0x1100 0x100 parse
	name "$app" 0x1200 0x100 cold
	name "$python" 0x100 0x100 Py_RunMain
	name "$python" 0x300 0x500 "$1"
	name "$python" 0x900 0x50 "$1.cold"
	name "$python" 0xa00 0x100 dict_get
	name "$kernel" 0xffffffff81000000 0x100 entry_SYSCALL_64
	name "$kernel" 0xffffffff81000100 0x100 do_syscall_64
	name "$kernel" 0xffffffff81000200 0x100 ksys_read
	name "$kernel" 0xffffffff81000300 0x100 copy_page
	name "$jit" 0x10 0x100 jit_loop
	name "$jit" 0x110 0x100 jit_leaf
	frame main "$app" 0x1010
	frame parse "$app" 0x1110
	frame run "$python" 0x110
	frame dict_get "$python" 0xa10
	frame entry "$kernel" 0xffffffff81000010
	frame syscall "$kernel" 0xffffffff81000110
	frame read "$kernel" 0xffffffff81000210
	frame copy "$kernel" 0xffffffff81000310
	frame loop "$jit" 0x20
	frame leaf "$jit" 0x120
	frame note $'10\t01\t[truncated: no unwind rule]' 0
	printf 'python\tmodule\t/src/fib.py\t<module>\t1\t9\npython\tfib\t/src/fib.py\tfib\t3\t5\n'

	stack 7 "main parse entry syscall read copy"
	stack 3 "main run module fib dict_get entry syscall read copy"
	stack 2 "main parse entry syscall"
	stack 30 "main loop leaf"
	stack 4 "main loop"
	stack 1 "main parse"
	stack 5 "note leaf"
	stack 6 "main run module fib"
	stack 3 "main run module fib fib fib"
	stack 1 "main run module"
	stack 4 "main run module fib dict_get"

	sample "$kernel" 0xffffffff81000308 101
	sample "$kernel" 0xffffffff81000108 33
	sample "$kernel" 0xffffffff81000208 13
	sample "$jit" 0x118 210
	sample "$jit" 0x30 17
	sample "$python" 0x320 190
	sample "$python" 0x910 10
	sample "$python" 0xa20 40
	sample "$app" 0x1220 9
	sample "$app" 0x1018 2
	sample "$app" 0x1150 12
	sample $'9\t\t' 0x5000 5
}
make _PyEval_EvalFrameDefault | "$mkdb" a.db m1 || fail "mkdb"

check_status "prof --inclusive" 0 "$culprit" prof -i a.db --inclusive --json
check "functions of the kernel have what they called" python 'assert (by["do_syscall_64"]["samples"], by["do_syscall_64"]["total"]) == (33, 147), by["do_syscall_64"]
assert by["entry_SYSCALL_64"]["total"] == 147 and by["ksys_read"]["total"] == 114 and by["copy_page"]["total"] == 101'
check "functions of Python have what the evaluator took for them" python '# 200 of the evaluator, 9 of 10 in fib; dict_get and its 3 of 10 of copy_page and ksys_read
assert by["fib"]["samples"] == 0 and by["fib"]["total"] == 180 + 40 + 31 + 4, by["fib"]
assert by["<module>"]["total"] == 200 + 40 + 31 + 4, by["<module>"]
assert by["_PyEval_EvalFrameDefault"]["total"] == 190, by["_PyEval_EvalFrameDefault"]'
check "what has no stack is of what the others of its image are of" python 'assert by["cold"]["total"] == 9 and by["main"]["total"] == j["samples"] - 30 - 5, by["main"]
assert any("2.18% of the samples are in functions that no stack ends in" in n for n in j["notes"]), j["notes"]'
check "all reports and exports agree" python3 "$root/tests/stack_sums.py" "$culprit" "$root/src/exchange" a.db

# A build that does not say which function is its evaluator: what a stack of its prologue ends in has not all.
{
	make evaluate
	frame prologue "$python" 0x308
	stack 1 "main run prologue"
} | "$mkdb" other.db m1 || fail "mkdb"
check_status "an evaluator of another name" 0 "$culprit" prof -i other.db --inclusive --json
check "has its samples on Python's functions too" python 'assert 160 < by["fib"]["total"] - 75 <= 172, by["fib"]'
check_status "of Python alone" 0 "$culprit" prof -i a.db --inclusive --image '*.py' --json
check "are its functions" python 'assert set(by) == {"fib", "<module>"} and by["fib"]["total"] == 255, by
assert not any("nothing matches" in n for n in j["notes"]), j["notes"]'
check_status "the listing of one" 1 "$culprit" list -i a.db fib
check_match "says what there is of it" err "'fib' is in /src/fib.py, which an interpreter runs: .*culprit calls 'fib'"
check_status "of a function that nothing has" 1 "$culprit" list -i a.db fibula
check_match "says no more than that" err "no samples in 'fibula'"
check_status "of an image that is not there" 0 "$culprit" prof -i a.db --inclusive --image nothing --json
check "nothing matches" python 'assert not rows and any("nothing matches" in n for n in j["notes"]), j["notes"]'
check_status "by image" 0 "$culprit" prof -i a.db --inclusive --by image --json
check "the evaluator is its image's once" python 'of = {r["image"]: r["total"] for r in rows}
assert of["/lib/libpython3.so"] == 200 + 40 + 31 + 4 and of["/src/fib.py"] == 200 + 40 + 31 + 4, of
assert of["[kernel.kallsyms]"] == 147 and of["[jit]"] == 227, of'
check_status "calls" 0 "$culprit" calls -i a.db
check_match "says what stacks stand for" out '^note: they stand for 642 samples: each for those of the function that it ends in$'
check_match "and what has none" out '^ *[0-9.]+ +[0-9.]+ +[0-9]+ .*\[callers not known\]'
"$culprit" export -i a.db --pprof a.pb.gz --folded a.folded
check_status "a profile comes back" 0 "$culprit" import -q a.pb.gz -o back.db
check_status "and goes out" 0 "$culprit" export -i back.db --folded back.folded
check "the same" diff a.folded back.folded

# Threads of very different rates of stacks, and one that has none: each has its own samples.
{
	printf 'epoch\t1700000000\t1700000060\n'
	for of in alpha:parse:700 alpha:copy:200 alpha:write:60 beta:parse:10 beta:copy:19 gamma:write:11; do
		IFS=: read -r thread function count <<<"$of"
		case $function in parse) at=0x1100 ;; copy) at=0x1200 ;; *) at=0x1300 ;; esac
		name "$app" $at 0x100 "$function"
		frame "$function" "$app" $((at + 16))
		printf 'sample\t%s\t%s\t%d\t%s\tthread=%s\n' "$app" "$event" $((at + 32)) "$count" "$thread"
	done
	name "$app" 0x1000 0x100 main
	frame main "$app" 0x1010
	for of in alpha:2:parse alpha:1:copy beta:90:parse beta:50:copy beta:10:write; do
		IFS=: read -r thread count function <<<"$of"
		printf 'stack\t%s\t%s\tthread=%s\tmain\t%s\n' "$event" "$count" "$thread" "$function"
	done
} | "$mkdb" threads.db m1 || fail "mkdb"
check_status "calls of threads" 0 "$culprit" calls -i threads.db --by thread --json
cp out calls.json
check_status "and their samples" 0 "$culprit" prof -i threads.db --by thread --json
check "have the same totals" python 'calls = json.load(open("calls.json"))["rows"]
assert {r["subject"]: r["total"] for r in calls} == {"thread=" + r["thread"]: r["samples"] for r in rows}, calls
alone = [r for r in calls if r["subject"] == "thread=gamma"][0]["children"]
assert [r["function"] for r in alone] == ["[callers not known]"], alone'
tap_end

# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit import: what it makes of files whose content is known, and of damaged ones.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
make_perf() { python3 "$root/tests/cli/perf_data.py" "$@"; }
import() { rm -rf ./*.db && "$culprit" import "$@" -o p.db; }

# rows KEY...: "KEY SAMPLES..." of prof --by KEY, sorted.
rows() { # BY EVENTS...
	local by=$1
	shift
	"$culprit" prof -i p.db --by "$by" --json | python3 -c '
import json, sys
by = sys.argv[1]
for row in json.load(sys.stdin)["rows"]:
    name = row.get(by) or row.get("name")
    print(name, *(row["events"].get(e, 0) for e in sys.argv[2:]))' "$by" "$@" | sort
}
make_perf ordered ordered.data
check_status "a file of two events" 0 import ordered.data
check_same "samples go to what was mapped at their time" "/none/first 12 0
/none/second 1 1
/none/third 0 1
[unknown] 2 0" "$(rows image cycles cache-misses:u)"
check_match "says what was lost and what is unknown" err 'lost 7, unknown 2'
check "nothing of a kernel that has no samples" bash -c '! grep -q "of the kernel" err'
check_match "the machine is the file's" err 'of host-elsewhere in p.db'
check_same "threads have their names from then on" "comm=:12 1 0
comm=child 1 1
comm=parent 13 1" "$(rows subject cycles cache-misses:u)"
make_perf gone gone.data
check_status "a sample of a task that has ended" 0 import gone.data
check_same "has the name that perf gives it" "comm=:-1 1" "$(rows subject cycles)"

make_perf ordered-pipe pipe.data
check_status "the form of a pipe, from a file" 0 import pipe.data
check_same "has the same samples" "/none/first 12 0
/none/second 1 1
/none/third 0 1
[unknown] 2 0" "$(rows image cycles cache-misses:u)"
import - <pipe.data >/dev/null 2>&1
check_same "also from standard input" 12 "$(rows image cycles | sed -n 's,/none/first ,,p')"
cat pipe.data | import - >/dev/null 2>&1
check_same "and through a pipe" 12 "$(rows image cycles | sed -n 's,/none/first ,,p')"
cat ordered.data | import - >out 2>err
check_match "the form of a file does not come through a pipe; the remedy" err 'name the file'

make_perf ordered-packed packed.data
check_status "compressed, records cut where it may be" 0 import packed.data
check_same "has the same samples, too" "/none/first 12 0
/none/second 1 1
/none/third 0 1
[unknown] 2 0" "$(rows image cycles cache-misses:u)"

make_perf ordered-nested nested.data
check_status "compressed records within each other, which perf does not make" 1 import nested.data
check_match "are said" err 'a compressed part contains another'

# A list of ids that every event claims as its own is read once for each.
python3 - ordered.data shared.data <<'E'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
each, at, size = struct.unpack_from("<QQQ", data, 16)
for entry in range(at, at + size, each):
    struct.pack_into("<QQ", data, entry + each - 16, 0, len(data) // 8 * 8)
open(sys.argv[2], "wb").write(data)
E
check_status "ids that are claimed twice" 1 import shared.data
check_match "are said" err 'its events have the same ids'

make_perf kernels kernels.data
check_status "two kernels, of which one is told" 0 import kernels.data
check_match "that the other is not is said" err 'functions of the kernel have no names: .*--buildid-mmap'
make_perf hardware hardware.data
check_status "branch records, memory samples, raw data" 0 import hardware.data
check_match "stacks and branches are counted" err ' 12 stacks, 24 branches;'
check_match "that nobody says which kernel it was too" err 'functions of the kernel have no names: .*--buildid-mmap'
check_match "what is not kept is said" err 'not kept: aux_bytes 1000, raw_of_other_events 12, raw_bytes 336, data_addresses 10'
check_match "the mean period is the event's" err 'cycles:pp: 8 samples, one in 6[0-9][0-9] on average'
"$culprit" prof -i p.db >table.txt
check_match "where memory accesses were served" table.txt 'mem-loads/: memory accesses, .*: l1 2, l2 1, ram_local 1$'
"$culprit" calc -i p.db --cutoff 60 >calc.txt
check_match "branch records are told as such" calc.txt 'frequencies: from samples and 12 branch records of the processor'
check_same "and are no windows of the interpreter" "" "$(grep 'branch outcomes' calc.txt)"
check_match "and what they cost" table.txt 'mem-loads/: mean weight 25.0 of 4 samples'
check_same "images of other machines have their build-id" 0102030405060708090a0b0c0d0e0f1011121314 \
	"$("$culprit" prof -i p.db --by image --json | grep -o '0102030405060708090a0b0c0d0e0f1011121314' | head -1)"

head -c 1300 ordered.data >cut.data
check_status "a file that ends early fails" 1 import cut.data
check_match "in one line, with what is kept" err 'cut.data: .* samples before that are kept'
check_same "the first ones" "/none/first" "$(rows image cycles | head -1 | cut -d' ' -f1)"
for damage in empty:0 header:50 ids:110; do
	head -c "${damage#*:}" ordered.data >bad.data
	check_status "no more than the ${damage%:*}: fails" 1 import bad.data
	check_same "... in one line" 1 "$(wc -l <err)"
	[ ! -e p.db ] && pass "... and writes nothing" || fail "... and writes nothing"
done
printf '2ELIFREP%0100d' 0 >swapped.data
check_status "of the other byte order" 1 import swapped.data
check_match "says so" err 'other byte order'
echo "this is no profile" >text.data
check_status "not a profile" 1 import text.data
check_status "no such file" 1 import none.data
check_status "a directory" 1 import .
check_status "two files" 2 import a b
check_status "an unknown format" 1 import --format xyz ordered.data
"$culprit" import ordered.data -q -o l.db --label build=one --machine other >out 2>err
check_refused "a label that is none, before the file is read" 2 "--label '=x' is not KEY=VALUE" "$culprit" import nothing.data --label =x
check_same "labels and the machine can be given" "other" "$(ls l.db)"
check_match "labels are there" <("$culprit" prof -i l.db --by subject) 'build=one'

# Copies of stacks: a program with a table of its own, and copies of every kind.
cat >calls.S <<'E2'
	.globl	_start, middle, leaf
_start:	.cfi_startproc
	.cfi_undefined rip
	call	middle
in_start: nop
	.cfi_endproc
middle:	.cfi_startproc
	sub	$40, %rsp
	.cfi_adjust_cfa_offset 40
	call	leaf
in_middle: add	$40, %rsp
	.cfi_adjust_cfa_offset -40
	ret
	.cfi_endproc
leaf:	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
in_leaf: nop
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.section .note.GNU-stack, "", @progbits
E2
# Its code is at offset 0x1000 of the file and address 0x401000, as the records say.
cc -nostdlib -static -no-pie -Wl,--build-id,-z,separate-code,-Ttext-segment=0x400000 -o calls calls.S
at() { nm calls | sed -n "s/ . $1\$//p"; }
copied() { # KIND
	make_perf "$1" "$1.data" calls "$(at in_leaf)" "$(at in_middle)" "$(at in_start)"
	check_status "copied stacks, $1" 0 import "$1.data"
	"$culprit" export -i p.db --folded "$1.folded"
}
stack() { sed -n "s/^$2;\(.*\) 1\$/\1/p" "$1.folded"; }
becomes() { # KIND WANTED NAME...
	local kind=$1 wanted=$2
	shift 2
	for name; do
		check_same "$kind: of '$name' comes ${wanted##*;}" "$wanted" "$(stack "$kind" "$name")"
	done
}
truncated() { echo "[truncated: $1]"; }
copied copied
becomes copied "_start;middle;leaf" whole
check_match "copies that lie of their size cost their samples" err '; lost 2, unknown 1$'
check_match "says how many there were, and how many are whole" err '^culprit: 16 stacks were unwound from copies, 3 of them to their thread'
becomes copied "$(truncated 'the copy of the stack ended');middle;leaf" cut
becomes copied "$(truncated 'stack page not resident');middle;leaf" short
becomes copied "$(truncated 'stack page not resident');leaf" one-byte
becomes copied "$(truncated 'bad frame address');leaf" top-of-memory
becomes copied "$(truncated 'return address outside code');leaf" stray
becomes copied "$(truncated 'the copy of the stack ended');leaf;leaf;leaf;leaf;leaf;leaf;leaf;leaf" loop
becomes copied "$(truncated '32-bit program');leaf" compat
becomes copied "$(truncated 'the copied stack was not unwound');leaf" strange-abi
becomes copied "leaf" no-registers no-copy
becomes copied "" lies-of-size lies-of-bytes
# Code that is made at run time: by the frame pointer, if it leads to code.
becomes copied "_start;middle;[no symbol];[no symbol];[no symbol]" made
becomes copied "$(truncated 'no unwind rule');[no symbol]" made-stray made-without
becomes copied "$(truncated 'no unwind rule');[no symbol];[no symbol]" made-loop
becomes copied "$(truncated 'the copy of the stack ended');[no symbol];[no symbol]" made-cut
becomes copied "$(truncated "the image's file is not at hand");[unknown]" no-address
copied few
becomes few "_start;middle;leaf" whole
copied wide
becomes wide "$(truncated 'the copied stack was not unwound');leaf" whole
copied blind
becomes blind "$(truncated 'the copied stack was not unwound');leaf" whole
copied other
check_same "of another build of the program nothing is made" 1 \
	"$(grep -c "^whole;$(truncated "the image's file is not at hand" | sed 's/[][]/\\&/g');" other.folded)"

# On a file system that is full sooner or later it is stored whole or not at all.
mkdir small
full_disk() { # KIB
	mount -t tmpfs -o "size=$1k" none small || return
	if "$culprit" import -q ordered.data -o small/p.db 2>err; then
		"$culprit" prof -i small/p.db >out 2>/dev/null && grep -q '^cycles: 15 samples' out &&
			whole=1
	else
		cut=1
		grep -q 'No space left on device' err &&
			! "$culprit" epochs -i small/p.db 2>/dev/null | grep -q 2026 &&
			test -z "$(find small -name '*Z*' -o -name '*.tmp')"
	fi
}
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=4k none small 2>/dev/null; then
	umount small
	whole=0 cut=0
	for kib in 4 8 12 16 20 24 28 32 36 40 48 64; do
		full_disk $kib || fail "a disk of $kib KiB" "$(cat err)" "$(find small)"
		umount small
	done
	check "a full disk: nothing is left behind, or all is there" test $whole = 1 -a $cut = 1
else
	skip "a full disk" "needs the right to mount"
fi

# piped MIB BEGIN REPEAT: as in import_pipe.py.
piped() { rm -rf piped.db && python3 "$root/tests/cli/import_pipe.py" "$culprit" "$@"; }
# What is no profile is refused by its beginning, and no more of it is read.
# shellcheck disable=SC1003
for no in 'zeroes::\0' 'packed zeroes:\x1f\x8b\x08\0\0\0\0\0\x04\x03\x63\x60\x18\x05\xa3\x60\x14\x8c\x54\0:\0' 'a field and zeroes:\x0a\x02:\0' \
	'a table of strings without the first:\x32:a' 'fields of wrong types:\x0a\0\x12\0\x49:a' 'no gmon:gmon:\0' 'a gmon of an unknown record:gmon\1\0\0\0:\xff' \
	'words::yes\n'; do
	IFS=: read -r name begin repeat <<<"$no"
	piped 64 "$begin" "$repeat" >said
	check_match "$name through a pipe is refused at once" said '^1 0 [0-9]+ .*does not begin like any known profile'
done
# Of texts no more is held than a line.
piped 48 '' 'perf 1 [000] 1.0: 7 cycles: 401000 hot (/bin/hot)\n' >said
check_match "a long text of perf script in a small memory" said '^0 48 ([0-9]|[1-3][0-9]) '
piped 48 '' 'main;work;hot 3\n' >said
check_match "folded stacks, too" said '^0 48 ([0-9]|[1-3][0-9]) '
piped 48 'main;work 3\n' 'a;' >said
check_match "a line without an end is refused" said '^1 [12][0-9] ([0-9]+) .*line 2 is longer than 16 MiB'

if [ "$(id -u)" = 0 ]; then
	# The reader is nobody: it may not even see the file's directory.
	mkdir -m 700 closed && cp ordered.data closed/
	check_status "the reader needs no rights" 0 import closed/ordered.data
fi
tap_end

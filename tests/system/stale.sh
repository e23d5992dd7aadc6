# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 5
# Source that is not what the program was made from is said to be so, and its lines are marked.
. "$(dirname "$0")/../sampling.sh"
need_sampling

cat >hot.c <<'C'
volatile unsigned long sink;
__attribute__((noinline)) void hot(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
#ifdef MORE
		sink += i / 7;
#else
		sink += i ^ 7;
#endif
	}
}
int main(void)
{
	for (int i = 0; i < 100; i++)
		hot(4000000);
	return 0;
}
C
cp hot.c was.c
said='(note|notes).*hot\.c was changed after the program was built'
differs='hot\.c is not the file that the program was compiled from \(its MD5 differs\)'

# marks NAME WHAT: each source line of hot.c, in all forms and both views, has the mark (null: none).
marks() {
	local view
	for view in '' -S; do
		# shellcheck disable=SC2086
		"$culprit" list -i hot.db $view hot --json >json 2>err
		check "$1: list $view as JSON" python3 - "$2" <<'E'
import json, sys
rows = [r for r in json.load(open("json"))["rows"] if r["kind"] == "source" and r["text"]]
wanted = None if sys.argv[1] == "none" else sys.argv[1]
assert len(rows) >= 3 and all(r["source_age"] == wanted for r in rows), rows
assert all(r["source_age"] is None for r in json.load(open("json"))["rows"] if r["kind"] != "source")
E
	done
	"$culprit" list -i hot.db --file hot.c --json >json 2>err
	check "$1: list --file as JSON" python3 - "$2" <<'E'
import json, sys
rows = [r for r in json.load(open("json"))["rows"] if r["text"]]
wanted = None if sys.argv[1] == "none" else sys.argv[1]
assert len(rows) >= 3 and all(r["source_age"] == wanted for r in rows), rows
E
	"$culprit" list -i hot.db -S hot >text
	"$culprit" list -i hot.db --file hot.c >whole
	if [ "$2" = none ]; then
		check "$1: no line is marked" sh -c '! grep -Eq "newer|differs|changed|MD5" text whole'
	else
		check_match "$1: the lines are marked, before the source" text "[0-9]  $2 +sink \+= i . 7"
		check_match "$1: and in the whole file" whole "[0-9]  $2 +sink \+= i . 7"
		check_match "$1: in a column of its own" text 'line  changed\?  source'
	fi
}

gcc -O1 -g hot.c -o hot
touch -d '1 minute ago' hot.c
record hot -F 1000 -- ./hot
marks 'the source as it was' none
sed -i 's/ifdef/ifndef/' hot.c
marks 'source that was changed' newer
check_match 'source that was changed: it is said' text "$said"
check_match 'source that was changed: also of the whole file' whole "$said"
check_match 'source that was changed: in JSON too' json 'hot\.c was changed after the program was built'
# What counts is when the program was made that was sampled, not what lies in its place.
sleep 0.05
gcc -O2 -g hot.c -o hot
marks 'and another program was made of it' newer
rm hot
marks 'and the program is gone' newer
cp was.c hot.c
touch -d '1 minute ago' hot.c
marks 'source that is as old again' none

# DWARF 5 of clang has the MD5 of each source.
if command -v clang >compiler; then
	clang -O1 -gdwarf-5 hot.c -o hot
	touch -d '1 minute ago' hot.c
	record hot -F 1000 -- ./hot
	touch hot.c
	marks 'the same text in a newer file' none
	sed -i 's/ifdef/ifndef/' hot.c
	touch -d '1 minute ago' hot.c
	marks 'another text in a file as old' differs
	check_match 'another text in a file as old: it is said' text "$differs"
	rm hot
	marks 'and the program is gone' differs
else
	skip 'texts told apart by MD5' 'clang is not there'
fi
tap_end

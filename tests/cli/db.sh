# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit db: a sound database, a damaged one, one in use, and none.
. "$(dirname "$0")/../tap.sh"

check_status "neither verify nor compact" 2 "$culprit" db
check_status "something else" 2 "$culprit" db repair
check_match "which says what there is" err 'say either verify or compact'
check_status "no database" 1 "$culprit" db verify -i nowhere
check_match "is named" err 'nowhere'
check_status "no database to compact" 1 "$culprit" db compact -i nowhere
check "and none is made" test ! -e nowhere

for i in 1 2 3; do
	printf 'epoch\t%s\t%s\nsample\t1\tabcd\t/bin/one\tcycles\t1000\t0x%s0\t5\tcomm=one\n' \
		"${i}00" "${i}50" "$i"
done >input
"$build/tests/cli/mkdb" a.db m1 <input || fail "mkdb"
check_status "a sound database" 0 "$culprit" db verify -i a.db
check_match "is counted" out '^3 epochs, 3 files, .* 3 rows, 15 samples, .*: 0 damaged$'
check_status "compacting it" 0 "$culprit" db compact -i a.db
check_status "leaves it sound" 0 "$culprit" db verify -i a.db --json
check "with all of its samples" python3 -c '
import json
d = json.load(open("out"))
assert d["report"] == "verify" and d["samples"] == 15 and d["damaged"] == 0 and d["rows"] == []'

# Only an empty directory, or one that is a database, is written to.
mkdir home
touch home/letter
printf "a;b 10\n" >stacks.folded
check_refused "somebody's directory" 1 "home is neither empty nor a database; name" "$culprit" import -o home stacks.folded
printf 'epoch\t1\t2\n' >nothing
check "by no writer" sh -c '! "$1" home m1 <nothing 2>err' - "$build/tests/cli/mkdb"
check "and nothing was put there" test "$(ls home)" = letter
mkdir -p mount/lost+found mount/.cache
check "what a file system has by itself does not matter" "$build/tests/cli/mkdb" mount m1 <nothing
check "nor that another machine is in a database" "$build/tests/cli/mkdb" a.db m2 <nothing

flock -F a.db/m1/lock sleep 1000 &
until ! flock -n a.db/m1/lock true; do sleep 0.05; done
check_status "a database in use is not compacted" 1 "$culprit" db compact -i a.db
check_match "and it says why" err 'another writer|is writing to the database'
kill $!
check_status "but it can be checked" 0 "$culprit" db verify -i a.db

pack=$(find a.db -name 'base-*' | sort | head -1)
size=$(stat -c %s "$pack")
printf '\377\377\377\377' | dd of="$pack" bs=1 seek=$((size / 2)) conv=notrunc status=none
check_status "a damaged database" 1 "$culprit" db verify -i a.db
check_match "names the file" out "^damaged: $(basename "$(dirname "$pack")")/$(basename "$pack"): "
check_match "counts what is left" out ': [1-9][0-9]* damaged$'
check_match "and fails with a sentence" err '^culprit: a.db: 1 damaged part$'
check_status "in JSON too" 1 "$culprit" db verify -i a.db --json
check "which is whole" python3 -c '
import json
d = json.load(open("out"))
assert d["damaged"] == len(d["rows"]) > 0 and all("base-" in r["what"] for r in d["rows"])'
check_status "verify takes the database's name" 1 "$culprit" db verify /nonexistent
mkdir none
check_status "a folder that is no database" 1 "$culprit" db verify none
check_match "is not called sound" err "^culprit: there are no epochs in none: is it a database"
mkdir -p begun/m1
cp a.db/m1/meta begun/m1/
check_status "a database without epochs yet" 0 "$culprit" db verify begun
check_match "is told from it" out '^0 epochs, .*: 0 damaged'
rm begun/m1/meta
check_status "by what says its version" 1 "$culprit" db verify begun
check_status 'verify takes no second one' 2 "$culprit" db verify a b

# What the database keeps of files that are not here: that it is damaged, and not the files, is why
# there are no names.
python3 "$root/tests/cli/foreign.py" mapped mapped.pb
for _ in 1 2; do "$culprit" import mapped.pb -o told.db 2>/dev/null || fail "import"; done
check_status "names of files that are not here" 0 "$culprit" list work -i told.db
for blob in told.db/*/images/*; do
	printf '\377' | dd of="$blob" bs=1 seek=20 conv=notrunc status=none
done
for what in "list work" "cfg work" "calc work" "list --file work.c"; do
	# shellcheck disable=SC2086
	check_status "that are damaged: $what" 1 "$culprit" $what -i told.db
	check_match "says so" err 'one because: the kept (symbols|lines) are damaged \(see: culprit db verify\)'
done
epoch=$(basename "$(dirname "$(find told.db -name 'base-*' -o -name 'seg-*' | head -1)")")
for what in prof calls stalls "stats --each --epoch all" "diff $epoch last"; do
	# shellcheck disable=SC2086
	"$culprit" $what -i told.db >out 2>err
	check_match "$what notes it" out 'kept symbols, lines or code of an image could not be read [0-9]+ times?,'
done
check_status "an export" 0 "$culprit" export -i told.db --folded -
check_match "tells it" err '^culprit: kept symbols, lines or code of an image could not be read [0-9]+ times?,'
tap_end

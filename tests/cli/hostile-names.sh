# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2086 # words of $form and $request
# Names that others have chosen, with what a terminal would heed in every field of a database: no
# command passes it on, in any form.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"

make_hot_app
# An escape, the same as one character, a change of direction, a bell, a line's end, what is no UTF-8.
bad='\x1b[31m\xc2\x9b2J\xe2\x80\xae\x07\x7f\n\xff'
# The file itself, by a name like that.
name=$(printf 'app%b' "${bad//\\n/}")
cp app "$name"
path="$PWD/app${bad//\\n/}"
labels="comm=c$bad	cgroup=/g$bad	label.key$bad=v$bad	container=k$bad"
for day in 100 86500; do
	printf 'epoch\t%s\t%s\n' $day $((day + 100))
	printf 'fact\tcommand\trun%s\nfact\tf%s\tv%s\n' "$bad" "$bad" "$bad"
	printf 'counter\tcycles\t1000\tsamples\t70\n'
	printf 'counter\te%s\t1000\tn%s\t5\n' "$bad" "$bad"
	for event in cycles "e$bad"; do
		printf 'sample\t1\t%s\t%s\t%s\t1000\t%d\t%d\t%s\n' "$id" "$path" "$event" "$loop" 70 "$labels"
		printf 'sample\t1\t01\t/none/%s\t%s\t1000\t16\t9\t%s\n' "$bad" "$event" "$labels"
		printf 'frame\ta\t1\t%s\t%s\t%d\nframe\tb\t1\t01\t/none/%s\t16\n' "$id" "$path" "$loop" "$bad"
		printf 'python\tp\t/py/%s.py\tfunction%s\t3\t7\n' "$bad" "$bad"
		printf 'stack\t%s\t1000\t9\tcomm=c%s\tb\tp\ta\n' "$event" "$bad"
	done
	printf 'edge\t1\t%s\t%s\tcycles\t%d\t%d\t9\t5\n' "$id" "$path" "$loop" "$hot"
	printf 'symbol\t1\t01\t0\t64\tsymbol%s\n' "$bad"
done >input
"$mkdb" db m1 <input || fail "mkdb"
# What is no part of a database.
mkdir "db/$(printf 'other\033[31m')"
touch "db/m1/$(printf '20200101T000000Z\033[31m')"

# harmless FILE...: nothing in it that a terminal heeds. \t and \n are the forms' own.
cat >harmless.py <<'PY'
import re, sys
data = b"".join(open(name, "rb").read() for name in sys.argv[1:]).replace(b"\r\n", b"\n")
found = re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]", data)
assert not found, data[max(0, found.start() - 60):found.end() + 20]
data.decode()
PY
tried=0
# prints COMMAND...: whatever it says and however it ends, by no signal, it is harmless.
prints() {
	local status
	timeout 60 "$culprit" "$@" >out 2>err
	status=$?
	tried=$((tried + 1))
	if [ $status -gt 2 ]; then
		fail "culprit ${*@Q}" "exit status $status" "$(cat err)"
	elif ! python3 harmless.py out err 2>why; then
		fail "culprit ${*@Q}" "$(tail -1 why)"
	elif [ "${must:-}" = 0 ] && [ $status != 0 ]; then
		fail "culprit ${*@Q}" "exit status $status" "$(cat err)"
	fi
}
must=0
for form in '' --json --csv; do
	for by in function image file line loop subject; do prints prof -i db --epoch all --by $by $form; done
	prints prof -i db --epoch all --inclusive $form
	prints epochs -i db $form
	prints list -i db --epoch all $form hot
	prints list -i db --epoch all -S $form hot
	prints calls -i db --epoch all $form
	prints stalls -i db --epoch all $form
	prints summary -i db --epoch all $form
	prints stats -i db --each $form
	prints diff db db $form
	prints calc -i db --epoch all $form hot
done 2>/dev/null
must=
for form in '' --json --csv; do
	prints cfg -i db --epoch all $form hot
	prints db verify -i db $form
	prints prof -i db $form --image "$(printf 'x\033[31m')"
	prints list -i db $form "$(printf 'x\033[31m')"
	prints prof -i "$(printf 'no\033[31m')" $form
	prints epochs -i "$(printf 'no\033[31m')" $form
	prints stats -i db --by label $form
done
prints calls -i db --epoch all --callers
prints calls -i db --epoch all --gprof
prints calls -i db --epoch all --function hot
prints prof -i db --epoch all --metric "$(printf 'x\033[31m = cycles')"
prints import -o "$(printf 'd\033[31m.db')" "$(printf 'no\033[31m')"
prints ctl --socket "$(printf 'no\033[31m')" status

# Whatever answers at the socket of the daemon.
cat >liar.py <<'PY'
import socket
bad = "\\u001b[31m\u009b2J\u202e"
answers = ['{"ok":true,"k%s":"v%s","e%s":[{"name":"n%s","period":"p%s"}],"samples":7}' % ((bad,) * 5)] * 3
answers += ['{"ok":false,"error":"no%s"}' % bad, '{"ok":false,"error":"no%s"}' % bad, "\x1b[31m{", "\x1b[31m"]
s = socket.socket(socket.AF_UNIX)
s.bind("liar")
s.listen()
for answer in answers:
    c = s.accept()[0]
    c.makefile().readline()
    c.sendall(answer.encode() + b"\n")
    c.close()
PY
python3 liar.py &
until [ -S liar ]; do sleep 0.05; done
for form in '' --json --csv; do prints ctl -s liar status $form; done
check "the answer can be told" grep -q '^samples,7' out
for request in status 'status --json' status flush; do prints ctl -s liar $request; done
wait
# Files that other programs read as text.
for text in folded xml callgrind; do
	prints export -i db --epoch all --$text $text.out
	[ -s $text.out ] && ! python3 harmless.py $text.out 2>why && fail "export --$text" "$(tail -1 why)"
done
prints calls -i db --epoch all --html flame.html
python3 harmless.py flame.html 2>why || fail "the page" "$(tail -1 why)"
prints cfg -i db --epoch all -o graph.dot hot
python3 harmless.py graph.dot 2>why || fail "the graph's text" "$(tail -1 why)"
prints import -o again.db folded.out
prints db compact -i db
check "nothing that a terminal heeds came out of $tried commands" test $tap_failures = 0
tap_end

# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# On a terminal every line of every report fits its width; off one nothing is cut or left out.
. "$(dirname "$0")/../tap.sh"
mkdb=$build/tests/cli/mkdb
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS

mkdir -p a/folder/with/a/long/name
cat >a/folder/with/a/long/name/application.c <<'C'
volatile int x;
__attribute__((noinline)) void a_function_with_a_name_that_is_rather_long(void)
{
	for (int i = 0; i < 100; i++)
		x += i;
}
int main(void)
{
	a_function_with_a_name_that_is_rather_long();
	return 0;
}
C
app=$PWD/a/folder/with/a/long/name/application
# Where the kernel is, so that addresses are as long as they get.
cc -g -O1 -Wl,--build-id -static -nostdlib -Wl,-e,main -Wl,-Ttext=0x7fff81000000 -o "$app" "$app.c" 2>/dev/null || fail "cc"
hot=$(printf %d "0x$(nm "$app" | sed -n 's/ T a_function.*//p')")
main=$(printf %d "0x$(nm "$app" | sed -n 's/ T main$//p')")
id=$(readelf -n "$app" | sed -n 's/.*Build ID: //p')
sample() { # EVENT PERIOD OFFSET COUNT
	printf 'sample\t1\t%s\t%s\t%s\t%d\t%d\t%d\tcomm=app\tpid=7\n' "$id" "$app" "$@"
}
run() { # START COUNT
	printf 'epoch\t%d\t%d\n' "$1" $(($1 + 60))
	for i in $(objdump -d --no-show-raw-insn "$app" | sed -n 's/^ *\([0-9a-f]*\):.*/0x\1/p'); do
		sample cycles 1000000 "$((i))" "$2"
	done
	sample instructions 2000000 "$hot" 31234567
	sample cache-misses:u 10 "$main" 5
	sample L1-dcache-load-misses 10 "$main" 512345
	printf 'frame\tmain\t1\t%s\t%s\t%d\nframe\thot\t1\t%s\t%s\t%d\n' "$id" "$app" $((main + 4)) "$id" "$app" $((hot + 4))
	printf 'stack\tcycles\t1000000\t40123456\tcomm=app\tmain\thot\n'
}
run 1700000000 7654321 | "$mkdb" a.db machine-with-a-name || fail "mkdb"
run 1700001000 8654321 | "$mkdb" b.db machine-with-a-name || fail "mkdb"

cat >on.py <<'PY'
"""on.py WIDTH COMMAND...: its output on a terminal of that width, whose lines must fit."""
import fcntl, os, pty, re, struct, subprocess, sys, termios
width = int(sys.argv[1])
outer, inner = pty.openpty()
fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=inner, stderr=subprocess.DEVNULL,
                         env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PAGER": "cat"})
os.close(inner)
data = b""
while True:
    try:
        chunk = os.read(outer, 65536)
    except OSError:
        break
    if not chunk:
        break
    data += chunk
text = data.decode().replace("\r\n", "\n")
assert child.wait() in (0, 1) and text.count("\n") > 1, (child.returncode, text)
# A word that is longer than the line (a path in a note) stays whole.
wide = [l for l in text.split("\n") if len(l.rstrip()) > width and
        max(map(len, l.split())) < width - 24]
if width >= 80:
    assert not wide, f"{len(wide)} lines, the widest: {max(wide, key=len)!r}"
sys.stdout.write(text)
PY

metric=(--metric 'mpki = 1000 * cache-misses / instructions')
walk() { # WIDTH
	while read -r line; do
		read -ra words <<<"$line"
		check "$1 columns: $line" python3 on.py "$1" "$culprit" "${words[@]}"
	done <<'L'
prof -i a.db
prof -i a.db --inclusive
prof -i a.db --by line
prof -i a.db --by loop
prof -i a.db --by process
list -i a.db main
list -i a.db main --asm
list -i a.db main --source
calls -i a.db
calls -i a.db --callers
calls -i a.db main
calls -i a.db --gprof
calc -i a.db
calc -i a.db --blocks 0 --intel main
stalls -i a.db
summary -i a.db
summary -i a.db --cause unexplained
epochs -i a.db
stats a.db b.db
stats a.db b.db --by line
stats a.db b.db --by loop
diff a.db b.db
diff a.db b.db --cpi
diff a.db b.db --by line
diff a.db b.db --by instruction
help
help record
help calls
help top
L
	check "$1 columns: a metric" python3 on.py "$1" "$culprit" stalls -i a.db "${metric[@]}"
}
walk 80
walk 100
check_status "80 columns of a listing" 0 python3 on.py 80 "$culprit" list -i a.db main --asm
check_match "have the code, whole" out 'call 0x[0-9a-f]+ <a_function_with_a_name_that_is_rather_long>|callq? 0x[0-9a-f]+ <a_func'
check_status "80 columns of a tree" 0 python3 on.py 80 "$culprit" calls -i a.db --event cycles
check_match "have its names, whole" out ' a_function_with_a_name_that_is_rather_long'
check_match "and not what they may do without" out '^\(no room for: .*image'
# Deep trees: the lines of outer branches give way to the names.
for i in {0..29}; do
	printf -v stack '%s;function_number_%d' "${stack-main}" "$i"
	printf '%s;leaf_%d 10\n' "$stack" "$i"
done >deep.folded
check_status "a deep tree" 0 "$culprit" import -q -o deep.db deep.folded
check_status "80 columns of it" 0 python3 on.py 80 "$culprit" calls -i deep.db --prune 0
check "have all names" test "$(grep -cE ' (function_number|leaf)_[0-9]+ *$' out)" = 60
check_match "and the number of branches that are not drawn" out ' …[0-9]+│ .* leaf_28 *$'
# Too narrow for a table: still all rows, and what there is no room for is named.
check_status "40 columns" 0 python3 on.py 40 "$culprit" stalls -i a.db
check_match "name what they leave out" out '^\(no room for: '
check_match "but not what counts" out 'stall'
check_status "a pipe" 0 "$culprit" stalls -i a.db
check_match "has all columns" out 'cum%.*confid\..*blame.*image$'
check_match "and whole lines" out '^note: .{90}'
check_status "help in a pipe" 0 "$culprit" help record
check_match "has its lines as they are" out '^  -o, --output DB .{30}'
tap_end

# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit struct: the scopes of programs whose source is known, in both forms; and files that lie.
. "$(dirname "$0")/../tap.sh"
unset DEBUGINFOD_URLS

# Prints the scopes below those functions whose names are given, one a line, from what struct wrote in
# either form: kind, name, lines, and what differs from the usual.
cat >tree.py <<'PY'
import json, sys, xml.etree.ElementTree as ET
def xml(e):
    kinds = {"P": "function", "A": "inlined", "L": "loop", "S": "statement"}
    number = lambda key: int(e.get(key)) if e.get(key) else None
    return {"kind": kinds[e.tag], "name": e.get("n"), "first_line": number("b"), "last_line": number("e"),
            "call_line": number("call"), "copies": number("copies") or 1, "depth": number("depth"),
            "irreducible": e.get("irreducible") == "true", "complete": e.get("complete") != "false",
            "scopes": [xml(c) for c in e],
            "ranges": [r.split("-") for r in e.get("v", "").split()]}
def load(path):
    if path.endswith(".json"):
        return [(f["file"], f["functions"]) for f in json.load(open(path))["files"]]
    return [(f.get("n"), [xml(p) for p in f]) for f in ET.parse(path).getroot()]
def show(s, indent, out):
    line = s["kind"] + (f" {s['name']}" if s.get("name") else "") + f" {s['first_line']}-{s['last_line']}"
    line += f" at {s['call_line']}" if s["kind"] == "inlined" else ""
    if s["kind"] == "loop":
        line += f" copies {s['copies']}" if s["copies"] > 1 else ""
        line += " irreducible" if s["irreducible"] else ""
    out.append("  " * indent + line)
    for inner in s.get("scopes", []):
        show(inner, indent + 1, out)
if __name__ == "__main__":
    lines = []
    for name, functions in load(sys.argv[1]):
        for f in functions:
            if f["name"] in sys.argv[2:]:
                show(f, 0, lines)
    print("\n".join(lines))
PY
# tree WANTED FUNCTION...: in XML and in JSON.
tree() {
	local wanted=$1
	shift
	for form in xml json; do
		python3 tree.py "made.$form" "$@" >"tree.$form" 2>&1
		check "$* in $form" test "$(cat "tree.$form")" = "$wanted"
	done
}
# structure FILE: made.xml and made.json, the first of them valid.
structure() {
	check_status "struct" 0 "$culprit" struct -o made.xml "$1"
	check_status "struct --json" 0 "$culprit" struct --json -o made.json "$1"
	if command -v xmllint >/dev/null; then
		check "is valid XML of its schema" \
			xmllint --noout --huge --schema "$root/packaging/structure.xsd" made.xml
	else
		skip "valid XML of its schema" "xmllint is not installed"
	fi
}

# The example of the slides on HPCToolkit, line for line.
cat >sample.c <<'C'
#define N (1 << 10)
#define T (1 << 10)
volatile double a[N], b[N], c[N];

void cleara(volatile double *x)
{
	for (int i = 0; i < N; i++)
		x[i] = 0;

}
int main(void) {
	volatile double s = 0, s2 = 0;
	for (int i = 0; i < T; i++) {
		for (int j = 0; j < N; j++)
			b[j] = s;

		cleara(a);
		s2 = s2 + 1;
		for (int k = 0; k < N; k++) {
			s = s + a[k];
			s = s + b[k]; }
	}
	return s2 > s;
}
C
check "compile the example" gcc -O0 -g -o sample sample.c
structure ./sample
tree "function cleara 5-10
  statement 6-6
  loop 7-8
    statement 7-7
    statement 8-8
  statement 10-10" cleara
check "its loops nest as the slides say" python3 - <<'PY'
from tree import load
for form in "made.xml", "made.json":
    files = load(form)
    main = [f for name, functions in files for f in functions if f["name"] == "main" and name.endswith("/sample.c")][0]
    outer = [s for s in main["scopes"] if s["kind"] == "loop"]
    inner = [s for s in outer[0]["scopes"] if s["kind"] == "loop"]
    assert len(outer) == 1 and (outer[0]["first_line"], outer[0]["last_line"]) == (13, 21), outer
    assert [(s["first_line"], s["last_line"]) for s in inner] == [(14, 15), (19, 21)], inner
    lines = [s["first_line"] for s in outer[0]["scopes"] if s["kind"] == "statement"]
    assert lines == [13, 17, 18], lines
PY
check "code of statements is code of their function, each byte once" python3 - <<'PY'
from tree import load
def statements(s):
    own = [] if s["kind"] != "statement" else s["ranges"]
    return own + [r for inner in s.get("scopes", []) for r in statements(inner)]
number = lambda ranges: sorted((int(a, 16), int(b, 16)) for a, b in ranges)
for name, functions in load("made.xml"):
    for f in functions:
        if name is None:
            continue
        inside, at = number(statements(f)), 0
        assert all(a[1] <= b[0] for a, b in zip(inside, inside[1:])), (f["name"], inside)
        assert sum(b - a for a, b in inside) == sum(b - a for a, b in number(f["ranges"])), f["name"]
PY

# What compilers do to loops, done by hand: #line says where code was written.
cat >made.c <<'C'
volatile int x, n;

void split(void)
{
	int i;
#line 20
	for (i = 0; i < n; i++)
		x += 1;
#line 20
	for (i = 0; i < n; i++)
#line 22
		x += 2;
	x = 0;
}

void peeled(void)
{
	int i, k;
#line 41
	for (k = 0; k < n; k++)
		x += k;
#line 40
	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++)
			x += k;
}

void hoisted(void)
{
	int i;
#line 61
	x = n * n;
#line 60
	for (i = 0; i < n; i++) {
		x += n * n;
		x++;
	}
}

void sunk(void)
{
	int i;
#line 80
	x = n;
	n = 7;
	for (i = 0; i < n; i++) {
#line 80
		x = n;
#line 83
		x++;
	}
}

void neighbours(void)
{
	int i;
#line 99
	x = 1;
	for (i = 0; i < n; i++) {
#line 99
		x = 1;
#line 101
		x += 1;
	}
	for (i = 0; i < n; i++) {
#line 99
		x = 1;
#line 104
		x += 1;
	}
}

static inline __attribute__((always_inline)) void body(int k)
{
#line 121
	while (k > 0) {
		x += k;
		k--;
	}
}

void calls(void)
{
	int i;
#line 130
	for (i = 0; i < n; i++)
		body(i);
	body(9);
}

void twice(void)
{
#line 140
	if (x)
		goto middle;
again:	x++;
middle:	x--;
	if (x < n)
		goto again;
}

void first(void)
{
	int i;
#line 161
	x += n;
	x++;
#line 160
	for (i = 0; i < n; i++) {
		x += n;
		x++;
	}
}

void behind(void)
{
	do {
#line 180
		x++;
#line 182
		x--;
#line 181
	} while (x < n);
	x--;
}

#line 200
static inline __attribute__((always_inline)) void strayed(int k)
{
	while (k > 0) {
#line 150
		x += k;
#line 300
		x -= k;
#line 204
		k--;
	}
}

void strays(void)
{
	strayed(3);
}

int main(void)
{
	return x;
}
C
check "compile what is made by hand" gcc -O0 -g -o made made.c
structure ./made
# depth LINES: the loops of a function, with their lines and copies.
loops() {
	python3 - "$1" <<'PY'
import sys
from tree import load
def walk(s, out):
    if s["kind"] == "loop":
        lines = [i["first_line"] for i in s["scopes"] if i["kind"] == "statement"]
        out.append((s["depth"], s["first_line"], s["last_line"], s["copies"], lines))
    for inner in s.get("scopes", []):
        walk(inner, out)
out = []
for form in "made.xml", "made.json":
    found = []
    for name, functions in load(form):
        for f in functions:
            if f["name"] == sys.argv[1]:
                walk(f, found)
    out.append(found)
assert out[0] == out[1], out
print(out[0])
PY
}
check "copies that are split are one loop" test "$(loops split)" = "[(1, 20, 22, 2, [20, 21, 22])]"
check "a copy outside joins the one inside" \
	test "$(loops peeled)" = "[(1, 40, 42, 1, [40]), (2, 41, 42, 2, [41, 42])]"
check "a line that was moved out is put back" test "$(loops hoisted)" = "[(1, 60, 62, 1, [60, 61, 62])]"
check "all of an iteration that was peeled off is put back" \
	test "$(loops first)" = "[(1, 160, 162, 1, [160, 161, 162])]"
check "what is behind do and while is not in the loop" test "$(loops behind)" = "[(1, 180, 181, 1, [180, 181])]"
check "lines that cannot be of its function are none of a loop's" \
	test "$(loops strays)" = "[(1, 202, 204, 1, [150, 202, 204, 300])]"
check "a line that was moved in is put back" test "$(loops sunk)" = "[(1, 82, 83, 1, [82, 83])]"
check "a line in both does not make one of two loops" \
	test "$(loops neighbours)" = "[(1, 100, 101, 1, [100, 101]), (1, 103, 104, 1, [103, 104])]"
check "the loop of what is inlined is inside it" python3 - <<'PY'
from tree import load
for form in "made.xml", "made.json":
    calls = [f for _, functions in load(form) for f in functions if f["name"] == "calls"][0]
    def shape(s):
        return [(i["kind"], i.get("call_line"), shape(i)) for i in s["scopes"] if i["kind"] in ("loop", "inlined")]
    inlined = lambda line: ("inlined", line, [("loop", None, [])])
    assert shape(calls) == [("loop", None, [inlined(131)]), inlined(132)], shape(calls)
PY
check "a loop with two entries is marked" grep -q '^[^/]*<L .*irreducible="true"' made.xml

# Without debug information, and without symbols: by address. The same loops.
cp sample bare
strip --strip-all bare
structure ./bare
check "a stripped program has the same loops by address" python3 - <<'PY'
import json
def loops(s):
    return ([s["header"]] if s["kind"] == "loop" else []) + [h for i in s.get("scopes", []) for h in loops(i)]
def all_loops(path):
    made = json.load(open(path))
    return sorted(h for file in made["files"] for f in file["functions"] for h in loops(f)), made
bare, made = all_loops("made.json")
assert made["files"][0]["file"] is None and made["counts"]["statements"] == 0, made["counts"]
assert len(bare) == 4, bare
PY
check_status "which is said" 0 "$culprit" struct ./bare
check_match "on standard error" err '^culprit: functions and loops by address alone: no debug information'
check_match "and written to standard output" out '^<LM n="/.*/bare" version="1" build_id="[0-9a-f]+">$'

# Names that others have chosen, with what neither a terminal nor XML takes.
bad=$(printf 'a\033[31m<&">\001\302\233\342\200\256\377\357\277\276.c')
cp sample.c "$bad"
check "compile a hostile name" gcc -O1 -g -o "$bad.out" "$bad"
structure "./$bad.out"
check "control characters are written as escapes" grep -qF 'a\x1b[31m&lt;&amp;&quot;>\x01\xc2\x9b\xe2\x80\xae\xff\xef\xbf\xbe.c' made.xml
check "nothing is there that a terminal heeds" \
	python3 -c 'import re; assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]", open("made.xml", "rb").read() + open("made.json", "rb").read())'

# 70 loops in one another: 64 are told apart.
{
	printf '\t.globl main\n\t.type main, @function\nmain:\n'
	for i in $(seq 70); do printf 'l%d:\n\tadd $1, %%eax\n' "$i"; done
	for i in $(seq 70 -1 1); do printf '\tsub $1, %%ecx\n\tjnz l%d\n' "$i"; done
	printf '\tret\n\t.size main, . - main\n\t.section .note.GNU-stack, "", @progbits\n'
} >deep.s
check "assemble a deep nest" gcc -o deep deep.s
check_status "struct of a deep nest" 0 "$culprit" struct --json ./deep
check_match "says what the limit refused" err '^culprit: 6 loops are nested too deeply'
check "and counts it" python3 -c 'import json; c = json.load(open("out"))["counts"]; assert c["loops_refused"] == 6, c'

# Files that are none, and lies.
check_status "a file that is not ELF" 1 "$culprit" struct ./sample.c
check_match "is refused" err '^culprit: .*/sample.c cannot be read: '
check_status "no file" 1 "$culprit" struct ./nothing
check_status "a directory" 1 "$culprit" struct .
check_status "no operand" 2 "$culprit" struct
check_status "two operands" 2 "$culprit" struct ./sample ./made
cp made lies
python3 - <<'PY'
import random
random.seed(19)
data = bytearray(open("lies", "rb").read())
for at in random.sample(range(0x400, len(data)), 400):
    data[at] = random.randrange(256)
open("lies", "wb").write(data)
PY
"$culprit" struct -o lies.xml ./lies >out 2>err
check "a damaged file ends by no signal" test $? -le 1
mkdir path
cp sample path/in-the-path
check_status "a program is found in PATH" 0 env PATH="$PWD/path:$PATH" "$culprit" struct in-the-path
check_match "as what it is" out "^<LM n=\"$(pwd -P)/path/in-the-path\""
check_status "a full disk is an error" 1 sh -c '"$1" struct ./sample >/dev/full' - "$culprit"
check_match "with the reason" err 'No space left on device'
check_status "a file that cannot be written" 1 "$culprit" struct -o no/such ./sample
tap_end

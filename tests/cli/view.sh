# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit view: the page, made of databases that are known, in a real browser (tests/browser/view.mjs), its sums
# held against those of prof and calls; its data without one.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"
browser=$root/tests/browser

cat >app.c <<'C'
#define N 1000
volatile int a[N], b[N];
static inline __attribute__((always_inline)) int twist(int x)
{
	return x * 7 ^ x >> 3;
}
__attribute__((noinline)) int inner(int n)
{
	int s = 0;

	for (int i = 0; i < n; i++) {
		s += twist(a[i]);
		for (int j = 0; j < i; j++)
			s ^= b[j];
	}
	return s;
}
__attribute__((noinline)) int again(int n)
{
	return n ? again(n - 1) + inner(n) : 0;
}
int main(void)
{
	for (int i = 0; i < 10; i++)
		a[i] = again(i);
	return inner(N);
}
C
gcc -g -O1 -fno-ipa-cp -fno-optimize-sibling-calls -Wl,--build-id -o app app.c || fail "gcc"
id=$(readelf -n app | sed -n 's/.*Build ID: //p')
# FUNCTION: the addresses of its instructions, or of its calls' last bytes.
addresses() { objdump -d --no-show-raw-insn app | awk -v f="<$1>:" '$2 == f { on = 1; next } !NF { on = 0 } on { sub(":", "", $1); print $1 }'; }
calls() {
	objdump -d --no-show-raw-insn app | awk -v f="<$1>:" -v t="<$2>" '$2 == f { on = 1; next } !NF { on = 0 }
		on { sub(":", "", $1); if (was) print $1; was = $2 ~ /^call/ && $4 == t || $2 ~ /^call/ && $0 ~ t "$" }' |
		while read -r next; do printf '%d\n' $((0x$next - 1)); done
}
frame() { printf 'frame\t%s\t1\t%s\t%s/app\t%d\n' "$1" "$id" "$PWD" "$2"; }
# DB FACTOR: samples at each instruction of inner() and again(), and the stacks above them.
make_db() {
	local n=0 at
	{
		printf 'epoch\t1700000000\t1700000060\n'
		for at in $(addresses inner) $(addresses again); do
			n=$((n + 1))
			printf 'sample\t1\t%s\t%s/app\tcycles\t1000\t%d\t%d\tcomm=app\n' "$id" "$PWD" "0x$at" $((n * $2))
			printf 'sample\t1\t%s\t%s/app\tinstructions\t2000\t%d\t%d\tcomm=app\n' "$id" "$PWD" "0x$at" $((100 - n))
		done
		printf 'sample\t1\t77\t/gone/lib.so\tcycles\t1000\t64\t9\tcomm=app\n'
		frame main.again "$(calls main again)"
		frame main.inner "$(calls main inner)"
		frame again.again "$(calls again again)"
		frame again.inner "$(calls again inner)"
		n=0
		for at in $(addresses inner); do
			n=$((n + 1))
			frame "inner.$n" $((0x$at))
			printf 'stack\tcycles\t1000\t%d\tcomm=app\tmain.inner\tinner.%d\n' $((n + $2)) $n
			printf 'stack\tinstructions\t2000\t%d\tcomm=app\tmain.inner\tinner.%d\n' 3 $n
			printf 'stack\tcycles\t1000\t%d\tcomm=app\tmain.again\tagain.again\tagain.inner\tinner.%d\n' 5 $n
		done
		n=0
		for at in $(addresses again); do
			n=$((n + 1))
			frame "again.$n" $((0x$at))
			printf 'stack\tcycles\t1000\t%d\tcomm=app\tmain.again\tagain.again\tagain.%d\n' 2 $n
		done
	} | "$mkdb" "$1" m1 || fail "mkdb $1"
}
make_db a.db 1
make_db b.db 3
{
	name=$(printf 'n%.0s' {1..4000})
	printf 'epoch\t1\t2\n'
	printf 'symbol\t1\t03\t0\t64\t</script><img src=http://nowhere.invalid/x onerror=document.title=1>\n'
	printf 'symbol\t1\t03\t64\t64\t%s\\x1b[31m\\xff\\xe2\\x80\\xae"q\n' "$name"
	printf 'frame\ta\t10\t01\t[truncated: \\x1b[31mred\\n\\xe2\\x80\\xae<b>]\t0\n'
	printf 'frame\tb\t1\t03\t/<!--<script>/%s\t5\nframe\tc\t1\t03\t/<!--<script>/%s\t70\n' "$name" "$name"
	printf 'sample\t1\t03\t/<!--<script>/%s\t<i>\\x1b[0m</i>\t1\t5\t7\tcomm=<u>\n' "$name"
	printf 'stack\t<i>\\x1b[0m</i>\t1\t7\tcomm=<u>\ta\tc\tb\n'
} | "$mkdb" evil.db m1 || fail "mkdb evil.db"

check_status "view -o FILE" 0 "$culprit" view -i a.db -o a.html
check "asks no network for anything" sh -c '! grep -Eq "(src|href)=.?(http|//)" a.html'
check_status "two databases" 0 "$culprit" view a.db b.db -o two.html --metric 'ipc = instructions / cycles'
check_status "names that bite" 0 "$culprit" view evil.db -o evil.html
check_refused "an event that is none" 1 'no event matches' "$culprit" view a.db --event 'none*' -o none.html
check_status "a directory that is none" 1 "$culprit" view nowhere.db -o none.html
check_status "source and code left out" 0 "$culprit" view a.db --no-source --no-code -o bare.html
cat >unpack.py <<'PY'
import base64, gzip, json, re, sys
page = open(sys.argv[1]).read()
data = re.search(r'id="profile">([^<]*)</script>', page).group(1)
json.dump(json.loads(gzip.decompress(base64.b64decode(data))), open(sys.argv[2], "w"))
PY
check "the page's data can be read" python3 unpack.py a.html a.json
check "has its samples" python3 -c 'import json
a = json.load(open("a.json"))
assert sum(n for n, e in zip(a["flatCount"], a["flatEvent"]) if e == 0) == a["events"][0]["total"], a["events"]
assert a["code"] and a["sources"] and len(a["loopParent"]) >= 2 and max(a["framePlaces"]) == 2
assert all(p == -1 or p < i for i, p in enumerate(a["loopParent"]))'
check "bare: what was left out is not in it" sh -c 'python3 unpack.py bare.html bare.json && python3 -c "import json
a = json.load(open(\"bare.json\")); assert not a[\"code\"] and not a[\"sources\"]"'

for by in function image line loop; do
	"$culprit" prof -i a.db --by $by --json >"prof-$by.json"
done
"$culprit" prof -i a.db --by function --inclusive --json >prof-inclusive.json
"$culprit" prof -i a.db --by function --json --metric 'ipc = instructions / cycles' \
	--metric 'odd = max(samples(cycles), 3) - -2 * total("instructions") / 1e3 + min(1, .5)' >prof-metric.json
"$culprit" calls -i a.db --merge --json >calls.json
"$culprit" calls -i a.db --merge --callers --json >callers.json
"$culprit" calls -i a.db --merge --fold --json >fold.json
"$culprit" calls -i a.db --merge --no-inlined --json >plain.json
if [ ! -x "${CHROMIUM:-/usr/bin/chromium}" ] || [ ! -d "$browser/node_modules/playwright-core" ]; then
	skip "the page in a browser" "no chromium or no playwright-core: dev/deps installs them"
	tap_end
fi
check "the page in a browser" node "$browser/view.mjs"
tap_end

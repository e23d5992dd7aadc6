# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit view as a server: who gets the page, who gets nothing, what is loaded as it is opened.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"
browser=$root/tests/browser

make_hot_app
{
	printf 'epoch\t1700000000\t1700000060\n'
	printf 'frame\tmain\t1\t%s\t%s/app\t%d\nframe\thot\t1\t%s\t%s/app\t%d\n' "$id" "$PWD" $((main + 8)) "$id" "$PWD" "$loop"
	printf 'sample\t1\t%s\t%s/app\tcycles\t1000\t%d\t70\tcomm=app\n' "$id" "$PWD" "$loop"
	printf 'stack\tcycles\t1000\t9\tcomm=app\tmain\thot\n'
} | "$mkdb" a.db m1 || fail "mkdb"
: >url
"$culprit" view -i a.db --no-open >url 2>err &
server=$!
trap 'kill $server 2>/dev/null; tap_clean' EXIT
wait_until() { for _ in $(seq 600); do "$@" && return; sleep 0.1; done; return 1; }
check "prints its address" wait_until test -s url
check_match "on this machine, with a token" url '^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/$'
check "refuses what is not for it" python3 "$root/tests/cli/view-serve.py" "$(cat url)" 2000
speaks=$(pgrep -P $server -f 'view -i a.db' | head -1)
if [ "$(id -u)" = 0 ]; then
	check_same "what speaks HTTP has no rights" "0 65534" \
		"$(sed -n 's/^CapEff:\t0*\(.\)/\1/p; s/^Uid:\t\([0-9]*\).*/\1/p' "/proc/$speaks/status" | sort -n | tr '\n' ' ' | sed 's/ $//')"
fi
if [ -x "${CHROMIUM:-/usr/bin/chromium}" ] && [ -d "$browser/node_modules/playwright-core" ]; then
	check "the page in a browser" node "$browser/view-serve.mjs" "$(cat url)"
fi
kill -INT $server
wait $server
check_same "ends when it is told to" 0 $?
check "and what speaks HTTP with it" sh -c "! kill -0 ${speaks:-x} 2>/dev/null"
tap_end

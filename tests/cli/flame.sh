# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# The flame graph's page in a real browser: tests/browser/flame.mjs has the cases.
. "$(dirname "$0")/../tap.sh"
browser=$root/tests/browser

if [ ! -x "${CHROMIUM:-/usr/bin/chromium}" ] || [ ! -d "$browser/node_modules/playwright-core" ]; then
	skip "the flame graph's page" "no chromium or no playwright-core: dev/deps installs them"
	tap_end
fi
mkflame() { "$build/tests/browser/mkflame" "$@"; }
set -e
mkflame cpu-clock cache-misses >small.html <<'S'
main@/bin/small 10 0
main@/bin/small;parse@/bin/small 10 0
main@/bin/small;parse@/bin/small;read@[kernel] 50 0
main@/bin/small;write@/bin/small 0 0
main@/bin/small;write@/bin/small;format@/bin/small 25 1
main@/bin/small;write@/bin/small;format@/bin/small;read@[kernel] 5 0
S
mkflame cpu-clock >hostile.html <<'S'
</script><img src=http://nowhere.invalid/x onerror=document.title=1>@<!--<script>;\xff\x1b[31m\xe2\x80\xae"quoted"@\xc0 7
S
python3 -c 'print(";".join(f"f{i}@/bin/deep" for i in range(700)), 3)' | mkflame cpu-clock >deep.html
mkflame cpu-clock </dev/null >empty.html
python3 "$browser/stacks.py" 200000 | mkflame cpu-clock >large.html
node "$browser/flame.mjs" && status=0 || status=$?
exit "$status"

# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# A database that root makes by sudo is its caller's, who reads it and writes to it; one that is there
# keeps its owner, whoever writes.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
if [ "$(id -u)" != 0 ]; then
	skip "databases made by sudo" "needs root"
	tap_end
fi
umask 022
chmod 755 "$tap_scratch"
install -m 755 "$culprit" own-culprit
own=$tap_scratch/own-culprit
by_sudo() { SUDO_UID=64124 SUDO_GID=64125 "$@"; }
as_caller() { setpriv --reuid 64124 --regid 64125 --clear-groups "$@"; }
printf 'a;b 10\na;c 5\n' >stacks.folded
# all_of DB USER:GROUP: everything in it is theirs.
all_of() { check_same "$3" "$2" "$(find "$1" -printf '%U:%G\n' | sort -u)"; }

check_status "root imports by sudo" 0 by_sudo "$culprit" import -q -o new.db stacks.folded
all_of new.db 64124:64125 "all of it is the caller's"
check_same "and nobody else's" 750 "$(stat -c %a new.db)"
check_status "who reads it" 0 as_caller "$own" prof -i new.db
check_match "his samples" out '^ +10 .* b '
check_status "and writes to it" 0 as_caller "$own" import -q -o new.db stacks.folded
check_status "root writes to it, not by sudo" 0 "$culprit" import -q -o new.db stacks.folded
check_status "root compacts it" 0 "$culprit" db compact -i new.db
all_of new.db 64124:64125 "it keeps its owner"

check_status "root imports as root" 0 "$culprit" import -q -o roots.db stacks.folded
all_of roots.db 0:0 "it is root's"
check_status "by sudo into that" 0 by_sudo "$culprit" import -q -o roots.db stacks.folded
all_of roots.db 0:0 "it stays root's"
check_status "a caller whose number makes no sense" 0 env SUDO_UID=me SUDO_GID=1 "$culprit" import -q -o odd.db stacks.folded
all_of odd.db 0:0 "is nobody"

# What a report reads as root is not left to the database's owner, who has chosen the files.
. "$root/tests/made_db.sh"
make_hot_app
chmod 700 app
made() {
	printf 'epoch\t100\t200\nsample\t1\t%s\t%s\tcycles\t1000\t%d\t70\tcomm=p\n' "$id" "$PWD/app" "$hot" |
		"$mkdb" "$1" 0123456789abcdef0123456789abcdef
}
made his.db
chown -R 64124:64125 his.db
check_status "root's report of another's database" 0 "$culprit" list -i his.db hot
check_match "has what root may read" out 'hot in '
check "and leaves nothing of it there" test -z "$(find his.db -name '*.symbols' -o -name '*.code')"
made roots-own.db
check_status "of one of root's own" 0 "$culprit" list -i roots-own.db hot
check "it keeps the symbols" test -n "$(find roots-own.db -name '*.symbols')"

if timeout 200 "$culprit" doctor >/dev/null 2>&1; then
	check_status "root records by sudo" 0 by_sudo "$culprit" record -q -F 1000 -o deep.db -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'
	all_of deep.db 64124:64125 "all of it is the caller's"
	check_status "who asks next" 0 as_caller "$own" prof -i deep.db
else
	skip "root records by sudo" "sampling does not work here"
fi
tap_end

# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# A disk that has no room for all of a recording: what did not fit is named, samples go elsewhere
# rather than nowhere, and symbols are tried again when there is room.
. "$(dirname "$0")/../sampling.sh"
need_sampling
. "$root/tests/daemon.sh"

mkdir disk
# The kernel's symbols, which a recording of everything wants to keep, take 1 MB; samples take little,
# whatever else runs on the machine.
few=(-F 200 --no-stacks --no-edges)
mount -t tmpfs -o size=256k tmpfs disk || { skip "a full disk" "tmpfs cannot be mounted"; tap_end; }
spots=$programs/spots-one
check_status "room for the samples alone" 0 "$culprit" record -a "${few[@]}" -o disk/a.db -- "$spots" 300000
check_match "says whose names may be missing, why, and what to do" err \
	'warning: symbols, code or lines of [0-9]+ images? are not kept, .*cannot write disk/a.db/.*No space left on device: make room'
check_match "so does the report" out '^note: [0-9]+ times? symbols, code or lines of an image could not be written'
check_status "the samples are whole" 0 "$culprit" db verify disk/a.db
check_status "with room there is nothing to say" 0 "$culprit" record -a "${few[@]}" -o roomy.db -- "$spots" 300000
check "neither at the end" bash -c '! grep -q "not kept" err'
check "nor in the report" bash -c '! grep -q "could not be written" out'

# Half of its time is the kernel's, whose symbols a profile of another may not have.
cat >asks.c <<'C'
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 2000000; i++)
		getppid();
	return 0;
}
C
gcc -O1 -static -o asks asks.c
"$culprit" record -q -F 1000 -o own.db -- ./asks 2>/dev/null
"$culprit" export -i own.db --pprof roomy.pb
rm -rf disk/*
check_status "an import has room for the samples alone" 0 "$culprit" import roomy.pb -o disk/i.db
check_match "and says so" err 'warning: symbols, code or lines of [0-9]+ images? are not kept, .*cannot write disk/i.db/.*: make room'
check_match "also of code, for which less room is used" err \
	'warning: code or lines of functions could not be kept, [0-9]+ times?: .*the disk is nearly full'
check_status "but an import without what only it tells is none" 1 sh -c \
	'head -c 1M /dev/zero >disk/filler; exec "$1" import roomy.pb -o disk/i.db' - "$culprit"
check_match "which is said with what to do" err '^culprit: .*No space left on device: make room'

rm -rf disk/*
mkdir elsewhere
# shellcheck disable=SC2016
TMPDIR=$PWD/elsewhere check_status "no room for the samples: status 1" 1 "$culprit" record -F 1000 -o disk/b.db -- sh -c \
	'head -c 1M /dev/zero >disk/filler; exec "$1" 300000' - "$spots"
check_match "and where they are" err \
	'^culprit: disk/b.db: cannot write .*: No space left on device: make room on its disk; the [1-9][0-9]* samples that are not there are in /.*/elsewhere/culprit\.'
said=$(sed -n 's/.*; the \([0-9]*\) samples that.*/\1/p' err)
rescued=$(echo elsewhere/culprit.*)
check_status "they are whole there" 0 "$culprit" db verify "$rescued"
check_same "and as many as it says" "$said" "$("$culprit" prof -i "$rescued" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["samples"])')"

rm -rf disk/*
head -c 192k /dev/zero >disk/filler
socket=$here/socket
start_daemon "$culprit" daemon -F 500 -o disk/d.db --socket "$socket" --flush-every 1s
check "a daemon counts what it could not keep" wait_until 20 at_least 1 field symbols_unwritten
mount -o remount,size=64m disk
check "and keeps it when there is room" wait_until 30 bash -c 'compgen -G "disk/d.db/*/images/kernel-*.symbols" >&2'
stop_daemon
umount disk
tap_end

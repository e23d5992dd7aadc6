# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# What the program's file gives to whoever runs it (setcap, set-group-ID, set-user-ID) is for sampling:
# no command reads a file by it that its caller may not read.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"

given=$tap_scratch/given # the program with rights
chmod 755 "$tap_scratch"
if [ "$(id -u)" != 0 ] || ! install -m 755 "$culprit" "$given" || ! setcap cap_dac_read_search+ep "$given" 2>/dev/null; then
	skip "rights of the program's file" "needs root and capabilities of files"
	tap_end
fi
user=64124
as_user() { setpriv --reuid $user --regid $user --clear-groups "$@"; }

# A program of the user's whose line table names a file that is not his.
machine=0123456789abcdef0123456789abcdef
mkdir -m 700 private
echo 'the secret of root' >private/secret
cat >app.c <<C
volatile int x;
__attribute__((noinline)) void hot(void)
{
#line 1 "$tap_scratch/private/secret"
	x++;
}
int main(void)
{
	hot();
}
C
cc -g -O1 -Wl,--build-id -o app app.c || fail "cc"
id=$(readelf -n app | sed -n 's/.*Build ID: //p')
hot=$(printf %d "0x$(nm app | sed -n 's/ T hot$//p')")
sampled() { printf 'epoch\t100\t200\nsample\t1\t%s\t%s\tcycles\t1000\t%s\t70\tcomm=p\n' "$id" "$tap_scratch/app" "$hot"; }
sampled | "$mkdb" own $machine
sampled | "$mkdb" private/db $machine
chown -R $user:$user own app app.c
check_status "root reads it" 0 "$culprit" list -i own -S hot
check "which the test can see" grep -q 'the secret of root' out

# refuses WAY: through the program as it is.
refuses() {
	check_status "$1: the list is there" 0 as_user "$given" list -i own -S hot
	check "$1: a file of root's is not in it" bash -c '! grep -q "secret of root" out'
	check_match "$1: and that is said" out 'note: .*/private/secret: Permission denied'
	check_status "$1: nor a database of root's" 1 as_user "$given" prof -i private/db
	check_match "$1: which is said" err 'Permission denied|not yours to read'
	check_status "$1: nor a profile of root's" 1 as_user "$given" import -o own private/secret
	check_match "$1: which is said, too" err 'Permission denied'
}
refuses "CAP_DAC_READ_SEARCH"
setcap -r "$given"
chmod 2755 "$given" # its group is root's, whose directory it is
chmod 750 private
chmod 640 private/secret
refuses "set-group-ID"
chmod 4755 "$given"
chmod 700 private
refuses "set-user-ID"

# What the user has himself stays his.
chmod 755 "$given"
setcap cap_bpf+ep "$given"
chmod 700 own
check_status "the user reads what is his" 0 as_user "$given" prof -i own
check_match "his samples" out '^ +70 .* hot '

# doctor names nothing for setcap by which files are opened, and is content with what it names.
row='
import json, sys
print([r[sys.argv[2]] for r in json.load(open(sys.argv[1]))["rows"] if r["name"] == "capabilities"][0])'
as_user "$given" doctor --json >some.json
line=$(python3 -c "$row" some.json mend | sed -n 's/.*: sudo //p')
check_same "the line of doctor" "setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog+ep $given" "$line"
eval "$line"
as_user "$given" doctor --json >all.json
check_same "then more is for root and the service" "run with sudo, or as a service: sudo systemctl start culprit" \
	"$(python3 -c "$row" all.json mend)"
tap_end

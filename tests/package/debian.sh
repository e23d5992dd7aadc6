# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# timeout: 1200
# The Debian package: built from what git has, inspected, installed, used, removed and purged. The machine
# that it is installed on is this one with a layer on top, which takes every change and is thrown away:
# it is mounted on /mnt, in a mount namespace of this script's own, and ends with it. What the machine has
# in /dev, /proc and /sys is out of reach of whatever is deleted in there.
own_mounts() { [ "$(readlink /proc/self/ns/mnt)" != "$(readlink "/proc/$PPID/ns/mnt")" ]; }
if ! own_mounts && unshare -m true 2>/dev/null; then
	exec unshare -m --propagation private bash "$0" "$@"
fi
. "$(dirname "$0")/../tap.sh"

for tool in dpkg-buildpackage dh git; do
	if ! command -v $tool >/dev/null; then
		skip "the Debian package" "$tool is not installed"
		tap_end
	fi
done
if git -C "$root" -c safe.directory='*' rev-parse 2>/dev/null; then
	mkdir export
	git -C "$root" -c safe.directory='*' archive HEAD | tar -C export -x
	# dev/deb asks git what belongs to the source.
	git -C export -c init.defaultBranch=main init -q && git -C export add -A
else
	skip "the Debian package" "the sources are not in a git repository"
	tap_end
fi

check "the package builds from a git export" export/dev/deb packages
set -- packages/culprit_*.deb
package=$1
check "there is one package" [ $# = 1 -a -f "$package" ]
dpkg-deb -c "$package" >contents
for wanted in usr/bin/culprit lib/systemd/system/culprit.service usr/lib/sysusers.d/culprit.conf \
	usr/share/bash-completion/completions/culprit usr/share/zsh/site-functions/_culprit \
	usr/share/fish/vendor_completions.d/culprit.fish usr/share/culprit/structure.xsd usr/share/doc/culprit/copyright; do
	check_match "it holds $wanted" contents " \\./$wanted\$"
done
for page in "$root"/doc/man/*.scd; do
	page=$(basename "$page" .scd)
	check_match "it holds the page $page" contents "/man${page##*.}/$page.gz\$"
done
dpkg-deb -f "$package" Depends >depends
check_match "it depends on the libraries it is linked with" depends 'libbpf1.*libdw1'
check_match "but not on LLVM, which it can do without" depends '^[^L]*$'
if command -v lintian >/dev/null; then
	check "lintian finds no error" lintian --allow-root --fail-on error "$package"
else
	skip "lintian finds no error" "lintian is not installed"
fi

# The layer: what dpkg and its scripts do goes to $upper.
layer=/mnt
upper=$layer/upper
machine=$layer/root
mount_layer() {
	own_mounts && mount -t tmpfs tmpfs $layer && mkdir $upper $layer/work $machine &&
		mount -t overlay overlay -o "lowerdir=/,upperdir=$upper,workdir=$layer/work" $machine &&
		mount -t proc -o ro proc $machine/proc && mount --bind -o ro /sys $machine/sys &&
		mount -t tmpfs tmpfs $machine/run && mount -t tmpfs tmpfs $machine/dev &&
		mknod -m 666 $machine/dev/null c 1 3 && mknod -m 666 $machine/dev/urandom c 1 9 &&
		ln -s /proc/self/fd $machine/dev/fd && mkdir -m 1777 $machine/dev/shm
}
if ! mount_layer 2>mount.err; then
	skip "installing it" "no layer can be mounted here: $(tail -n 1 mount.err)"
	tap_end
fi
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 chroot $machine "$@"; }
# Copied in before the picture is taken, so that it is not among what is left.
cp "$package" $machine/culprit.deb
# A machine of a developer may have what Depends says from elsewhere than packages; the test is of ours.
check "it installs" inside dpkg -i /culprit.deb
check "the program runs" inside culprit --version
check "as the owner of files it has a user and a group" inside id -gn culprit
check_status "its unit is disabled" 1 inside systemctl --root=/ is-enabled culprit
check_match "and known" out '^disabled$'
check "nothing was started" [ ! -e $machine/run/culprit ]
check "its manual is found" inside man -w culprit-record
check_status "the doctor speaks" 0 inside culprit doctor
inside sh -c 'culprit record -o /scratch.db -q -- sh -c "i=0; while [ \$i -lt 300000 ]; do i=\$((i+1)); done"' \
	>out 2>err
check_status "a command can be sampled" 0 inside culprit prof -i /scratch.db
check_match "and what it did is ranked" out '/(da)?sh$'

# What an owner adds: the unit enabled, the database begun.
check "its unit can be enabled" inside systemctl --root=/ enable culprit
inside install -d -o culprit -g culprit -m 750 /var/lib/culprit /var/cache/culprit
inside sh -c 'cp -r /scratch.db/. /var/lib/culprit/; rm -r /scratch.db; chown -R culprit: /var/lib/culprit'
check "it can be installed again, over itself" inside dpkg -i /culprit.deb
check_status "and the owner's choice is kept" 0 inside systemctl --root=/ is-enabled culprit
check "it can be removed" inside dpkg -r culprit
check "the program is gone" [ ! -e $machine/usr/bin/culprit ]
check "the database is not" [ -n "$(ls $machine/var/lib/culprit)" ]
check "it can be purged" inside dpkg -P culprit
for user in culprit culprit-push; do
	check_status "the user $user is gone" 2 inside getent passwd $user
	check_status "the group $user is gone" 2 inside getent group $user
done

# Left is nothing but the diaries and indexes of dpkg, man and ldconfig, and the files that held the user,
# which are as they were. The layer has whole directories only where something in them was touched.
{
	# A character device says that something of the machine below was removed.
	find "$upper" ! -type d ! -type c -printf '/%P\n'
	find "$upper" -type c ! -path '*/var/*/culprit' -printf '/%P\n'
	find "$upper" -type d -printf '/%P\n' | while read -r path; do
		[ -e "$path" ] || echo "$path"
	done
} | grep -Ev '^/(culprit\.deb|var/lib/(dpkg|systemd/deb-systemd-helper-masked)/.*|var/log/(dpkg|alternatives)\.log|var/cache/(man|ldconfig)/.*|etc/ld\.so\.cache|etc/\.pwd\.lock)$' |
	grep -Ev '^/etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|^/run($|/)' >left
check "nothing is left of it" [ ! -s left ]
[ -s left ] && sed 's/^/# /' left
for file in passwd group shadow gshadow subuid subgid; do
	check "/etc/$file is as before" cmp <(sort "/etc/$file") <(sort "$machine/etc/$file")
done
tap_end

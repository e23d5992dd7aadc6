# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 9
# Who is charged: command names, labels, processes, cgroups and containers; namespaces and roots.
. "$(dirname "$0")/../sampling.sh"
need_sampling

record label -F 1000 --label team=blue -l run=7 -- "$programs/spots-one" 500000
expect 'labels are part of the subject' label.db '
subjects = [row["subject"] for row in p.by("--by", "subject").rows]
print(subjects)
assert all("label.team=blue" in s and "label.run=7" in s for s in subjects)
assert p.by("--subject", "label.team=blue").function("one_first") == p.function("one_first") > 50
'

unshared() { # NAME WHAT COMMAND...: in namespaces of its own.
	local name=$1
	shift
	record "$name" -F 1000 -- unshare "$@"
}
mkdir private
# shellcheck disable=SC2016
unshared mount -m bash -c 'mount -t tmpfs none private && cp "$1" private/hidden && private/hidden 1500000' - "$programs/spots-one"
expect 'a program that is only in another mount namespace' mount.db '
assert p.function("one_first", image=".*/private/hidden") > 50, p.top()
assert p.unknown == 0
'
unshared pid -p -f --mount-proc "$programs/spots-one" 500000
expect 'a process in another PID namespace' pid.db '
assert p.function("one_first") > 50 and p.unknown == 0, p.top()
'
mkdir -p cage/bin
cp "$programs/spots-one" cage/bin/caged
record chroot -F 1000 -- chroot cage /bin/caged 1500000
expect 'a process with another root' chroot.db '
assert p.function("one_first", image=".*/bin/caged") > 50 and p.unknown == 0, p.top()
'

unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -z "$unified" ] || ! mkdir "$unified/culprit-test-$$" 2>/dev/null; then
	skip 'cgroups' 'there is no cgroup2 that can be written'
	tap_end
fi
group=$unified/culprit-test-$$
container=$(printf '%064x' $$)
mkdir "$group/$container" "$group/other"
trap 'rmdir "$group/$container" "$group/other" "$group"; tap_clean' EXIT
# Moves itself, then spins; and once more, in another one.
# shellcheck disable=SC2016
record cgroup -F 1000 -- bash -c '
	"$2" 400000
	echo $$ >"$1/other/cgroup.procs"; "$3" 400000
	echo $$ >"$1/$4/cgroup.procs"; "$2" 400000' - "$group" "$programs/spots-one" "$programs/spots-two" "$container"
expect 'a process that moves to another cgroup, and a container' cgroup.db "
group, container = 'culprit-test-$$', '$container'
"'
def spots(subject, function):
    return p.by("--subject", subject).function(function)
moved, caged, every = (spots("cgroup=/" + group + "/other", "two_second"),
                       spots("container=" + container, "one_first"), p.function("one_first"))
print(f"other {moved}, container {caged} of {every} in two runs")
assert moved == p.function("two_second") > 50, [row["subject"] for row in p.by("--by", "subject").rows]
assert 0.1 * every < caged < 0.9 * every
'
# The same process, in the middle of its one function.
"$programs/spots-one" 60000000 &
mover=$!
"$culprit" record -F 1000 -p $mover -o moved.db >moved.out 2>moved.err &
recorder=$!
until grep -q 'of each CPU' moved.err || ! kill -0 $recorder; do sleep 0.05; done
await_cpu $mover 100
echo $mover >"$group/other/cgroup.procs"
await_cpu $mover 100
kill -INT $recorder
wait $recorder
kill $mover
wait
expect 'a process that is moved while it runs is charged to both' moved.db "
other = p.by('--subject', 'cgroup=/culprit-test-$$/other').function('one_first')
every = p.function('one_first')
print(f'{other} of {every} samples in the second cgroup')
"'
assert 0.2 * every < other < 0.8 * every
'
tap_end

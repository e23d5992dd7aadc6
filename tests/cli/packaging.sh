# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# The systemd unit is well-formed and stays hardened; what `make install` puts where; completions.
. "$(dirname "$0")/../tap.sh"

unit=$build/packaging/culprit.service

if command -v systemd-analyze >/dev/null; then
	# verify wants the program to be there, so the copy names the one just built.
	sed "s,^ExecStart=[^ ]*,ExecStart=$culprit," "$unit" >culprit.service
	output=$(systemd-analyze verify --man=no ./culprit.service 2>&1)
	status=$?
	if [ $status = 0 ] && ! grep -q 'culprit.service' <<<"$output"; then
		pass "systemd-analyze verify has nothing to say of the unit"
	else
		fail "systemd-analyze verify has nothing to say of the unit" "$output"
	fi
	# The threshold is ten times the exposure level that is shown; 10.0 is an unprotected service.
	check "the unit's exposure is at most 3.1 of 10" \
		systemd-analyze security --no-pager --offline=yes --threshold=31 "$unit"
else
	skip "systemd-analyze verify" "systemd-analyze is not installed"
	skip "systemd-analyze security" "systemd-analyze is not installed"
fi

# No ambient capability without its place in the bounding set, and none of the great ones, but for the
# one that the daemon gives up when its events are open: tests/system/daemon-privilege.sh sees that.
ambient=$(sed -n 's/^AmbientCapabilities=//p' "$unit")
bounding=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit")
check "the capabilities granted are the capabilities bounded" [ "$ambient" = "$bounding" ]
if grep -Eq 'CAP_SYS_MODULE|CAP_SYS_RAWIO|CAP_DAC_OVERRIDE|CAP_SETUID' <<<"$bounding"; then
	fail "no capability that amounts to root and stays" "$bounding"
else
	pass "no capability that amounts to root and stays"
fi

check "make install works into a staging directory" \
	env DESTDIR="$PWD/staging" meson install -C "$build" --no-rebuild
for wanted in bin/culprit lib/systemd/system/culprit.service lib/sysusers.d/culprit.conf \
	share/bash-completion/completions/culprit share/culprit/structure.xsd; do
	found=$(find staging -type f -path "*/$wanted")
	check "$wanted is installed" [ -n "$found" ]
done

# Completes `culprit WORDS...` as bash would at the end of the line; prints the candidates.
complete_words() {
	# shellcheck source=/dev/null
	. "$build/packaging/culprit"
	COMP_WORDS=("$culprit" "$@")
	COMP_CWORD=$#
	_culprit
	printf '%s\n' "${COMPREPLY[@]}"
}

complete_words record -o x.db -- l >out
check_match "bash completes another program after --" out '^ls$'
tap_end

# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit import on a terminal: how far it is, and Ctrl-C.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
export PYTHONDONTWRITEBYTECODE=1
python3 "$root/tests/cli/perf_data.py" ordered-pipe records.data
watch() { check "$1" python3 "$root/tests/cli/import_watch.py" "$culprit" records.data "$2"; }
watch "Ctrl-C that ended a recording lets the rest of it in" ctrl_c_that_ended_the_recording
watch "again, it ends the import, of which nothing is stored" ctrl_c_again
watch "and so does a signal" a_signal
tap_end

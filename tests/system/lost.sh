# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# When the collector cannot keep up (it is stopped), records and samples are lost. Both are counted,
# and what lives on is right again.
. "$(dirname "$0")/../sampling.sh"
need_sampling

# Two that begin before the records are lost and during it, and live on. Without a build-id they are
# told by what is in them, which takes longer to know.
objcopy -R .note.gnu.build-id "$programs/spots-one" steady
objcopy -R .note.gnu.build-id "$programs/spots-two" late
"$culprit" record -q -o lost.db -F 2000 -a --per-process >out 2>err &
recorder=$!
steady='' late=''
end() {
	# shellcheck disable=SC2086
	{ kill -CONT $recorder; kill $recorder $steady $late; } 2>/dev/null
	tap_clean
}
trap end EXIT
until grep -qs 'cpu-clock' err; do sleep 0.1; done
./steady 600000000 &
steady=$!
await_cpu $steady 50
kill -STOP $recorder
# 512 KiB a CPU; a process makes about ten records of 100 bytes.
timeout 300 "$programs/hatch" "$((1000 * $(nproc)))" "$(type -P true)"
./late 600000000 &
late=$!
timeout 300 "$programs/hatch" 200 "$(type -P true)"
kill -CONT $recorder
sleep 1
await_cpu $late 50
await_cpu $steady 50
kill -INT $recorder
wait $recorder
status=$?
kill $steady $late
wait 2>/dev/null
if [ $status = 0 ]; then pass 'it ends well'; else fail 'it ends well' "$status" "$(cat err)"; fi
expect 'lost records are counted, and long-lived processes are right' lost.db '
print(p.samples, "samples,", p.unknown, "unknown,", p.lost, "lost:", p.json["lost_by_cause"], p.json["notes"])
assert p.function("one_first", image=".*/steady") > 100, p.top()
assert p.function("two_second", image=".*/late") > 100, p.top()
assert p.function("one_second|two_first", image=".*/(steady|late)") == 0, p.top()
assert any("records" in note and "lost" in note for note in p.json["notes"])
assert p.samples == sum(row["samples"] for row in p.rows)
images = [row["image"] for row in p.by("--by", "image").rows if re.search("/(steady|late)$", row["image"] or "")]
assert len(images) == 2 and len(set(images)) == 2, images
'

# A program whose addresses are too many for the 20,480 entries of a CPU, while nobody takes them away.
"$culprit" record -o spilled.db -F 10000 -- taskset -c 0 "$programs/scatter" 6 >out 2>err &
recorder=$!
until scatter=$(pgrep -P $recorder scatter); do sleep 0.1; done
kill -STOP $recorder
# In hundredths of a second of processor time.
until [ "$(awk '{ print $14 }' "/proc/$scatter/stat")" -gt 450 ]; do sleep 0.2; done
kill -CONT $recorder
wait $recorder
expect 'samples that found no room are counted as lost' spilled.db '
rows = sum(row["samples"] for row in p.rows)
print(rows, "samples in rows,", p.lost, "lost:", p.json["lost_by_cause"])
assert p.lost > 0
event = p.json["events"][0]
assert event["samples"] == rows == p.samples
# What the kernel counted is all there is.
counted, lost = map(int, re.search(r"(\d+) samples, (\d+) lost", open("err").read()).groups())
assert counted == rows + p.lost and lost == p.lost, (counted, lost)
'
tap_end

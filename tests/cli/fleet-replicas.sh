# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154,SC2015
# Three replicas behind Distributed tables, by Debian's ZooKeeper: each is killed in turn while machines push, and
# in the end each has every sample once.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"
. "$root/tests/fleet.sh"
[ -x "$server" ] || { skip "replicas" "there is no clickhouse-server"; tap_end; }
[ -e /usr/share/java/zookeeper.jar ] && command -v java >/dev/null || { skip "replicas" "there is no zookeeper"; tap_end; }

read -r keeper_port <<<"$(free_ports 1)"
mkdir keeper
printf 'tickTime=2000\ndataDir=%s/keeper\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' "$PWD" "$keeper_port" >keeper.cfg
java -Xmx128m -cp '/usr/share/java/*' org.apache.zookeeper.server.ZooKeeperServerMain keeper.cfg >keeper.out 2>&1 &
fleet_pids="$fleet_pids $!"
wait_for bash -c "echo >/dev/tcp/127.0.0.1/$keeper_port" || { fail "zookeeper starts" "$(tail -n 5 keeper.out)"; tap_end; }
names="one two three"
for name in $names; do configure_server $name; done
for name in $names; do
	for other in $names; do
		port=tcp_$other
		printf '<replica><host>127.0.0.1</host><port>%s</port></replica>\n' "${!port}"
	done >replicas
	python3 - "$name/config.xml" "$name" "$keeper_port" <<'PYTHON'
import sys
path, name, port = sys.argv[1:]
text = open(path).read()
more = f"""<macros><shard>1</shard><replica>{name}</replica></macros>
<zookeeper><node><host>127.0.0.1</host><port>{port}</port></node><session_timeout_ms>4000</session_timeout_ms></zookeeper>
<remote_servers><fleet><shard><internal_replication>true</internal_replication>{open("replicas").read()}</shard></fleet></remote_servers>
</yandex>"""
open(path, "w").write(text.replace("</yandex>", more))
PYTHON
	start_server $name || tap_end
	url=url_$name
	check_status "init on $name" 0 "$culprit" fleet init --to "${!url}" --cluster fleet
done
check_same "all have the tables" "16 16 16" "$(for name in $names; do sql $name "SELECT count() FROM system.tables WHERE database = 'culprit'"; done | xargs)"

app=$'1\taa11\t/bin/app'
for i in $(seq 1 12); do
	printf 'epoch\t%d\t%d\nsample\t%s\tcycles\t1000\t%d\t%d\tcomm=a\n' $((1700000000 + i * 1000)) $((1700000060 + i * 1000)) "$app" "$i" $((1 << i))
	printf 'counter\tcycles\t1000\tlost.ring\t1\n'
done | $mkdb db host-a
count() { sql "$1" "SELECT sum(cnt), count() FROM culprit_local.samples FINAL"; }
alive() { count "$1" | grep -q '^[0-9]'; }
# A third of the epochs with each replica dead, by the others in turn, at first by the dead one.
push() { "$culprit" push -i db --backlog 4 --patience "$1" --to "$2" >>pushes 2>&1; }
for dead in $names; do
	pid=pid_$dead url=url_$dead
	push 1 "${!url}" & pusher=$!
	sleep 0.1
	kill -9 "${!pid}"
	wait $pusher
	for name in $names; do
		[ $name != $dead ] || continue
		url=url_$name
		push 30 "${!url}" || fail "a push by $name while $dead is dead" "$(tail -n 3 pushes)"
	done
	start_server $dead
	wait_for alive $dead
done
for name in $names; do
	url=url_$name
	wait_for push 30 "${!url}"
	has_all() { [ "$(count "$name")" = "8190	12" ]; }
	wait_for has_all || { sql $name "SYSTEM SYNC REPLICA culprit_local.samples" && wait_for has_all; } || wait_for has_all ||
		sql $name "SELECT table, type, num_tries, last_exception, postpone_reason FROM system.replication_queue FORMAT Vertical" |
		sed 's/^/# /'
	check_same "$name has each sample once" "8190	12" "$(count $name)"
	check_same "and says so of the whole" "8190	12" "$(sql $name "SELECT sum(cnt), count() FROM culprit.samples FINAL")"
done
url=$url_two
check_status "a report of the replicas" 0 "$culprit" fleet prof --from "$url" --json
python 'assert rows[0]["samples"] == 8190, rows' && pass "it has all" || fail "it has all" "$(cat out)"
tap_end

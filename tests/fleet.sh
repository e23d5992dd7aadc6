# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154,SC2034
# For the scripts of tests/cli that ask a fleet: after tap.sh, `. "$root/tests/fleet.sh"`. Servers are
# Debian's ClickHouse, on loopback, in the test's own folder, and end with the test.
server=$(command -v clickhouse-server || echo /usr/sbin/clickhouse-server)
fleet_pids=
free_ports() { # COUNT: ports that nobody listens on
	python3 -c 'import socket, sys
s = [socket.socket() for _ in range(int(sys.argv[1]))]
[x.bind(("127.0.0.1", 0)) for x in s]; print(*(x.getsockname()[1] for x in s))' "$1"
}

fleet_clean() {
	local pid
	for pid in $fleet_pids; do kill -9 "$pid" 2>/dev/null; done
	wait 2>/dev/null
	tap_clean
}
trap fleet_clean EXIT

# wait_for COMMAND...: until it succeeds, or for 60 s.
wait_for() {
	local i
	for ((i = 0; i < 600; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	return 1
}

# configure_server NAME [XML]: a folder of that name with the server's configuration, and its ports in
# http_NAME, tcp_NAME, between_NAME.
configure_server() {
	local http tcp between
	read -r http tcp between <<<"$(free_ports 3)"
	printf -v "http_$1" %s "$http"
	printf -v "tcp_$1" %s "$tcp"
	printf -v "between_$1" %s "$between"
	mkdir -p "$1"
	cat >"$1/config.xml" <<XML
<yandex>
 <logger><level>warning</level><log>$PWD/$1/log</log><errorlog>$PWD/$1/errors</errorlog></logger>
 <listen_host>127.0.0.1</listen_host><http_port>$http</http_port><tcp_port>$tcp</tcp_port>
 <interserver_http_port>$between</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
 <path>$PWD/$1/data/</path><tmp_path>$PWD/$1/tmp/</tmp_path><users_config>$PWD/$1/users.xml</users_config>
 <default_profile>default</default_profile><default_database>default</default_database>
 <mark_cache_size>33554432</mark_cache_size>
 ${2-}
</yandex>
XML
	cat >"$1/users.xml" <<XML
<yandex>
 <profiles><default><max_memory_usage>1000000000</max_memory_usage></default></profiles><quotas><default/></quotas>
 <users>
  <default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
  <pusher><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></pusher>
 </users>
</yandex>
XML
}

# start_server NAME: its pid in pid_NAME, its URL in url_NAME.
start_server() {
	local http=http_$1
	"$server" --config-file="$1/config.xml" >>"$1/out" 2>&1 &
	printf -v "pid_$1" %s $!
	printf -v "url_$1" %s "http://127.0.0.1:${!http}"
	fleet_pids="$fleet_pids $!"
	wait_for curl -sf "http://127.0.0.1:${!http}/ping" || {
		fail "server $1 starts" "$(tail -n 5 "$1/out" "$1/errors" 2>/dev/null)"
		return 1
	}
}

# sql NAME STATEMENT: what the server answers.
sql() {
	local url=url_$1
	curl -s --data-binary "$2" "${!url}/"
}

# totals NAME: the sums that must come out, whatever happened on the way.
totals() {
	sql "$1" "SELECT sum(cnt), count() FROM culprit.samples FINAL WHERE cnt > 0"
	sql "$1" "SELECT sum(cnt) FROM culprit.functions FINAL"
	sql "$1" "SELECT sum(cnt), count() FROM culprit.stacks FINAL"
	sql "$1" "SELECT sum(cnt), sum(windows) FROM culprit.edges FINAL"
	sql "$1" "SELECT name, sum(value) FROM culprit.counters FINAL GROUP BY name ORDER BY name"
}

# start_current NAME: the current ClickHouse, in the folder of that name; its URL in url_NAME. Fails where npm's
# package is not installed (dev/deps --browser).
current=$root/tests/fleet/node_modules/@chdb/lib-linux-x64-gnu/libchdb.so
start_current() {
	local port
	[ -e "$current" ] || return 1
	port=$(free_ports 1)
	python3 "$root/tests/fleet_chdb.py" "$current" "$port" "$PWD/$1" >>"$1.out" 2>&1 &
	fleet_pids="$fleet_pids $!"
	printf -v "url_$1" %s "http://127.0.0.1:$port"
	wait_for curl -sf "http://127.0.0.1:$port/ping"
}

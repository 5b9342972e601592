#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest whose process 1 is systemd: what `make install` made, as a service.
# KTAP on standard output.
#   guest.sh STAGE [TEST...]    the folder that was installed into; such as
#                               test_etcd, by default all
set -euo pipefail

# shellcheck source=tests/lib/ktap.sh
. "$HW_ROOT/tests/lib/ktap.sh"
# shellcheck source=tests/lib/wait.sh
. "$HW_ROOT/tests/lib/wait.sh"
# shellcheck source=tests/lib/daemons.sh
. "$HW_ROOT/tests/lib/daemons.sh"

stage=$1
shift
config=/etc/headway/headway.toml
dev=w0
root_qdisc="gap 1:"

write_config() {
	mkdir -p "${config%/*}"
	{
		echo '[node]'
		echo 'name = "a0"'
		echo "interface = \"$dev\""
		echo '[policy]'
		echo "target_utilisation = ${1:-0.99}"
		hw_config 4 100 100
	} >$config
}

# As on a busy machine, systemd-journald stops for a second again and again: what was said a moment ago
# stands in no journal yet.
delay_journal() {
	local journald
	journald=$(pidof systemd-journald)
	while kill -STOP "$journald" && sleep 1; do
		kill -CONT "$journald"
		sleep 0.2
	done
}

set_up() {
	delay_journal &
	delaying=$!
	tar -C "$stage" -c . | tar -C / -x --keep-directory-symlink --no-same-owner \
		--warning=no-timestamp
	depmod
	systemd-sysusers
	systemctl daemon-reload
	# a machine that boots has these two done before
	systemctl restart systemd-modules-load.service
	insmod "$HW_BUILD/kmod/$(uname -r)/simwire.ko"
	ip link add $dev type simwire
	echo 100000000 >/sys/class/net/$dev/simwire/rate_bps
	ip addr add 10.1.0.1/8 dev $dev
	ip link set $dev up
	ip link set ${dev}p up
	own_qdisc=$(qdisc)
}

property() {
	systemctl show --property "$1" --value "${2:-headwayd.service}"
}

pid() {
	property MainPID
}

qdisc() {
	tc qdisc show dev $dev root | awk '{ print $2, $3 }'
}

is_paced() {
	[[ $(property ActiveState) == active && $(qdisc) == "$root_qdisc" ]]
}

is_another_process() {
	[[ $(pid) != "$1" && $(pid) != 0 ]] && is_paced
}

# What has been said until now: systemd-journald reads it some time after it was written.
journal() {
	journalctl --sync
	journalctl --unit headwayd.service --output cat --no-pager
}

said() {
	journal | grep -- "$1" >/dev/null
}

status_says() {
	headway status | grep -- "$1" >/dev/null
}

has_class() {
	tc class show dev $dev | grep -- "$1" >/dev/null
}

autocorking() {
	sysctl -n net.ipv4.tcp_autocorking
}

is_autocorking() {
	[[ $(autocorking) == 1 ]]
}

test_start() {
	ktap_check "the units have no mistakes" \
		systemd-analyze verify --man=no headwayd.service headway-restore.service \
		headway-wait.service
	ktap_check "the module is loaded at boot" test -d /sys/module/sch_gap
	ktap_check "the user is there" id headway
	write_config
	ktap_check "it starts" systemctl start headwayd.service
	ktap_equal "ready means that the qdisc stands" "$root_qdisc" "$(qdisc)"
	ktap_equal "its state in words" "pacing $dev" "$(property StatusText)"
	ktap_equal "small messages are not held back" 0 "$(autocorking)"
	ktap_equal "it is not root" headway "$(ps -o user= -p "$(pid)")"
	ktap_equal "it has these capabilities" cap_net_admin,cap_net_raw,cap_perfmon,cap_bpf \
		"$(getpcaps "$(pid)" 2>&1 | sed 's/.* \(\S*\)=.*/\1/' | tr ' ' ,)"
	ktap_check "it has phases" said 'with phases'
	said 'with phases' || ktap_comment "$(journal)"
	ktap_check "anybody may ask it" setpriv --reuid nobody --clear-groups headway status
	ktap_check "headway wait ends" headway wait --timeout 5
	ktap_check "headway-wait.service ends" systemctl start headway-wait.service
}

test_reload() {
	local before
	before=$(pid)
	write_config 0.9
	ktap_check "it reloads" systemctl reload headwayd.service
	ktap_check "it says so" hw_wait_for 10 said 'reloaded'
	ktap_equal "it is the same process" "$before" "$(pid)"
	echo 'nonsense' >>$config
	systemctl reload headwayd.service
	ktap_check "a mistake is named" hw_wait_for 10 said "headway.toml:.*nonsense\|headway.toml:[0-9]*:"
	ktap_check "a mistake changes nothing" is_paced
	write_config
}

test_mending() {
	tc qdisc del dev $dev root
	ktap_check "a deleted qdisc comes back" hw_wait_for 10 is_paced
	ktap_check "the journal says so" \
		hw_wait_for 10 said "set up $dev again: the root qdisc was gone"
	tc class del dev $dev classid 1:111
	ktap_check "a deleted class comes back" \
		hw_wait_for 10 has_class 'gap 1:111 '
	ktap_check "the status tells" \
		hw_wait_for 10 status_says 'set up again 2 times'
}

# await SECONDS WORDS: until the journal has them.  Asking again and again would start programs for
# all of that time, and those cost an emulated processor more than anything else here.
await() {
	timeout "$1" grep -qm 1 -- "$2" < <(exec journalctl --follow --lines=all --output cat)
}

test_restart() {
	local before seen=/tmp/tc-monitor
	stdbuf -oL tc monitor >$seen &
	local monitor=$!
	before=$(pid)
	kill -KILL "$before"
	ktap_check "killed, it is started again" hw_wait_for 30 is_another_process "$before"
	before=$(pid)
	kill -STOP "$before"
	ktap_check "hanging, it is ended by the watchdog" await 120 "headwayd.service: Watchdog timeout"
	ktap_check "and replaced" hw_wait_for 30 is_another_process "$before"
	before=$(pid)
	ktap_check "it can be restarted" systemctl restart headwayd.service
	ktap_check "it paces then" is_another_process "$before"
	ktap_equal "three times it took over what was there" 3 \
		"$(journal | grep -c "took over the gap qdisc of an earlier run on $dev")"
	tc class change dev $dev parent 1: classid 1:10 gap rate 1mbit
	ktap_check "tc monitor has listened" hw_wait_for 10 grep -q 1:10 $seen
	kill "$monitor"
	ktap_equal "the qdisc was never away" 0 "$(grep -c 'deleted qdisc' $seen)"
	ktap_equal "headway-restore.service has not been started" 0 \
		"$(property ExecMainStartTimestampMonotonic headway-restore.service)"
}

# Distance of two full frames to the other cluster, in ns: the median of forty.  They are the fragments of one
# datagram, for between two datagrams the sender may have to wait for the processor.  This guest's timers are late by
# a frame's distance and more at times, which the qdisc makes up for one frame's distance only (gap-clock.rst): the
# mean, and the slope of the line through all of them, are of that as well, and a whole suite's verdict hung on it.
distance_ns() {
	local wire=/sys/class/net/$dev/simwire
	echo 100000 >$wire/record_frames
	dd if=/dev/zero bs=59192 count=1 status=none >/dev/udp/10.2.0.1/9
	sleep 0.5
	od -An -v -t u4 -w16 $wire/records | awk '
		$3 > 1000 && $4 % 65536 == 8 {
			ns = $1 + $2 * 4294967296
			if (n++)
				printf "%.0f\n", ns - before
			before = ns
		}' | sort -n | awk '{ distance[NR] = $1 } END { print NR ? distance[int((NR + 1) / 2)] : 0 }'
	echo 0 >$wire/record_frames
}

stored() {
	property NFileDescriptorStore
}

has_one_classifier() {
	[[ $(tc filter show dev $dev | grep -c direct-action) == 1 ]]
}

# The store has so many descriptors of one process: its connection, its pidfd, its job's array, the
# text, what sockets have sent.
stored_of_one=5

stores() {
	[[ $(stored) == "$1" ]]
}

# A process that has joined, and only waits: it would not notice a lost connection.
test_joined() {
	local holder before
	ip neigh replace 10.2.0.1 lladdr 02:00:00:00:00:02 dev $dev
	/usr/bin/python3 "$HW_ROOT/tests/daemon/control.py" /run/headway/control.sock \
		'a[0-3]' 'b[0-3]' --phase >/tmp/holder &
	holder=$!
	ktap_check "a process is in a phase" hw_wait_for 30 grep -q entered /tmp/holder
	ktap_check "systemd keeps what it hangs on" hw_wait_for 10 stores $stored_of_one
	# a quarter of the trunk, 1538 bytes on the wire
	ktap_between "what is sent is paced, ns apart" 472000 "$(distance_ns)" 522000
	before=$(pid)
	ktap_check "the daemon is restarted" systemctl restart headwayd.service
	ktap_check "it is another one" is_another_process "$before"
	ktap_check "the process goes on" said 'took up 1 processes that had joined'
	ktap_check "in its slot and its phase" status_says 'slot 0 in phase 1'
	before=$(pid)
	kill -KILL "$before"
	ktap_check "killed, it is started again" hw_wait_for 30 is_another_process "$before"
	ktap_check "and the process goes on again" status_says 'slot 0 in phase 1'
	ktap_between "what is sent is paced as before, ns apart" 472000 "$(distance_ns)" 522000
	# processes of the runs before have five seconds to join again
	ktap_check "soon by one classifier" hw_wait_for 20 has_one_classifier
	ktap_equal "systemd keeps no more than before" $stored_of_one "$(stored)"
	two_jobs
	before=$(pid)
	kill -STOP "$before"
	kill -KILL $holder
	wait $holder || true
	kill -KILL "$before"
	ktap_check "killed with a process that is gone, it is started again" \
		hw_wait_for 30 is_another_process "$before"
	ktap_check "nothing of that process is kept" hw_wait_for 10 stores 0
	ktap_equal "no job is left" 0 "$(headway job list | grep -c 12.0)"
}

told_apart() {
	[[ $(headway status | grep -c 'told apart by 1 cgroup') == "$1" ]]
}

# Besides the one of no unit: each in the cgroup of its own service.
two_jobs() {
	local job
	for job in one two; do
		systemd-run --quiet --unit "test-job-$job" /usr/bin/python3 \
			"$HW_ROOT/tests/daemon/control.py" /run/headway/control.sock \
			'a[0-3]' 'b[0-3]' --phase "--job=$job"
	done
	ktap_check "jobs of several units are told apart" hw_wait_for 30 told_apart 3
	told_apart 3 || ktap_comment "$(headway status | grep ^job) $(journal | tail -n 5)"
	systemctl stop test-job-one test-job-two
	ktap_check "until there is one" hw_wait_for 30 told_apart 0
}

is_paced_by_fq() {
	[[ $(property ActiveState) == active && $(qdisc) == "fq 4857:" ]]
}

# As without the module: with the privileges that the unit leaves the daemon.
test_fq() {
	printf '[kernel]\nbackend = "fq"\n' >>$config
	ktap_check "with backend = fq it is restarted" systemctl restart headwayd.service
	ktap_check "fq is the root qdisc" is_paced_by_fq
	/usr/bin/python3 "$HW_ROOT/tests/daemon/control.py" /run/headway/control.sock \
		'a[0-3]' 'b[0-3]' --phase >/tmp/holder &
	local holder=$!
	ktap_check "a process is in a phase" hw_wait_for 30 grep -q entered /tmp/holder
	ktap_between "what is sent is paced by fq, ns apart" 472000 "$(distance_ns)" 522000
	kill -KILL $holder
	wait $holder || true
	write_config
	ktap_check "without that line it is restarted" systemctl restart headwayd.service
	ktap_check "the qdisc gap is back" is_paced
}

is_own() {
	[[ $(qdisc) == "$own_qdisc" ]]
}

has_failed() {
	[[ $(property ActiveState) == failed ]]
}

test_end() {
	ktap_check "it stops" systemctl stop headwayd.service
	ktap_check "the device's own qdisc is back" hw_wait_for 10 is_own
	ktap_check "small messages are held back as before" hw_wait_for 10 is_autocorking
	ktap_check "nothing is left in /run" test ! -e /run/headway
	ktap_equal "headway-wait.service has stopped with it" inactive \
		"$(property ActiveState headway-wait.service)"
	ktap_equal "headway wait tells what is missing" 1 \
		"$(headway wait --timeout 0 2>&1 | grep -c 'not ready after 0 s: no headwayd')"
	echo 'nonsense' >>$config
	systemctl start headwayd.service 2>/dev/null || true
	ktap_check "with a mistake in the file it fails" hw_wait_for 10 has_failed
	ktap_equal "and is not tried again" "0 2" "$(property NRestarts) $(property ExecMainStatus)"
}

# With etcd on this machine, which the unit as it is may not reach.
is_agreed() {
	headway status --json | grep '"agreed": *true' >/dev/null
}

test_etcd() {
	systemd-run --quiet --unit test-etcd etcd --data-dir /tmp/etcd --unsafe-no-fsync
	write_config
	sed -i '1i [coordination]\nvia = "etcd"\nendpoints = ["http://127.0.0.1:2379"]' $config
	mkdir -p /etc/systemd/system/headwayd.service.d
	cp /usr/local/share/headway/systemd/headwayd-etcd.conf \
		/etc/systemd/system/headwayd.service.d/
	systemctl daemon-reload
	systemctl reset-failed headwayd.service
	ktap_check "it starts with etcd" systemctl start headwayd.service
	ktap_check "it agrees with itself" hw_wait_for 60 is_agreed
	is_agreed || ktap_comment "$(journal | tail)"
	ktap_equal "headway-etcd has no capabilities" 0000000000000000 \
		"$(awk '$1 == "CapPrm:" { print $2 }' "/proc/$(pgrep -x headway-etcd)/status")"
	ktap_check "it stops" systemctl stop headwayd.service
	ktap_equal "its record has gone from etcd" 0 \
		"$(ETCDCTL_API=3 etcdctl get --prefix /headway/a/record/ | wc -l)"
}

(($#)) || set -- test_start test_reload test_mending test_restart test_joined test_fq test_end test_etcd
set_up
for name in "$@"; do
	"$name"
done
kill $delaying || true
pkill -CONT systemd-journal
ktap_end

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest of vm-run --icount --faster 50 --systemd: an administrator's way with the Debian
# packages on one node of four, where systemd is process 1.  KTAP on standard output.
#   guest.sh EARLIER PACKAGES KERNEL      folders: packages of an earlier version, and those under test; the
#                                         release of a kernel that the node gets while it paces
# Two nodes a cluster, links of 1 and a trunk of 1.25 Gbit/s with a shallow buffer: what is
# not paced is dropped.
set -euo pipefail

# shellcheck source=tests/lib/topology.sh
. "$HW_ROOT/tests/lib/topology.sh"
# shellcheck source=tests/lib/daemons.sh
. "$HW_ROOT/tests/lib/daemons.sh"
# shellcheck source=tests/lib/ktap.sh
. "$HW_ROOT/tests/lib/ktap.sh"

earlier=$1 packages=$2 next_kernel=$3
work=/tmp/packages
config=/etc/headway/headway.toml
release=$(uname -r)
export DEBIAN_FRONTEND=noninteractive
# Others keep records of what they did: dpkg and apt theirs; logs; the caches of man and ldconfig;
# passwd's files before the last change; the key that DKMS makes for all modules of the machine.
records=(var/lib/dpkg var/lib/apt var/cache/apt var/log var/cache/man var/cache/ldconfig
	etc/passwd- etc/group- etc/shadow- etc/gshadow- 'var/lib/dkms/mok.*')

# ---- the node -------------------------------------------------------------------

# The guest itself becomes a node, for there is one systemd.
take_place_of() {
	hw_node "$1" ip link set eth0 netns 1
	hw_node_commands "$1" | ip -batch -
	hostname "$1"
	echo 1 >"$hw_state/$1.pid"
	hw_read_state
}

# One processor is all nodes and the network, and must not be late with frames: then several
# arrive at the trunk in a burst that no real network sends.  Under the load of an upgrade it is,
# for two reasons.  Who uses many files, as compilers do, leaves the kernel much to free, which it
# does in one go for up to 3 ms of sched_clock(), 60 us here; 1 ms is the least that it can be
# told.  And what it puts off then is ksoftirqd's, which waits for its turn among processes.
# With both of these told, 71 us were the most that was seen.
keep_network_in_time() {
	echo 1000000 >/sys/module/rcutree/parameters/rcu_resched_ns
	chrt --fifo --pid 1 "$(pgrep --exact ksoftirqd/0)"
}

# In so many ns the links of both nodes carry what the trunk's buffer takes besides a burst of
# paced frames: a network that is later drops frames for which no daemon is to blame.
late_limit_ns=100000

# The longest that a frame has been late in front of the trunk, since the last time.
lateness_ns() {
	local end late most=0
	for end in trka trkb; do
		late=$(</sys/class/net/$end/simwire/late_ns)
		((late <= most)) || most=$late
		echo 0 >/sys/class/net/$end/simwire/late_ns
	done
	echo "$most"
}

set_up() {
	mkdir -p $work/lists
	# a container's, in which no service is started
	rm -f /usr/sbin/policy-rc.d
	# what the headers' packages leave there: DKMS builds for all kernels that it finds
	find /lib/modules -mindepth 1 -maxdepth 1 ! -name "$release" -exec rm -r {} +
	ln -sfn "$HW_BUILD/kernels/$release/lib/modules/$release/build" "/lib/modules/$release/build"
	hw_two_clusters 2 1000 1250 50 32768 32768
	take_place_of a0
	keep_network_in_time
	cp "$HW_BUILD/lib/tests/yield_sleep.so" $work
	own_qdisc=$(qdisc)
	# what is done anyhow when any package is installed
	depmod
	ldconfig
	"$HW_ROOT/tests/packages/changes" remember $work/before
}

property() {
	systemctl show --property "$1" --value "${2:-headwayd.service}"
}

qdisc() {
	tc qdisc show dev eth0 root | awk '{ print $2, $3 }'
}

# Without lists of packages, as on a machine without a network: all that is needed is there.
apt_get() {
	apt-get --yes --quiet --no-install-recommends -o "Dir::State::Lists=$work/lists" \
		-o Dpkg::Use-Pty=0 "$@" </dev/null
}

version_of() {
	dpkg-query --show --showformat '${Version}\n' headway
}

# built [KERNEL]...: what DKMS says of the module of the packages that are installed.
built() {
	printf "headway/$(version_of), %s, x86_64: installed\n" "$release" "$@" | sort
}
module_of() {
	find "/lib/modules/$1/updates/dkms" -name 'sch_gap.ko*' 2>/dev/null
}

# Starts the daemons of the other nodes, where an administrator has them, too.
start_other_daemons() {
	local node
	for node in a1 b0 b1; do
		hw_node_spawn $node $work/headwayd-$node.log headwayd --foreground
		hw_daemons+=("$HW_SPAWNED")
		hw_wait_for 600 hw_node $node headway status || {
			tail -n 20 $work/headwayd-$node.log >&2
			return 1
		}
	done
}

# ---- from nothing to a configuration -----------------------------------------------

test_install() {
	ktap_check "the packages of an earlier version are installed" apt_get install "$earlier"/*.deb
	ktap_equal "DKMS has built the module and installed it" "$(built)" "$(dkms status -m headway 2>/dev/null)"
	ktap_equal "where modprobe finds it" "$(module_of "$release")" "$(modinfo -F filename sch_gap)"
	ktap_equal "nothing has been started, enabled, loaded" "inactive disabled" \
		"$(property ActiveState) $(property UnitFileState)$(grep '^sch_gap ' /proc/modules)"
	ktap_equal "nor set up" "$own_qdisc" "$(qdisc)"
	ktap_check "man finds its pages" man -w headway headwayd headway.toml tc-gap libheadway
}

test_doctor() {
	local status=0
	headway doctor --json --seconds 1 "$(hw_node_address b0)" >$work/doctor || status=$?
	ktap_equal "headway doctor cannot tell while nothing is sent" 3 $status
	ktap_equal "it names the interface, and says that there is no headwayd" "eth0 False" \
		"$(/usr/bin/python3 -c "import json; found = json.load(open('$work/doctor'))
print(found['paths'][0]['interface'], found['headwayd']['answers'])")"
}

test_start() {
	mkdir -p "${config%/*}"
	hw_config 2 1000 1250 >$config
	ktap_check "the configuration has no mistakes" headway check-config $config
	ktap_check "the daemon is enabled and starts" systemctl enable --now headwayd headway-wait
	ktap_equal "it paces" "active gap 1:" "$(property ActiveState) $(qdisc)"
	journalctl --sync
	ktap_equal "with phases, by the module" "1 1" \
		"$(journalctl --unit headwayd.service --output cat --no-pager | grep -c 'with phases') $(grep -c '^sch_gap ' /proc/modules)"
	start_other_daemons
}

# ---- a job, and an upgrade under it ---------------------------------------------------

# job NAME CALLS [NAME=VALUE...]: each rank N writes to NAME/N.out and NAME/N.err (rank_record)
job() {
	local name=$1 calls=$2
	shift 2
	mkdir -p "$work/$name"
	MPI_JOB_THROUGH="env LD_PRELOAD=$work/yield_sleep.so headway run --report $work/$name.json --" \
		"$HW_ROOT/tests/lib/mpi-job" ompi 1 HW_RANK_RECORDS="$work/$name" "$@" -- \
		"$HW_BUILD/bin/tests/rank_record" /usr/bin/python3 \
		"$HW_ROOT/tests/packages/exchange.py" "$work/$name.end" "$calls" \
		>"$work/$name/launcher" 2>&1 </dev/null
}

calls_of() {
	awk '$1 == "calls" { calls = $2 } END { print calls + 0 }' <(cat "$work/$1/0.out" 2>/dev/null)
}

has_made_calls() {
	(($(calls_of "$1") >= $2)) || ! kill -0 "$running"
}

# paced_calls NAME: of its all-to-alls, and those that were not, and the segments sent again
paced_calls() {
	/usr/bin/python3 -c "import json
report = json.load(open('$work/$1.json'))
rows = [r for r in report['collectives'] if r['operation'] == 'alltoall']
print(sum(r['calls'] for r in rows if r['paced']), sum(r['calls'] for r in rows if not r['paced']),
      sum(n['own_connections']['retransmitted_segments'] for n in report['nodes']))"
}

test_unpaced() {
	local drops
	drops=$(hw_trunk_drops)
	touch $work/unpaced.end
	ktap_check "HEADWAY=off: a job runs" job unpaced 5 HEADWAY=off
	ktap_between "unpaced, the trunk drops frames" 1 $(($(hw_trunk_drops) - drops)) 100000
}

# Between two calls, and some more follow.
upgrade() {
	local calls
	hw_wait_for 600 has_made_calls upgraded 5 || return
	calls=$(calls_of upgraded)
	apt_get install "$packages"/*.deb || return
	during_upgrade=$(($(calls_of upgraded) - calls))
	hw_wait_for 600 has_made_calls upgraded $((calls + during_upgrade + 10))
}

test_upgrade() {
	local drops pid running monitor status=0 during_upgrade=0 old
	old=$(version_of)
	drops=$(hw_trunk_drops)
	pid=$(property MainPID)
	stdbuf -oL tc monitor >$work/monitor &
	monitor=$!
	job upgraded 1 &
	running=$!
	lateness_ns >/dev/null
	upgrade >$work/upgrade 2>&1 || status=$?
	ktap_result $status "all packages are upgraded under a paced job"
	ktap_between "the emulated network was in time, within so many ns" 0 "$(lateness_ns)" $late_limit_ns
	((status == 0)) || ktap_comment "$(tail -n 30 $work/upgrade)"
	status=0
	touch $work/upgraded.end
	wait $running || status=$?
	ktap_equal "the job ends well" 0 $status
	ktap_between "it has made calls meanwhile" 1 "$during_upgrade" 100000
	ktap_check "the version is another: $old, $(version_of)" test "$old" != "$(version_of)"
	ktap_equal "another daemon runs, from the new file" "another $(stat -L -c %i /usr/sbin/headwayd)" \
		"$([[ $(property MainPID) == "$pid" ]] || echo another) $(stat -L -c %i "/proc/$(property MainPID)/exe")"
	ktap_equal "all calls were paced, and nothing was sent again" "$(calls_of upgraded) 0 0" \
		"$(paced_calls upgraded)"
	ktap_equal "the trunk has dropped nothing" "$drops" "$(hw_trunk_drops)"
	ktap_equal "the helper has said once that it paces, and nothing else" "1 1" \
		"$(cat $work/upgraded/*.err | grep -c '^headway: pacing') $(cat $work/upgraded/*.err | grep -c '^headway:')"
	tc class change dev eth0 parent 1: classid 1:10 gap rate 1mbit
	ktap_check "tc monitor has listened" hw_wait_for 10 grep -q 1:10 $work/monitor
	kill $monitor
	ktap_equal "the qdisc, and so the module of the earlier package, was never away" "0 gap 1:" \
		"$(grep -c 'deleted qdisc gap' $work/monitor) $(qdisc)"
	ktap_equal "DKMS has the module of the new package, and no other" "$(built)" "$(dkms status -m headway 2>/dev/null)"
	((ktap_failed == 0)) || ktap_comment "$(tail -n 30 $work/upgraded/launcher $work/upgraded/*.err)
$(headway status) $(journalctl --unit headwayd.service --output cat --no-pager | tail -n 30)"
}

# ---- another kernel -------------------------------------------------------------------

# As apt leaves it: its modules and its headers are there, and then these call what DKMS has put into
# /etc/kernel.  The module goes to HW_OUT, for a guest of that kernel.
test_kernel_upgrade() {
	local pid
	pid=$(property MainPID)
	mkdir "/lib/modules/$next_kernel"
	ln -s "$HW_BUILD/kernels/$next_kernel/lib/modules/$next_kernel/build" "/lib/modules/$next_kernel/build"
	ktap_check "Linux $next_kernel is installed" run-parts --arg="$next_kernel" /etc/kernel/header_postinst.d
	ktap_equal "DKMS has the module for it, and for the one that runs" "$(built "$next_kernel")" \
		"$(dkms status -m headway 2>/dev/null | sort)"
	ktap_equal "the daemon has gone on" "$pid gap 1:" "$(property MainPID) $(qdisc)"
	cp "$(module_of "$next_kernel")" "$HW_OUT/"
}

# ---- what Debian's own machines would run ----------------------------------------------

# In a network of its own where it says that it changes what is there.
test_autopkgtests() {
	local name
	for name in $(sed -n 's/^Tests: *//p' "$HW_ROOT/debian/tests/control"); do
		mkdir -p "$work/autopkgtest/$name"
		ktap_check "autopkgtest $name" env AUTOPKGTEST_TMP="$work/autopkgtest/$name" \
			TMPDIR=/tmp LD_PRELOAD= "$HW_ROOT/debian/tests/$name"
	done
}

# ---- and back -----------------------------------------------------------------------

names_of_packages() {
	local file
	for file in "$packages"/*.deb; do
		dpkg-deb --field "$file" Package
	done
}

is_own() {
	[[ $(qdisc) == "$own_qdisc" ]]
}

test_remove() {
	local -a names
	mapfile -t names < <(names_of_packages)
	hw_stop_daemons
	ktap_check "the packages are removed while the daemon runs" apt_get remove "${names[@]}"
	ktap_equal "it has ended" inactive "$(property ActiveState)"
	ktap_check "the device has its own qdisc" is_own
	ktap_check "the configuration is still there" test -s $config
	# without lists apt knows nothing of those that have left no configuration
	ktap_check "the packages are purged" dpkg --purge "${names[@]}"
	ktap_check "the module can be taken out of the kernel" rmmod sch_gap
	ktap_equal "and is gone from the other one, too" "" "$(module_of "$next_kernel")"
	rm -r "/lib/modules/$next_kernel"
	ktap_equal "nothing is left in /run" "" "$(find /run -name 'headway-vm*' -prune -o \
		-name '*headway*' ! -name '*:headway-vm*' -print)"
	ktap_check "every file is as before" "$HW_ROOT/tests/packages/changes" since $work/before "${records[@]}"
}

set_up
test_install
test_doctor
test_start
test_unpaced
test_upgrade
test_kernel_upgrade
test_autopkgtests
test_remove
ktap_end

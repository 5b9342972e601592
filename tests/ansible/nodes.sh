# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # the tables are those of topology.sh
# Nodes of topology.sh that are computers of their own to whoever logs in: systemd is process
# 1, sshd answers, and each has its own root file system, a layer over the guest's files.
# What they share is the kernel with its modules, and the folder where those lie.  Sourced
# after topology.sh, once the network stands, in a guest of vm-run.
#
#   nodes_start               start systemd on all of them, and a network for administrators:
#                             eth0 stays the cluster's; the guest is 192.0.2.1 on adm0
#   nodes_address NODE        where sshd listens
#   nodes_run NODE COMMAND... by ssh, as root; nodes_user_run: as the user mpi, in the home folder
#   nodes_stop
# root and mpi log in from everywhere to every node, by its name too.

declare -A nodes_pid=()
nodes_state=/tmp/headway-nodes
nodes_patience_s=3000

nodes_address() {
	local i
	for i in "${!hw_names[@]}"; do
		[[ ${hw_names[$i]} != "$1" ]] || echo "192.0.2.$((i + 11))"
	done
}

nodes_write_ssh() {
	local node
	mkdir -p /root/.ssh
	ssh-keygen -q -t ed25519 -N "" -f /root/.ssh/id_ed25519
	cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys
	for node in "${hw_names[@]}"; do
		printf 'Host %s\nHostName %s\n' "$node" "$(nodes_address "$node")"
	done >/root/.ssh/config
	printf '%s\n' 'Host *' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' 'LogLevel ERROR' \
		'AddressFamily inet' 'ControlMaster auto' 'ControlPath /run/ssh-%r@%h' \
		'ControlPersist 36000' >>/root/.ssh/config
	chmod -R go= /root/.ssh
	useradd --create-home --shell /bin/bash --password '*' mpi
	cp -r /root/.ssh /home/mpi
	# a connection that outlives the job would hold the job's output open
	sed -i /^Control/d /home/mpi/.ssh/config
	chown -R mpi: /home/mpi/.ssh
}

# Writes what every node finds below its layer: who may log in, and a target that brings up no more
# than a test needs.
nodes_write_common() {
	mkdir -p $nodes_state/units
	nodes_write_ssh
	# root's password is locked where PAM asks; sessions need no logind
	printf '%s\n' 'UsePAM no' 'PermitRootLogin prohibit-password' 'UseDNS no' \
		'LoginGraceTime 0' 'MaxSessions 50' >/etc/ssh/sshd_config.d/test.conf
	# a container's, in which no service is started
	rm -f /usr/sbin/policy-rc.d
	printf '%s\n' '[Unit]' 'Requires=basic.target' 'After=basic.target' \
		'Wants=dbus.service ssh.service' 'AllowIsolate=yes' >$nodes_state/units/node.target
	local unit
	for unit in systemd-udevd systemd-udev-trigger systemd-udev-settle systemd-timesyncd \
		systemd-journal-flush systemd-random-seed systemd-update-utmp systemd-binfmt \
		systemd-tmpfiles-setup-dev systemd-tmpfiles-setup e2scrub_reap systemd-remount-fs; do
		ln -s /dev/null "$nodes_state/units/$unit.service"
	done
	for unit in timers.target swap.target systemd-udevd-kernel.socket \
		systemd-udevd-control.socket proc-sys-fs-binfmt_misc.automount; do
		ln -s /dev/null "$nodes_state/units/$unit"
	done
}

# Process 1 of a node, until systemd takes its place.
nodes_process_1() {
	cat <<'PROCESS'
set -e
name=$1 layer=$2/$1 release=$(uname -r)
root=$layer/root
mkdir -p $layer/upper/etc $layer/work $root
echo $name >$layer/upper/etc/hostname
mount -t overlay -o lowerdir=/,upperdir=$layer/upper,workdir=$layer/work overlay $root
mount --bind /lib/modules/$release $root/lib/modules/$release
mount -t proc proc $root/proc
mount -t sysfs sysfs $root/sys
mount -t cgroup2 cgroup2 $root/sys/fs/cgroup
mount --rbind /dev $root/dev
mount -t tmpfs -o mode=755 tmpfs $root/run
mount -t tmpfs -o mode=1777 tmpfs $root/tmp
# a clone below /tmp
[ -e $root$HW_ROOT ] || { mkdir -p $root$HW_ROOT && mount --bind $HW_ROOT $root$HW_ROOT; }
# for tests/packages/changes
mkdir -p $root/run/headway-vm/host $root/run/headway-vm/layer $root/run/headway-vm/merged
mount --bind / $root/run/headway-vm/host
mount --bind $layer/upper $root/run/headway-vm/layer
mount --bind $root $root/run/headway-vm/merged
mkdir -p $root/run/systemd
cp -r $2/units $root/run/systemd/system
cd $root
pivot_root . .
umount -l .
exec env -i container=headway PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd \
	--unit=node.target --log-target=console --show-status=no
PROCESS
}

nodes_answer() {
	local node
	for node in "${hw_names[@]}"; do
		nodes_run "$node" true || return
	done
}

nodes_plug() {
	local node pid=$2
	node=$1
	ip link add "adm$node" type veth peer name adm0 netns "$pid"
	ip link set "adm$node" master adm0 up
	nsenter --target "$pid" --net -- sh -c "ip addr add $(nodes_address "$node")/24 dev adm0
		ip link set adm0 up"
}

nodes_start() {
	local node
	mkdir -p $nodes_state
	nodes_write_common
	ip link add adm0 type bridge forward_delay 0 stp_state 0
	ip addr add 192.0.2.1/24 dev adm0
	ip link set adm0 up
	for node in "${hw_names[@]}"; do
		nodes_plug "$node" "${hw_pid[$node]}"
		hw_node_spawn "$node" "$nodes_state/$node.log" unshare --mount --pid --fork --kill-child \
			--ipc --cgroup --propagation private sh -c "$(nodes_process_1)" sh "$node" $nodes_state
		nodes_pid[$node]=$HW_SPAWNED
	done
	hw_wait_for $nodes_patience_s nodes_answer || {
		tail -n 20 $nodes_state/*.log >&2
		return 1
	}
}

nodes_run() {
	local node=$1
	shift
	ssh -o BatchMode=yes "$(nodes_address "$node")" "$@"
}

nodes_user_run() {
	local node=$1
	shift
	ssh -o BatchMode=yes -l mpi "$(nodes_address "$node")" "$@"
}

# By the process that is its systemd: nobody can log in.
nodes_start_sshd() {
	local pid
	pid=$(pgrep -P "${nodes_pid[$1]}")
	nsenter --target "$pid" --mount --uts --net --pid -- systemctl start ssh.service
}

nodes_stop() {
	kill -KILL "${nodes_pid[@]}"
	wait "${nodes_pid[@]}" || :
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest of vm-run --icount --faster 50 --systemd: from a list of hosts to a paced cluster by
# Ansible, with systemd and sshd on each node of two clusters.  KTAP on standard output.
#   guest.sh NODES TEST...    how many nodes a cluster has; such as test_check
# Links have 1, the trunk 1.25 Gbit/s.  The guest itself is the controller and the monitoring host.
set -euo pipefail

# shellcheck source=tests/lib/topology.sh
. "$HW_ROOT/tests/lib/topology.sh"
# shellcheck source=tests/lib/ktap.sh
. "$HW_ROOT/tests/lib/ktap.sh"
# shellcheck source=tests/ansible/nodes.sh
. "$HW_ROOT/tests/ansible/nodes.sh"

count=$1
shift
work=/tmp/ansible
release=$(uname -r)
playbooks=$HW_ROOT/packaging/ansible/playbooks
trunk_mbit=1250
etcd=http://192.0.2.1:2379
export ANSIBLE_CONFIG=$work/ansible.cfg ANSIBLE_NOCOLOR=1
# a guest that waits for a busy host's disk sees any amount of time go by
export SYSTEMD_BUS_TIMEOUT=600
# As tests/packages/guest.sh; and what Ansible leaves in its user's home, and PackageKit and logind,
# which apt wakes up on D-Bus, keep.
records=(var/lib/dpkg var/lib/apt var/cache/apt var/log var/cache/man var/cache/ldconfig
	etc/passwd- etc/group- etc/shadow- etc/gshadow- 'var/lib/dkms/mok.*' root/.ansible
	var/lib/PackageKit var/lib/systemd/linger 'var/tmp/systemd-private-*')

# ---- what there is before -----------------------------------------------------------

# The only package source, for nothing outside of the guest can be reached.
make_repository() {
	local repository=/srv/headway
	mkdir -p $repository
	find "$HW_BUILD/deb" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' -exec cp -t $repository {} +
	(cd $repository && dpkg-scanpackages . >Packages) 2>/dev/null
	rm -rf /var/lib/apt/lists /etc/apt/sources.list.d
	echo "deb [trusted=yes] file:$repository ./" >/etc/apt/sources.list
	apt-get update >/dev/null
}

# Of all nodes, for it lies below their layers.
prepare_files() {
	find /lib/modules -mindepth 1 -maxdepth 1 ! -name "$release" -exec rm -r {} +
	ln -sfn "/usr/src/linux-headers-$release" "/lib/modules/$release/build"
	make_repository
	# mandb, after every change of a package, would take longer than all else
	rm -f /var/lib/man-db/auto-update
	mkdir -p /etc/slurm
	echo 'ClusterName=test' >/etc/slurm/slurm.conf
	depmod
	ldconfig
}

# One kernel takes one module, which the first node builds; its folder is shared.
prepare_nodes() {
	local node
	for node in "${hw_names[@]}"; do
		[[ $node == a0 ]] || nodes_run "$node" touch /etc/dkms/no-autoinstall
		nodes_run "$node" "$HW_ROOT/tests/packages/changes" remember /run/before
	done
}

inventory() {
	local node
	echo '[headway_nodes]'
	for node in "${hw_names[@]}"; do
		echo "$node ansible_host=$(nodes_address "$node")"
	done
	cat <<-INVENTORY
		[headway_monitoring]
		monitor ansible_connection=local
		[all:vars]
		ansible_python_interpreter=/usr/bin/python3
		ansible_become=false
		[headway_nodes:vars]
		headway_packages=$work/packages
		headway_config=$work/headway.toml
		headway_measure=true
		headway_measure_options=["--network-only", "--patience", "600", "--max-load", "100"]
		headway_slurm=true
		headway_slurm_reconfigure=false
		headway_etcd_endpoints=["$etcd"]
		headway_prometheus_addresses=["192.0.2.1"]
	INVENTORY
}

set_up() {
	mkdir -p $work/packages
	prepare_files
	hw_two_clusters "$count" 1000 $trunk_mbit 50 65536 32768
	nodes_start
	start_etcd
	prepare_nodes
	cp /srv/headway/*.deb $work/packages
	inventory >$work/inventory
	sed "s|^inventory.*|inventory = $work/inventory\ntimeout = $nodes_patience_s|
		s|^roles_path.*|roles_path = $HW_ROOT/packaging/ansible/roles|" \
		"$HW_ROOT/packaging/ansible/ansible.cfg" >$work/ansible.cfg
	# the nodes' ssh is quick, once it stands
	echo "ssh_args = -F /root/.ssh/config" >>$work/ansible.cfg
	last=${hw_names[-1]}
}

# Where the nodes agree on shares of their trunk: on the controller.
start_etcd() {
	systemd-run --quiet --unit test-etcd etcd --data-dir $work/etcd --unsafe-no-fsync \
		--listen-client-urls "$etcd" --advertise-client-urls "$etcd"
}

# ---- playbooks ------------------------------------------------------------------------

# playbook NAME [OPTION...]: what it says is in NAME.out; its status and seconds in $status, $took
playbook() {
	local name=$1 begin
	shift
	status=0
	begin=$(cut -d ' ' -f 1 /proc/uptime)
	ansible-playbook "$@" >$work/"$name".out 2>&1 || status=$?
	took=$(awk -v begin="$begin" '{ printf "%.0f", $1 - begin }' /proc/uptime)
	[[ ! -d ${HW_OUT:-/nonexistent} ]] || cp $work/"$name".out "$HW_OUT"
}

# recap NAME COUNTER: "HOST NUMBER" of each host
recap() {
	sed -n 's/^\([a-z0-9]*\) *: ok=.* '"$2"'=\([0-9]*\).*/\1 \2/p' $work/"$1".out
}

sum() {
	recap "$@" | awk '{ sum += $2 } END { print sum + 0 }'
}

expect_success() {
	ktap_equal "$2" "0: 0 failed, 0 unreachable" \
		"$status: $(sum "$1" failed) failed, $(sum "$1" unreachable) unreachable"
	((status == 0)) || ktap_comment "$(tail -n 60 $work/"$1".out)"
}

# expect_as_before WHAT
expect_as_before() {
	local node
	for node in "${hw_names[@]}"; do
		ktap_check "$1 on $node" nodes_run "$node" "$HW_ROOT/tests/packages/changes" \
			since /run/before "${records[@]}"
	done
}

# ---- tests ------------------------------------------------------------------------------

test_check() {
	playbook check "$playbooks/site.yml" --check --diff
	expect_success check "--check on fresh nodes succeeds"
	ktap_check "it says what would be done on each" \
		test "$(recap check changed | awk '/^[ab]/ && $2 > 2' | wc -l)" == ${#hw_names[@]}
	expect_as_before "--check has changed nothing"
}

test_site() {
	playbook site "$playbooks/site.yml"
	expect_success site "one play paces ${#hw_names[@]} nodes"
	ktap_comment "it took $took s of virtual time, in which one processor of 50 x 10^9 instructions a" \
		"second was all nodes and the controller"
	ktap_between "in less than ten minutes" 1 "$took" 600
	ktap_check "the network has been measured" measured_is_right
}

measured_is_right() {
	/usr/bin/python3 - $work/headway.toml $trunk_mbit "$count" <<-'CHECK'
		import re, sys, tomllib
		file, trunk, count = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
		text = open(file).read()
		clusters = tomllib.loads(text)["cluster"]
		print(text)
		words = [c[key] for c in clusters for key in c if re.fullmatch("trunk_(up_|down_)?rate", key)]
		found = [re.fullmatch(r"([\d.]+)([kmg])bit", word) for word in words]
		rates = [float(one[1]) * {"k": 0.001, "m": 1, "g": 1000}[one[2]] for one in found]
		assert len(clusters) == 2, clusters
		assert len(rates) >= 2 and all(abs(rate / trunk - 1) < 0.05 for rate in rates), rates
	CHECK
}

agrees() {
	nodes_run "$1" headway status --json | grep -q '"agreed": *true'
}

# paced NODE: who it is and whether it paces, its qdisc, its configuration, what starts at boot
paced() {
	nodes_run "$1" "headway status --json" | /usr/bin/python3 -c "import json, sys
s = json.load(sys.stdin)
print(s['daemon']['node'], s['daemon']['interface'], s['in_step'] and any(c['in_kernel'] for c in s['classes']))"
	nodes_run "$1" "tc qdisc show dev eth0 root" | awk '{ print $2, $3 }'
	nodes_run "$1" "sha256sum </etc/headway/headway.toml; systemctl is-enabled headwayd headway-wait headway-exporter"
}

test_paced() {
	local node digest
	digest=$(nodes_run a0 sha256sum /etc/headway/headway.toml | cut -d ' ' -f 1)
	for node in "${hw_names[@]}"; do
		ktap_equal "$node paces, by the same configuration, also after a reboot" \
			"$node eth0 True gap 1: $digest - enabled enabled enabled" "$(paced "$node" | xargs)"
		ktap_check "$node agrees with its cluster by etcd" hw_wait_for 600 agrees "$node"
	done
	ktap_equal "Slurm's files name what is installed" \
		"Prolog=/usr/share/headway/slurm/headway-prolog optional" \
		"$(nodes_run "$last" 'grep ^Prolog= /etc/slurm/slurm.conf; grep -o ^optional /etc/slurm/plugstack.conf' | xargs)"
	ktap_check "the files that Slurm's name are there" nodes_run "$last" \
		'test -x /usr/share/headway/slurm/headway-prolog -a -e /usr/lib/x86_64-linux-gnu/headway/spank_headway.so'
}

test_scraped() {
	ktap_check "Prometheus has begun" systemctl restart prometheus
	ktap_check "the dashboard's queries find every node" "$HW_ROOT/tests/ansible/queries.py" \
		http://127.0.0.1:9090 ${#hw_names[@]} 300
	ktap_equal "who is not named may not scrape" refused "$(nodes_run "$last" \
		"curl --silent --max-time 5 http://$(nodes_address a0):9853/metrics >/dev/null || echo refused")"
}

test_again() {
	playbook again "$playbooks/site.yml"
	expect_success again "the same play succeeds again"
	ktap_equal "it changes nothing" 0 "$(sum again changed)"
}

test_down() {
	nodes_run "$last" systemctl stop ssh.socket ssh.service
	ssh -O exit "$(nodes_address "$last")" 2>/dev/null || true
	echo '# another line' >>$work/headway.toml
	playbook down "$playbooks/site.yml" --limit "a0,$last"
	ktap_equal "a node that is down is unreachable, by name, and the status tells" "4 a0 0 $last 1" \
		"$status $(recap down unreachable | grep -v monitor | xargs)"
	ktap_check "the others are finished" nodes_run a0 grep -qx "'# another line'" /etc/headway/headway.toml
	ktap_check "it answers again" nodes_start_sshd "$last"
}

test_undo() {
	playbook undo "$playbooks/undo.yml"
	expect_success undo "one play undoes it"
	expect_as_before "everything is as before"
	ktap_equal "every node has its own qdisc" "" \
		"$(for node in "${hw_names[@]}"; do nodes_run "$node" tc qdisc show dev eth0 root; done | grep gap)"
	playbook undone "$playbooks/undo.yml"
	expect_success undone "the same play succeeds again"
	ktap_equal "it changes nothing" 0 "$(sum undone changed)"
}

# The same without Ansible, for two nodes, by the description that was measured.
test_program() {
	local program=$HW_ROOT/packaging/cluster/headway-cluster node
	local by=(--ssh "ssh -o BatchMode=yes -F $work/ssh_config")
	for node in a0 "$last"; do
		printf 'Host %s\nHostName %s\n' "$node" "$(nodes_address "$node")"
	done >$work/ssh_config
	{ echo 'Host *' && cat /root/.ssh/config; } >>$work/ssh_config
	printf 'a0\n%s\n' "$last" >$work/two
	ktap_check "headway-cluster install" "$program" install $work/two --packages apt \
		--config $work/headway.toml "${by[@]}"
	ktap_equal "both nodes pace" "a0 eth0 True gap 1: $last eth0 True gap 1:" \
		"$(for node in a0 "$last"; do paced "$node" | head -n 2; done | xargs)"
	ktap_check "headway-cluster check names what is there" grep -q "^$last: headway: .*headwayd: true" \
		<("$program" check $work/two "${by[@]}")
	ktap_check "headway-cluster remove" "$program" remove $work/two "${by[@]}"
	for node in a0 "$last"; do
		ktap_check "headway-cluster has left everything on $node as before" nodes_run "$node" \
			"$HW_ROOT/tests/packages/changes" since /run/before "${records[@]}"
	done
}

set_up
for name in "$@"; do
	"$name"
	ktap_comment "$name: $(date +%T)"
done
nodes_stop
hw_down
ktap_end

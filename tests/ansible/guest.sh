#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest of vm-run --icount --faster 50 --systemd: from a list of hosts to a paced cluster by
# Ansible, by headway-cluster and by the tutorial, with systemd and sshd on each node of two
# clusters.  KTAP on standard output.
#   guest.sh NODES TEST...    how many nodes a cluster has; such as test_check
# Links have 1, the trunk 1.25 Gbit/s.  The guest itself is the controller and the monitoring host.
# Commands are those of the pages, as they stand there; only Ansible's files are elsewhere.
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
clone=$work/clone # what of a clone of the repository the pages' commands need
release=$(uname -r)
trunk_mbit=1250
etcd=http://192.0.2.1:2379
export ANSIBLE_NOCOLOR=1
# As tests/packages/guest.sh; and what Ansible leaves in its user's home, PackageKit and logind,
# which apt wakes up on D-Bus, keep, and a user has written.
records=(var/lib/dpkg var/lib/apt var/cache/apt var/log var/cache/man var/cache/ldconfig
	etc/passwd- etc/group- etc/shadow- etc/gshadow- 'var/lib/dkms/mok.*' root/.ansible
	var/lib/PackageKit var/lib/systemd/linger 'var/tmp/systemd-private-*'
	home/mpi srv/headway/headway.toml)

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

# Prepares the files of all nodes, which lie below the nodes' layers.
prepare_files() {
	find /lib/modules -mindepth 1 -maxdepth 1 ! -name "$release" -exec rm -r {} +
	ln -sfn "$HW_BUILD/kernels/$release/lib/modules/$release/build" "/lib/modules/$release/build"
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
		headway_packages=$clone/build/deb
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
	prepare_files
	prepare_clone
	hw_two_clusters "$count" 1000 $trunk_mbit 50 65536 32768
	nodes_start
	start_etcd
	prepare_nodes
	last=${hw_names[-1]}
}

prepare_clone() {
	mkdir -p $clone/build
	cp -r "$HW_ROOT/packaging" $clone
	ln -s /srv/headway $clone/build/deb
	sed -i "s/^forks.*/&\ntimeout = $nodes_patience_s/" $clone/packaging/ansible/ansible.cfg
	# the nodes' ssh is quick, once it stands
	echo "ssh_args = -F /root/.ssh/config" >>$clone/packaging/ansible/ansible.cfg
}

# Where the nodes agree on shares of their trunk: on the controller.
start_etcd() {
	systemd-run --quiet --unit test-etcd etcd --data-dir $work/etcd --unsafe-no-fsync \
		--listen-client-urls "$etcd" --advertise-client-urls "$etcd"
}

# ---- the pages' commands --------------------------------------------------------------

# "PROMPT COMMAND" of every line that has one.
commands() {
	sed -n 's/^    \([$#] .*\)/\1/p' "$HW_ROOT/Documentation/$1.rst" | sed 's/  *#.*//'
}

# the_command PATTERN: the only one of cluster.rst that matches
the_command() {
	local found
	found=$(commands cluster | sed 's/^. //' | grep -e "$1")
	[[ $found && $found != *$'\n'* ]] || {
		echo "cluster.rst: not one command is like '$1': '$found'" >&2
		return 1
	}
	echo "$found"
}

# ---- playbooks ------------------------------------------------------------------------

# playbook NAME PATTERN [OPTION...]: the command of cluster.rst with more options; what it says is
# in NAME.out, its status and seconds in $status, $took
playbook() {
	local name=$1 command begin
	command=$(the_command "$2")
	shift 2
	status=0
	begin=$(cut -d ' ' -f 1 /proc/uptime)
	env -C $clone/packaging/ansible bash -c "$command $*" >$work/"$name".out 2>&1 || status=$?
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
	env -C $clone/packaging/ansible bash -c "$(the_command '^cp ')"
	inventory >$clone/packaging/ansible/inventory # by an editor
	playbook check '--check --diff'
	expect_success check "--check on fresh nodes succeeds"
	ktap_check "it says what would be done on each" \
		test "$(recap check changed | awk '/^[ab]/ && $2 > 2' | wc -l)" == ${#hw_names[@]}
	expect_as_before "--check has changed nothing"
}

test_site() {
	playbook site 'site.yml$'
	expect_success site "one play paces ${#hw_names[@]} nodes"
	ktap_comment "it took $took s of virtual time, in which one processor of 50 x 10^9 instructions a" \
		"second was all nodes and the controller"
	ktap_between "in less than ten minutes" 1 "$took" 600
	ktap_check "the network has been measured" measured_is_right <$work/headway.toml
}

measured_is_right() {
	/usr/bin/python3 /dev/fd/3 $trunk_mbit 3<<-'CHECK'
		import re, sys, tomllib
		trunk, text = float(sys.argv[1]), sys.stdin.read()
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
	nodes_run "$1" headway status --json | grep '"agreed": *true' >/dev/null
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
	playbook again 'site.yml$'
	expect_success again "the same play succeeds again"
	ktap_equal "it changes nothing" 0 "$(sum again changed)"
}

test_down() {
	nodes_run "$last" systemctl stop ssh.socket ssh.service
	ssh -O exit "$(nodes_address "$last")" 2>/dev/null || true
	echo '# another line' >>$work/headway.toml
	playbook down 'site.yml$' --limit "a0,$last"
	ktap_equal "a node that is down is unreachable, by name, and the status tells" "4 a0 0 $last 1" \
		"$status $(recap down unreachable | grep -v monitor | xargs)"
	ktap_check "the others are finished" nodes_run a0 grep -qx "'# another line'" /etc/headway/headway.toml
	ktap_check "it answers again" nodes_start_sshd "$last"
}

test_undo() {
	playbook undo undo.yml
	expect_success undo "one play undoes it"
	expect_as_before "everything is as before"
	ktap_equal "every node has its own qdisc" "" \
		"$(for node in "${hw_names[@]}"; do nodes_run "$node" tc qdisc show dev eth0 root; done | grep gap)"
	playbook undone undo.yml
	expect_success undone "the same play succeeds again"
	ktap_equal "it changes nothing" 0 "$(sum undone changed)"
}

# Without Ansible, on all nodes; what measures the network is told no more than the page says.
test_program() {
	local command
	printf '%s\n' "${hw_names[@]}" >$clone/hosts
	command=$(the_command 'headway-cluster install')
	ktap_check "$command" env -C $clone bash -c "$command"
	ktap_check "the network has been measured" measured_is_right <$clone/headway.toml
	expect_paced "${hw_names[@]}"
	command=$(the_command 'headway-cluster check')
	ktap_equal "$command names what is there" "${hw_names[*]}" \
		"$(env -C $clone bash -c "$command" | sed -n 's/^\(.*\): headway: .*headwayd: true.*/\1/p' | xargs)"
	command=$(the_command 'headway-cluster remove')
	ktap_check "$command" env -C $clone bash -c "$command"
	expect_as_before "headway-cluster has left everything as before"
}

# expect_paced NODE...
expect_paced() {
	local node
	for node in "$@"; do
		ktap_equal "$node paces" "$node eth0 True gap 1:" "$(paced "$node" | head -n 2 | xargs)"
	done
}

# The nodes' own package sources instead of files, by a description that is there.
test_apt() {
	local program=$clone/packaging/cluster/headway-cluster
	printf 'a0\n%s\n' "$last" >$work/two
	ktap_check "headway-cluster install --packages apt" "$program" install $work/two --packages apt \
		--config $clone/headway.toml
	expect_paced a0 "$last"
	ktap_check "headway-cluster remove" "$program" remove $work/two
	expect_as_before "packages of an apt source leave everything as before"
}

# ---- the tutorial -----------------------------------------------------------------------

# Gives the user of the tutorial and of README.md a folder with a program, and a file that says
# where it runs without --host.
prepare_user() {
	nodes_user_run a0 "mkdir -p .openmpi
		cat >.openmpi/mca-params.conf
		cp $HW_ROOT/tests/ansible/program.py $HW_BUILD/lib/tests/yield_sleep.so .
		printf '%s\n' ${hw_names[*]} >hosts
		printf '#!/bin/sh\nLD_PRELOAD=%s exec /usr/bin/python3 program.py\n' \
			'\$PWD/yield_sleep.so:\$LD_PRELOAD' >program
		chmod +x program" <<-PARAMETERS
			orte_default_hostfile = /home/mpi/hosts
			oob_tcp_if_include = eth0
			btl_tcp_if_include = eth0
			btl = tcp,self
			pml = ob1
			mpi_yield_when_idle = 1
			hwloc_base_binding_policy = none
		PARAMETERS
	local node
	for node in "${hw_names[@]:1}"; do
		nodes_user_run a0 "tar -c ." | nodes_user_run "$node" "tar -x"
	done
	printf '%s\n' 'APT::Get::Assume-Yes "true";' 'APT::Install-Recommends "false";' >$work/apt.conf
}

# All commands of the tutorial in their order, and while Headway runs those that README.md has for
# jobs; but for building packages.
tutorial() {
	commands tutorial | sed '/ systemctl disable/,$d; / make deb$/d; / cd build/d'
	sed -n 's/^    \(headway \(run\|record\|compare\).*\)/$ \1/p' "$HW_ROOT/README.md" | sed 's/  *#.*//'
	commands tutorial | sed -n '/ systemctl disable/,$p'
}

# Root's, on every node, in a folder with the packages and the description.
run_as_root() {
	local node
	for node in "${hw_names[@]}"; do
		[[ $1 != *headway.toml* ]] || nodes_user_run a0 "cat headway.toml" |
			nodes_run "$node" "cat >/srv/headway/headway.toml"
		nodes_run "$node" "cat >/run/apt.conf; cd /srv/headway && APT_CONFIG=/run/apt.conf $1" <$work/apt.conf || return
	done
}

# A user's, on the first node.  That nothing is sent while it looks is no failure of headway doctor.
run_as_user() {
	local status=0
	nodes_user_run a0 "$1" </dev/null || status=$?
	((status == 0)) || [[ $status$1 == 3*"headway doctor"* ]]
}

# Checks what a command has said, or done.
look_after() {
	case $1 in
	"headway measure"*) ktap_check "the network has been measured" measured_is_right \
		< <(nodes_user_run a0 "cat headway.toml") ;;
	"headway status") expect_paced "${hw_names[@]}" ;;
	"headway run"*) ktap_check "rank 0 says what is paced" \
		grep -q "^headway: pacing all-to-all over ${#hw_names[@]} hosts" "$2" ;;
	"headway compare"*) ktap_check "it has a line for the job's all-to-alls" grep -qi 'all-\?to-\?all' "$2" ;;
	*"headway record"*) ktap_check "the pattern has every rank" grep -q "\"ranks\": *${#hw_names[@]}" \
		<(nodes_user_run a0 "cat halo.json") ;;
	esac
}

test_tutorial() {
	local all line run
	prepare_user
	mapfile -t all < <(tutorial)
	for line in "${all[@]}"; do
		[[ $line == '#'* ]] && run=run_as_root || run=run_as_user
		status=0
		$run "${line#* }" >$work/said 2>&1 || status=$?
		ktap_result $status "the tutorial: $line"
		((status == 0)) || ktap_comment "$(tail -n 30 $work/said)"
		[[ ! -d ${HW_OUT:-/nonexistent} ]] || { echo "$line" && cat $work/said; } >>"$HW_OUT/tutorial"
		look_after "${line#* }" $work/said
	done
	ktap_between "there are such commands" 19 ${#all[@]} 100
	expect_as_before "the tutorial has left everything as before"
}

set_up
for name in "$@"; do
	"$name"
	ktap_comment "$name: $(date +%T)"
done
nodes_stop
hw_down
ktap_end

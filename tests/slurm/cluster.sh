# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Slurm on the nodes of topology.sh: munged for all of them, slurmctld on the first,
# slurmd on each.  Sourced after it, by root.
#
#   slurm_start FOLDER [LINE...]  start it, the daemons' files in FOLDER; lines are added to
#                                 slurm.conf.  Returns when all nodes are idle
#   slurm COMMAND...              srun, sbatch, squeue and the like, on the first node
#   slurm_stop                    end it
#   slurm_wait_for SECONDS COMMAND...   as hw_wait_for
#
# A node's slurmd finds its name by the host name, which is the node's own, as is /run:
# what is named after a job only, as PMIx's sockets, must not be in a folder of all nodes.

slurm_processors=8	# of each node, whatever the machine has
slurm_daemons=()

slurm_conf() {
	local folder=$1 node
	cat <<-CONF
		ClusterName=headway
		SlurmctldHost=${hw_names[0]}(${hw_address[${hw_names[0]}]})
		SlurmUser=root
		AuthInfo=socket=$folder/munge.socket
		StateSaveLocation=$folder/state
		SlurmdSpoolDir=/run/slurmd
		TmpFS=/run
		SlurmctldPidFile=/run/slurmctld.pid
		SlurmdPidFile=/run/slurmd.pid
		SlurmctldLogFile=$folder/slurmctld.log
		SlurmdLogFile=$folder/slurmd.%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		SlurmdParameters=config_overrides
		SchedulerType=sched/builtin
		ReturnToService=2
		MessageTimeout=100
		KillWait=1
		PlugStackConfig=$folder/plugstack.conf
	CONF
	for node in "${hw_names[@]}"; do
		echo "NodeName=$node NodeAddr=${hw_address[$node]} CPUs=$slurm_processors"
	done
	echo "PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE"
}

slurm() {
	hw_node "${hw_names[0]}" env SLURM_CONF="$slurm_folder/slurm.conf" "$@"
}

slurm_spawn() {
	local node=$1
	shift
	hw_node_spawn "$node" "$slurm_folder/$1.$node.out" \
		env SLURM_CONF="$slurm_folder/slurm.conf" "$@"
	slurm_daemons+=("$HW_SPAWNED")
}

# Waits for a condition that starts programs: it looks less often than hw_wait_for would.
slurm_wait_for() {
	local seconds=$1
	shift
	hw_wait_for "$seconds" slurm_now_or_later "$@"
}

slurm_now_or_later() {
	"$@" && return
	read -rt 0.5 -u "$hw_never"
	return 1
}

slurm_is_idle() {
	[[ $(slurm sinfo --noheader --states=idle --format=%D) == "${#hw_names[@]}" ]]
}

slurm_start() {
	slurm_folder=$1
	shift
	local node
	hw_read_state || return
	mkdir -p "$slurm_folder/state" /sys/fs/cgroup/system.slice
	[[ -f $slurm_folder/plugstack.conf ]] || : >"$slurm_folder/plugstack.conf"
	{
		slurm_conf "$slurm_folder"
		printf '%s\n' "$@"
	} >"$slurm_folder/slurm.conf"
	printf '%s\n' CgroupPlugin=cgroup/v2 IgnoreSystemd=yes >"$slurm_folder/cgroup.conf"

	(umask 077 && head -c 1024 /dev/urandom >"$slurm_folder/munge.key")
	munged --key-file="$slurm_folder/munge.key" --socket="$slurm_folder/munge.socket" \
		--pid-file="$slurm_folder/munged.pid" --log-file="$slurm_folder/munged.log" \
		--seed-file="$slurm_folder/munge.seed" || return
	slurm_spawn "${hw_names[0]}" slurmctld -D
	for node in "${hw_names[@]}"; do
		slurm_spawn "$node" slurmd -D
	done
	slurm_wait_for 600 slurm_is_idle || {
		tail -n 30 "$slurm_folder"/*.log "$slurm_folder"/*.out >&2
		return 1
	}
}

slurm_stop() {
	kill "${slurm_daemons[@]}" "$(<"$slurm_folder/munged.pid")"
	wait "${slurm_daemons[@]}"
	slurm_daemons=()
}

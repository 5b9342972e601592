#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest of vm-run: Slurm on four nodes.  KTAP on standard output.
#
#   tests/vm/vm-run --smp 2 -- tests/slurm/guest.sh
set -euo pipefail

# shellcheck source=tests/lib/topology.sh
. "$HW_ROOT/tests/lib/topology.sh"
# shellcheck source=tests/lib/daemons.sh
. "$HW_ROOT/tests/lib/daemons.sh"
# shellcheck source=tests/lib/ktap.sh
. "$HW_ROOT/tests/lib/ktap.sh"
# shellcheck source=tests/slurm/cluster.sh
. "$HW_ROOT/tests/slurm/cluster.sh"

work=/tmp/slurm
hw_two_clusters 2 100 125 50 32768 16384
slurm_start $work
ktap_equal "Slurm runs a program on every node" "a0 a1 b0 b1" "$(slurm srun -N 4 hostname | sort | xargs)"
slurm_stop
hw_down
ktap_end

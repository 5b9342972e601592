# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Waiting for an event, with a deadline.  Sourced.

# hw_wait_for SECONDS COMMAND...: run COMMAND again and again until it succeeds;
# after SECONDS say what did not happen and return 1.
hw_wait_for() {
	local deadline=$((SECONDS + $1 + 1))
	shift
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS >= deadline)); then
			echo "not within the time limit: $*" >&2
			return 1
		fi
		sleep 0.02
	done
}

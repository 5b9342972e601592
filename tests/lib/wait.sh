# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Waiting for an event, with a limit.  Sourced.

# Never has anything to read: read's time limit is a sleep that starts no
# process, which takes 50 ms on an emulated processor.
exec {hw_never}<> <(:)

# hw_wait_for SECONDS COMMAND...: run COMMAND again and again until it succeeds; after
# SECONDS say what did not happen and return 1.  A guest's clock leaps while a program is
# read from a busy host's disk: however far it goes in one attempt, that is one second.
hw_wait_for() {
	local left=$1 second=$SECONDS
	shift
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS != second && left-- == 0)); then
			echo "not within the time limit: $*" >&2
			return 1
		fi
		second=$SECONDS
		read -rt 0.02 -u "$hw_never" || :
	done
}

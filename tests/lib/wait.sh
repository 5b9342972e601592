# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Waiting for an event, with a limit.  Sourced.

# Never has anything to read: read's time limit is a sleep that starts no
# process, which takes 50 ms on an emulated processor.
exec {hw_never}<> <(:)

# A busy host makes anything late where time is real, and a limit only ends what hangs.
hw_hangs_after_s=1200

# hw_wait_for SECONDS COMMAND...: run COMMAND again and again until it succeeds; after
# SECONDS of a guest's virtual time say what did not happen and return 1.
hw_wait_for() {
	local deadline=$((SECONDS + ($1 > hw_hangs_after_s || ${HW_ICOUNT:-0} ? $1 : hw_hangs_after_s) + 1))
	shift
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS >= deadline)); then
			echo "not within the time limit: $*" >&2
			return 1
		fi
		read -rt 0.02 -u "$hw_never" || :
	done
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Running test suites and counting what they report.  Sourced.
#
# A suite prints TAP lines (ok / not ok / ok ... # SKIP) and exits non-zero if
# anything failed.  Its whole output goes to a log.
#
#	suites_begin LOG_FOLDER [show]	with "show" the suites' TAP lines are
#					shown as they come, as TAP subtests
#	suites_run NAME LIMIT_S COMMAND...
#	suites_start NAME LIMIT_S COMMAND...	the same, but does not wait for its
#					end: two at a time, reported as they end
#	suites_end			the last line; fails if anything did
#
# Ctrl-C, SIGTERM and SIGHUP end all suites that run, and their guests, before the caller.

suites_at_once=2

suites_begin() {
	suites_logs=$1 suites_shown=${2:-} suites_names=()
	mkdir -p "$suites_logs"
	local signal
	for signal in INT TERM HUP; do
		# shellcheck disable=SC2064 # the signal of now
		trap "suites_ended_by $signal" "$signal"
	done
}

# suites_terminate PROCESS: all that it has started.  `timeout` keeps a suite in a process
# group of its own, which a terminal's Ctrl-C does not reach, and passes SIGTERM on.
suites_terminate() {
	local child
	for child in $(pgrep --parent "$1"); do
		suites_terminate "$child"
		kill -TERM "$child" 2>/dev/null
	done
}

suites_ended_by() {
	trap '' INT TERM HUP
	echo "ended by SIG$1, and all that was running" >&2
	suites_terminate $$
	wait
	trap - "$1"
	kill -s "$1" $$
}

# What somebody who waits for a long suite wants to see of it.
suites_filter() {
	if [[ $suites_shown ]]; then
		sed -un 's/^\(ok \|not ok \|# \|1\.\.\)/    &/p'
	else
		cat >/dev/null
	fi
}

# suites_report NAME PASSED FAILED SKIPPED SECONDS
suites_report() {
	if [[ $suites_shown ]]; then
		[[ $3 == 0 ]] || printf 'not '
		printf 'ok %d %s: %d passed, %d failed, %d skipped in %d s\n' "${#suites_names[@]}" "$@"
	else
		printf '%-12s %4d passed %3d failed %3d skipped  %4d s\n' "$@"
	fi
}

# suites_why LOG: the failures, each with the comments before and after it, for
# some suites say why first and some afterwards; or how the log ends, if none
# was told.
suites_why() {
	if grep -qE '^not ok ' "$1"; then
		awk '/^#/ { if (failed) print; else before = before $0 "\n"; next }
			/^(not )?ok / { failed = /^not/; if (failed) printf "%s%s\n", before, $0; before = "" }' "$1" |
			cut -c1-300 | head -n 60
	else
		echo "the end of $1:"
		tail -n 40 "$1" | sed 's/^/| /'
	fi
}

# Leaves the numbers in NAME.counts.
suites_one() {
	local name=$1 limit=$2
	shift 2
	local log=$suites_logs/$name.log start=$SECONDS status
	local passed failed skipped

	[[ -z $suites_shown ]] || echo "# Subtest: $name"
	timeout --kill-after=10 "$limit" "$@" 2>&1 </dev/null | tee "$log" | suites_filter
	status=${PIPESTATUS[0]}
	skipped=$(grep -cE '^ok .*# SKIP' "$log")
	passed=$(($(grep -cE '^ok ' "$log") - skipped))
	failed=$(grep -cE '^not ok ' "$log")
	if ((status && !failed)) || ((!passed && !failed && !skipped)); then
		# it broke before it could say what, or ran no test at all
		failed=$((failed + 1))
		((status == 124)) && echo "time limit of $limit s" >>"$log"
	fi
	suites_report "$name" "$passed" "$failed" "$skipped" $((SECONDS - start))
	grep -E '^ok .*# SKIP' "$log" | sed 's/^/             /'
	if ((failed)); then
		suites_why "$log" | sed 's/^/             /'
	fi
	echo "$passed $failed $skipped" >"$suites_logs/$name.counts"
}

# In the background, too: the shell heeds no signal as long as it runs anything else.
suites_run() {
	wait
	suites_start "$@"
	wait
}

suites_start() {
	while (($(jobs -rp | wc -l) >= suites_at_once)); do
		wait -n
	done
	suites_names+=("$1")
	rm -f "$suites_logs/$1.counts"
	(
		# it stays, or what it has started would not be found
		trap : INT TERM HUP
		suites_one "$@" >"$suites_logs/$1.report"
		cat "$suites_logs/$1.report"
	) &
}

suites_end() {
	local name passed=0 failed=0 skipped=0 counts

	wait
	for name in "${suites_names[@]}"; do
		# a suite without numbers was ended from outside
		counts=(0 1 0)
		read -ra counts <"$suites_logs/$name.counts"
		passed=$((passed + counts[0]))
		failed=$((failed + counts[1]))
		skipped=$((skipped + counts[2]))
	done
	[[ -z $suites_shown ]] || echo "1..${#suites_names[@]}"
	echo "$passed passed, $failed failed, $skipped skipped"
	((failed == 0 && passed > 0))
}

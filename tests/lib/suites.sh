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
#	suites_end			the last line; fails if anything did

suites_begin() {
	suites_logs=$1 suites_shown=${2:-} suites_number=0
	suites_passed=0 suites_failed=0 suites_skipped=0
	mkdir -p "$suites_logs"
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
	suites_number=$((suites_number + 1))
	if [[ $suites_shown ]]; then
		[[ $3 == 0 ]] || printf 'not '
		printf 'ok %d %s: %d passed, %d failed, %d skipped in %d s\n' "$suites_number" "$@"
	else
		printf '%4d passed %3d failed %3d skipped  %4d s\n' "${@:2}"
	fi
}

suites_run() {
	local name=$1 limit=$2
	shift 2
	local log=$suites_logs/$name.log start=$SECONDS status
	local passed failed skipped

	if [[ $suites_shown ]]; then
		echo "# Subtest: $name"
	else
		printf '%-12s ' "$name"
	fi
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
		grep -E '^not ok ' "$log" | sed 's/^/             /'
		echo "             the end of $log:"
		tail -n 40 "$log" | sed 's/^/             | /'
	fi
	suites_passed=$((suites_passed + passed))
	suites_failed=$((suites_failed + failed))
	suites_skipped=$((suites_skipped + skipped))
}

suites_end() {
	[[ -z $suites_shown ]] || echo "1..$suites_number"
	echo "$suites_passed passed, $suites_failed failed, $suites_skipped skipped"
	((suites_failed == 0 && suites_passed > 0))
}

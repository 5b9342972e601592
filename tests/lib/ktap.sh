# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# KTAP output for tests written in bash.  Sourced.
#
#	. tests/lib/ktap.sh
#	ktap_check "the module loads" insmod simwire.ko
#	ktap_equal "no drops" 0 "$drops"
#	ktap_end
#
# ktap_end prints plan and totals and exits: 0 all passed, 1 some failed, 4 all
# skipped.  A test that leaves before it fails as a whole, by its status.

ktap_number=0 ktap_failed=0 ktap_skipped=0

ktap_comment() {
	sed 's/^/# /' <<<"$*"
}

# ktap_result STATUS NAME
ktap_result() {
	ktap_number=$((ktap_number + 1))
	if [[ $1 == 0 ]]; then
		echo "ok $ktap_number $2"
	else
		ktap_failed=$((ktap_failed + 1))
		echo "not ok $ktap_number $2"
	fi
}

# ktap_check NAME COMMAND...: passes if the command succeeds; shows its output
# if not.
ktap_check() {
	local name=$1 output status=0
	shift
	output=$("$@" 2>&1) || status=$?
	ktap_result "$status" "$name"
	[[ $status == 0 ]] || ktap_comment "status $status of: $*"$'\n'"$output"
}

# ktap_equal NAME EXPECTED ACTUAL
ktap_equal() {
	local status=0
	[[ $2 == "$3" ]] || status=1
	ktap_result "$status" "$1"
	[[ $status == 0 ]] || ktap_comment "expected: $2"$'\n'"got:      $3"
}

# ktap_between NAME LOWEST ACTUAL HIGHEST: numbers, whole or decimal
ktap_between() {
	local status=0
	awk -v lo="$2" -v x="$3" -v hi="$4" \
		'BEGIN { exit !(x ~ /^-?[0-9]+([.][0-9]+)?$/ && lo + 0 <= x + 0 && x + 0 <= hi + 0) }' || status=1
	ktap_result "$status" "$1 ($3)"
	[[ $status == 0 ]] || ktap_comment "wanted: $2 to $4"
}

ktap_skip() {
	ktap_number=$((ktap_number + 1)) ktap_skipped=$((ktap_skipped + 1))
	echo "ok $ktap_number $1 # SKIP $2"
}

ktap_end() {
	echo "1..$ktap_number"
	echo "# Totals: pass:$((ktap_number - ktap_failed - ktap_skipped)) fail:$ktap_failed skip:$ktap_skipped"
	((ktap_failed == 0)) || exit 1
	((ktap_number > 0)) || exit 1
	((ktap_skipped < ktap_number)) || exit 4
	exit 0
}

# SPDX-License-Identifier: Apache-2.0
# struct simwire_record as four 32-bit words a line; see measure() in lib.sh.
function count(start, wire_bytes) {
	if (frames++) {
		bytes += wire
		if (!spacing || start - last < spacing)
			spacing = start - last
	} else {
		first = start
	}
	last = start
	wire = wire_bytes
}
# 0x8808, MAC control
$4 % 65536 == 2184 {
	gaps++
	if ($3 > longest)
		longest = $3
	next
}
skip-- > 0 {
	next
}
frames == most {
	exit
}
{
	count($1 + $2 * 4294967296, $3)
}
END {
	rate = last > first ? bytes * 8e9 / (last - first) : 0
	printf "%d %.0f %.0f %d %d\n", frames, rate, spacing, gaps, longest
}

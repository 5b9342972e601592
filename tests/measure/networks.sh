# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Networks whose parameters are known, as tree.sh builds them.  Sourced; each function prints one.

two_clusters() {
	cat <<-TREE
		switch A
		switch B A 1250 50 32768
		node a0 A 1000 65536
		node a1 A 1000 65536
		node a2 A 1000 65536
		node a3 A 1000 65536
		node b0 B 1000 65536
		node b1 B 1000 65536
		node b2 B 1000 65536
		node b3 B 1000 65536
	TREE
}

# Trunks of leaves that one host fills, and one between the pods that takes both leaves.
three_levels() {
	cat <<-TREE
		switch A
		switch A1 A 900 20 49152
		switch A2 A 900 30 49152
		switch B A 1250 100 65536
		switch B1 B 900 20 49152
		switch B2 B 700 20 98304
		node a0 A1 1000 65536
		node a1 A1 1000 65536
		node a2 A2 1000 65536
		node a3 A2 1000 65536
		node b0 B1 1000 65536
		node b1 B1 1000 65536
		node b2 B2 1000 65536
		node b3 B2 1000 65536
	TREE
}

# Nobody sees this trunk by its delay: it answers as fast as one switch, but for a frame's time.
no_delay() {
	two_clusters | sed 's/^switch B .*/switch B A 1500 0 131072/'
}

far_away() {
	two_clusters | sed 's/^switch B .*/switch B A 1250 10000 1048576/'
}

# Three leaves below a root, one host's link at least to each, but not all that their hosts send.
unequal_trunks() {
	cat <<-TREE
		switch R
		switch A R 2000 50 65536
		switch B R 1500 80 65536
		switch C R 1200 30 49152
		node a0 A 1000 65536
		node a1 A 1000 65536
		node a2 A 1000 65536
		node b0 B 1000 65536
		node b1 B 1000 65536
		node b2 B 1000 65536
		node b3 C 1000 65536
		node b4 C 1000 65536
	TREE
}

shallow() {
	two_clusters | sed 's/ 65536$/ 12288/; s/ 32768$/ 16384/'
}

deep() {
	two_clusters | sed 's/ 65536$/ 524288/; s/ 32768$/ 524288/'
}

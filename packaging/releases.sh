# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What `make install` and `make dkms-install` have to agree on.  Sourced.

# The project's version has one home.
headway_version() {
	sed -n 's/^project(headway VERSION \([0-9.]*\).*/\1/p' "$1/CMakeLists.txt"
}

# The kernels to install the module for: the running one, or, where its headers
# are missing (in a build environment), all that have headers.
headway_releases() {
	local folder
	if [[ -e /lib/modules/$(uname -r)/build ]]; then
		uname -r
		return
	fi
	for folder in /lib/modules/*/build; do
		[[ ! -e $folder ]] || basename "$(dirname "$folder")"
	done
}

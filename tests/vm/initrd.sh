# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Builds the initramfs that vm-run boots.  Sourced, not run.
#
# A tree is staged in a directory and packed with every time stamp and inode
# number fixed, so that equal contents give an equal archive: a run with
# --icount depends on every byte of it.

vm_initrd_fail() {
	echo "vm-run: $*" >&2
	return 1
}

# vm_initrd_skeleton STAGE: directories as in a merged-/usr Debian, busybox as
# the first program.
vm_initrd_skeleton() {
	local stage=$1 dir here
	here=$(dirname "${BASH_SOURCE[0]}")
	mkdir -p "$stage"/{dev,etc,proc,sys,run,tmp,root,usr/bin,usr/sbin,usr/lib,usr/lib64} \
		"$stage"/{usr/lib/modules,busybox,headway-vm/boot-modules}
	for dir in bin sbin lib lib64; do
		ln -s "usr/$dir" "$stage/$dir"
	done
	install -m 755 "$(command -v busybox)" "$stage/busybox/busybox"
	install -m 755 "$here/guest-init" "$stage/init"
	install -m 755 "$here/guest-main" "$stage/headway-vm/main"
}

# vm_initrd_module FILE DIRECTORY: copy one module, unpacked.
vm_initrd_module() {
	local file=$1 to=$2 name
	name=$(basename "$file")
	case $name in
	*.ko.xz) xz -dc "$file" >"$to/${name%.xz}" ;;
	*.ko) cp "$file" "$to/" ;;
	*) vm_initrd_fail "module $file is packed in an unknown way" ;;
	esac
}

# vm_initrd_modules_of KERNEL_TREE RELEASE MODULE...: their files, each after
# those it needs.
vm_initrd_modules_of() {
	local tree=$1 release=$2
	shift 2
	modprobe -S "$release" -d "$tree" -a --show-depends "$@" |
		awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# vm_initrd_boot_modules STAGE KERNEL_TREE RELEASE MODULE...: modules that the
# init script loads in this order before it has a root file system.
vm_initrd_boot_modules() {
	local stage=$1 file
	vm_initrd_modules_of "${@:2}" >"$stage/headway-vm/list"
	while read -r file; do
		vm_initrd_module "$file" "$stage/headway-vm/boot-modules"
		file=$(basename "$file")
		echo "${file%.xz}"
	done <"$stage/headway-vm/list" >"$stage/headway-vm/boot-modules/order"
	rm "$stage/headway-vm/list"
}

# vm_initrd_modprobe_tree STAGE KERNEL_TREE RELEASE MODULE...: a
# /lib/modules/RELEASE with these modules and what they need.
vm_initrd_modprobe_tree() {
	local stage=$1 tree=$2 release=$3 to=$1/usr/lib/modules/$3 file
	mkdir -p "$to/kernel"
	vm_initrd_modules_of "${@:2}" >"$to/list"
	while read -r file; do
		vm_initrd_module "$file" "$to/kernel"
	done <"$to/list"
	rm "$to/list"
	# the kernel calls it for "ip link add ... type" and the like
	ln -s /busybox/modprobe "$stage/usr/sbin/modprobe"
	cp "$tree/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$to/"
	depmod -b "$stage/usr" "$release"
}

# vm_initrd_file STAGE SOURCE DESTINATION: a file or folder of the host; a
# program brings its libraries and a script its interpreter.
vm_initrd_file() {
	local stage=$1 source=$2 destination=$3 interpreter
	if [[ -d $source ]]; then
		mkdir -p "$stage$destination"
		cp -RL "$source/." "$stage$destination/"
		return
	fi
	[[ -f $source ]] || vm_initrd_fail "--file $source: no such file" || return
	mkdir -p "$stage$(dirname "$destination")"
	cp -L "$source" "$stage$destination"
	case $(head -c 4 "$source" | tr -d '\0') in
	$'\x7fELF') vm_initrd_libraries "$stage" "$source" ;;
	'#!'*)
		interpreter=$(head -n 1 "$source" | sed 's/^#! *//; s/ .*//')
		case $interpreter in
		*/bash | */sh) ;;
		*) vm_initrd_fail "$source wants $interpreter; with --initrd-only a script runs under bash or sh" ;;
		esac
		;;
	esac
}

# vm_initrd_libraries STAGE PROGRAM: what the dynamic linker would load, and libgcc_s,
# which the C library loads when a thread is ended, and aborts without.  A kernel
# module, a static program and some libraries need nothing.
vm_initrd_libraries() {
	local stage=$1 library listed
	listed=$(ldd "$2" 2>/dev/null) || return 0
	listed=$(grep -oE '/[^ ]+' <<<"$listed" || :)
	listed+=$(sed -n 's,^\(.*\)/libc\.so\.6$,\n\1/libgcc_s.so.1,p' <<<"$listed")
	while read -r library; do
		[[ -f $library ]] || continue
		[[ -e $stage$library ]] && continue
		mkdir -p "$stage$(dirname "$library")"
		cp -L "$library" "$stage$library"
	done <<<"$listed"
}

# vm_initrd_tools STAGE: the programs that scripts may use with --initrd-only,
# beside everything busybox has.
vm_initrd_tools() {
	local stage=$1 here tool path
	here=$(dirname "${BASH_SOURCE[0]}")
	while read -r tool; do
		path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$tool") ||
			vm_initrd_fail "$tool is missing on this machine; run make packages" || return
		vm_initrd_file "$stage" "$path" "/usr/bin/$tool" || return
	done < <(grep -v '^#' "$here/initrd-tools")
	printf '#!/busybox/busybox sh\nexec /usr/bin/bash "$@"\n' >"$stage/usr/bin/sh"
	chmod +x "$stage/usr/bin/sh"
	printf 'root:x:0:0:root:/root:/bin/sh\n' >"$stage/etc/passwd"
	printf 'root:x:0:\n' >"$stage/etc/group"
	printf '127.0.0.1 localhost\n' >"$stage/etc/hosts"
}

# vm_initrd_pack STAGE ARCHIVE
vm_initrd_pack() {
	find "$1" -exec touch -h -d @0 {} +
	(cd "$1" && find . -mindepth 1 | LC_ALL=C sort |
		cpio --quiet --create --format=newc --reproducible --owner=0:0) >"$2"
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Does KVM work here?  Sourced by vm-run.
#
# A /dev/kvm that opens is no proof: nested in another virtual machine it may
# fail at once or hang at the first protected-mode instruction.  So a kernel is
# booted with it, once per boot of this machine, and the answer is kept.

# vm_accel KERNEL_IMAGE CACHE_FOLDER: prints kvm or tcg
vm_accel() {
	local kernel=$1 folder=$2 key answer=tcg
	if [[ ! -r /dev/kvm || ! -w /dev/kvm ]]; then
		echo tcg
		return
	fi
	key=$(cat /proc/sys/kernel/random/boot_id)-$(qemu-system-x86_64 --version | md5sum | cut -c 1-8)
	if [[ ! -f $folder/accel-$key ]]; then
		vm_accel_try_kvm "$kernel" "$folder/accel-trial" && answer=kvm
		rm -f "$folder"/accel-*
		echo "$answer" >"$folder/accel-$key"
	fi
	cat "$folder/accel-$key"
}

# A kernel without any file system panics soon after its start and says so.
vm_accel_try_kvm() {
	timeout --kill-after=1 10 qemu-system-x86_64 -accel kvm -cpu host -m 512 -nodefaults \
		-no-user-config -display none -no-reboot -serial "file:$2" -kernel "$1" \
		-append 'console=ttyS0 panic=-1' </dev/null >/dev/null 2>&1
	grep -q 'VFS: Unable to mount root fs' "$2" 2>/dev/null
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Puts an object's one program onto a control group, which then runs at the
 * events of its TCP sockets, or takes it away again:
 *
 *   put_sockops on|off CGROUP_DIR OBJECT
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int put(int cgroup, const char *file)
{
	struct bpf_object *object = bpf_object__open_file(file, NULL);
	int program, rc;

	if (!object || bpf_object__load(object)) {
		perror(file);
		return 1;
	}
	program = bpf_program__fd(bpf_object__next_program(object, NULL));
	rc = bpf_prog_attach(program, cgroup, BPF_CGROUP_SOCK_OPS, 0);
	if (rc)
		perror("put_sockops: the control group does not take the program");
	bpf_object__close(object);
	return rc ? 1 : 0;
}

static int take_away(int cgroup)
{
	if (!bpf_prog_detach(cgroup, BPF_CGROUP_SOCK_OPS))
		return 0;
	perror("put_sockops: the control group has no such program");
	return 1;
}

int main(int argc, char **argv)
{
	int cgroup;

	if (argc != 4 || (strcmp(argv[1], "on") && strcmp(argv[1], "off"))) {
		fputs("usage: put_sockops on|off CGROUP_DIR OBJECT\n", stderr);
		return 2;
	}
	cgroup = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup < 0) {
		perror(argv[2]);
		return 1;
	}
	return strcmp(argv[1], "on") ? take_away(cgroup) : put(cgroup, argv[3]);
}

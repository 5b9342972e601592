/* SPDX-License-Identifier: Apache-2.0 */
/* The files that phase_classifier.bpf.c, fq_pacing.bpf.c and pacing_qdisc.bpf.c are compiled to; see phase_object.h. */
	.section .rodata
	.balign 8
	.globl headway_phase_object
headway_phase_object:
	.incbin "phase_classifier.bpf.o"
	.globl headway_phase_object_end
headway_phase_object_end:
	.balign 8
	.globl headway_fq_object
headway_fq_object:
	.incbin "fq_pacing.bpf.o"
	.globl headway_fq_object_end
headway_fq_object_end:
	.balign 8
	.globl headway_qdisc_object
headway_qdisc_object:
	.incbin "pacing_qdisc.bpf.o"
	.globl headway_qdisc_object_end
headway_qdisc_object_end:
	.byte 0
	.section .note.GNU-stack, "", %progbits

/* SPDX-License-Identifier: Apache-2.0 */
/* The file that phase_classifier.bpf.c is compiled to; see phase_object.h. */
	.section .rodata
	.balign 8
	.globl headway_phase_object
headway_phase_object:
	.incbin HEADWAY_PHASE_OBJECT_FILE
	.globl headway_phase_object_end
headway_phase_object_end:
	.byte 0
	.section .note.GNU-stack, "", %progbits

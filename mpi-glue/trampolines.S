/* SPDX-License-Identifier: MIT
 * The functions that libheadway-mpi.so shows: each jumps to where its place in
 * headway_targets says, with all arguments, and the stack, as the caller left them.
 * At first that is a piece of code that has preload.c find out (headway_resolve).
 * functions.inc is written by generate_wrappers.py.
 *
 * endbr64: these places are reached by indirect jumps, which processors may check.
 */
	.text

	.macro trampoline index, name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	jmp	*(headway_targets + 8 * \index)(%rip)
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.macro first_call index
	.p2align 4
.Lfirst_call_\index:
	.cfi_startproc
	endbr64
	pushq	$\index
	.cfi_adjust_cfa_offset 8
	jmp	.Lresolve
	.cfi_endproc
	.endm

#define HEADWAY_FUNCTION(index, name, kind) trampoline index, name
#include "functions.inc"
#undef HEADWAY_FUNCTION

#define HEADWAY_FUNCTION(index, name, kind) first_call index
#include "functions.inc"
#undef HEADWAY_FUNCTION

/* On the stack: the function's index, the caller's return address.  First, is this a
 * caller that headway_callers knows?  Everything that may hold an argument is kept: rax is
 * the number of vector registers of a call with "...", r10 the static chain.
 */
	.type	.Lresolve, @function
.Lresolve:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	movq	8(%rsp), %rax
	leaq	headway_callers(%rip), %r11
	movq	(%r11,%rax,8), %r11
	movq	16(%rsp), %rax
.Lis_caller:
	testq	%r11, %r11
	jz	.Lno_caller
	cmpq	0(%r11), %rax
	jb	.Lnext_caller
	cmpq	8(%r11), %rax
	jb	.Lcaller
.Lnext_caller:
	movq	24(%r11), %r11
	jmp	.Lis_caller
.Lcaller:
	.cfi_remember_state
	popq	%rax
	.cfi_adjust_cfa_offset -8
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*16(%r11)
.Lno_caller:
	.cfi_restore_state
	popq	%rax
	.cfi_adjust_cfa_offset -8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq	$-16, %rsp
	subq	$192, %rsp
	movq	%rax, 0(%rsp)
	movq	%rdi, 8(%rsp)
	movq	%rsi, 16(%rsp)
	movq	%rdx, 24(%rsp)
	movq	%rcx, 32(%rsp)
	movq	%r8, 40(%rsp)
	movq	%r9, 48(%rsp)
	movq	%r10, 56(%rsp)
	movaps	%xmm0, 64(%rsp)
	movaps	%xmm1, 80(%rsp)
	movaps	%xmm2, 96(%rsp)
	movaps	%xmm3, 112(%rsp)
	movaps	%xmm4, 128(%rsp)
	movaps	%xmm5, 144(%rsp)
	movaps	%xmm6, 160(%rsp)
	movaps	%xmm7, 176(%rsp)
	movq	8(%rbp), %rdi
	movq	16(%rbp), %rsi
	call	headway_resolve
	movq	%rax, %r11
	movq	0(%rsp), %rax
	movq	8(%rsp), %rdi
	movq	16(%rsp), %rsi
	movq	24(%rsp), %rdx
	movq	32(%rsp), %rcx
	movq	40(%rsp), %r8
	movq	48(%rsp), %r9
	movq	56(%rsp), %r10
	movaps	64(%rsp), %xmm0
	movaps	80(%rsp), %xmm1
	movaps	96(%rsp), %xmm2
	movaps	112(%rsp), %xmm3
	movaps	128(%rsp), %xmm4
	movaps	144(%rsp), %xmm5
	movaps	160(%rsp), %xmm6
	movaps	176(%rsp), %xmm7
	leave
	.cfi_def_cfa %rsp, 16
	.cfi_restore %rbp
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*%r11
	.cfi_endproc
	.size	.Lresolve, . - .Lresolve

	.macro target index
	.quad	.Lfirst_call_\index
	.endm

	.section .data.rel.local, "aw", @progbits
	.globl	headway_targets
	.hidden	headway_targets
	.type	headway_targets, @object
	.p2align 3
headway_targets:
#define HEADWAY_FUNCTION(index, name, kind) target index
#include "functions.inc"
#undef HEADWAY_FUNCTION
	.size	headway_targets, . - headway_targets

	.section .note.GNU-stack, "", @progbits

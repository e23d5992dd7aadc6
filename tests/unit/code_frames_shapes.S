/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Functions without call frame information, for test_code_frames.c; a label is a place it asks about. */
#ifdef __x86_64__
	.intel_syntax noprefix
	.section .text.shapes, "ax", @progbits
	.balign 16
	.macro place name
	.globl shape_\name
	.hidden shape_\name
shape_\name:
	.endm

	/* The stack rounded down, as assemblers' macros of video codecs do it. */
	place aligned
	push rbx
	place aligned_pushed
	push rbp
	mov rax, rsp
	and rsp, -32
	place aligned_register
	sub rsp, 0x60
	mov [rsp + 0x58], rax
	place aligned_word
	xor eax, eax
1:	vpaddd ymm0, ymm1, ymm2
	place aligned_loop
	dec ebx
	jg 1b
	mov rsp, [rsp + 0x58]
	place aligned_back
	pop rbp
	pop rbx
	vzeroupper
	place aligned_end
	ret

	/* A jump through a table, whose targets nothing shows. */
	.balign 16
	place table
	push rbx
	push rbp
	sub rsp, 24
	lea rbx, [rip + shape_table]
	movsxd rax, dword ptr [rbx + rdi * 4]
	add rax, rbx
	jmp rax
	place table_first
	inc esi
	jmp 2f
	place table_second
	add esi, 8
2:	add rsp, 24
	pop rbp
	place table_end
	pop rbx
	ret

	/* A frame of unknown size. */
	.balign 16
	place dynamic
	push rbp
	mov rbp, rsp
	sub rsp, rdi
	place dynamic_inside
	mov [rsp], rdi
	leave
	place dynamic_end
	ret

	/* A callee that takes its arguments off the stack. */
	.balign 16
	place framed
	push rbp
	mov rbp, rsp
	push rdi
	push rsi
	call rdx
	place framed_back
	mov rsp, rbp
	pop rbp
	place framed_end
	ret

	/* Calls one that does not come back, where another function begins; and one that does. */
	.balign 16
	place calls
	sub rsp, 24
	test edi, edi
	js 3f
	call shape_called
	place calls_back
	add rsp, 24
	ret
3:	place calls_last
	call shape_called
	.balign 16, 0x90
	place called
	push rbp
	place called_inside
	pop rbp
	ret

	/* What cannot be told: a stack that differs by the way here; one that does not return. */
	.balign 16
	place loop
	push rax
4:	push rax
	place loop_inside
	dec edi
	jne 4b
	ret
	.balign 16
	place forever
	push rax
	place forever_inside
	jmp shape_forever
	.balign 16
	place unbalanced
	push rax
	place unbalanced_inside
	ret
	.balign 16
	place overwritten
	mov [rsp], rdi
	place overwritten_inside
	nop
	ret

	/* Go's: calls on another stack, with and without a way back; where goroutines begin. */
	.balign 16
	place switch
	cmp rdi, 1
	je 5f
	mov rbx, [rdx + 0x38]
	mov rsp, rbx
	place switch_over
	mov rdi, [rdi]
	place switch_call
	call rdi
	mov rax, fs:-8
	mov rbx, [rax + 0x30]
	mov rax, [rbx + 0xc0]
	mov fs:-8, rax
	mov rsp, [rax + 0x38]
	place switch_back
	mov qword ptr [rax + 0x38], 0
	ret
5:	jmp rdi
	.balign 16
	place away
	cmp rdi, 1
	je 6f
	mov rsp, [r14 + 0x38]
	push rax
	place away_call
	call r12
	pop rax
	jmp shape_called
6:	ret
	.balign 16
	place goexit
	nop
	call shape_called
	nop
	.balign 16
	nop
	place sigreturn
	mov rax, 15
	place sigreturn_call
	syscall
	.balign 16
	place end

	.section .note.GNU-stack, "", @progbits
#endif

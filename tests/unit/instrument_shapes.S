/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Functions for test_instrument.c, uint64_t f(uint64_t), that say what compilers rarely do: flags
 * that live across branches, branches that reach 8 bits only, no room.
 */
	.macro SHAPE name
	.p2align 4, 0xcc
	.globl counted_\name
	.hidden counted_\name
	.type counted_\name, @function
counted_\name:
	.cfi_startproc
	.endm
	.macro END name
	.cfi_endproc
	.size counted_\name, . - counted_\name
	.endm

	.text
	SHAPE tiny /* one byte, and padding */
	ret
	END tiny

	SHAPE leaf
	endbr64
	lea 3(%rdi), %rax
	ret
	END leaf

	SHAPE flags /* one comparison for three branches, one of them behind a jump */
	push %rbx
	mov %rdi, %rcx
	xor %eax, %eax
	xor %ebx, %ebx
1:	cmp $7, %rcx
	je 2f
	jb 3f
	jmp 4f
2:	add $100, %rbx
	jmp 5f
3:	lea 1(%rbx), %rbx
	jmp 5f
	nopl 8(%rax)
4:	jg 6f
	ud2
6:	setg %al
	add %rax, %rbx
5:	sub $1, %rcx
	jae 1b
	mov %rbx, %rax
	pop %rbx
	ret
	END flags

	SHAPE pushes /* the stack moves, and then comes a counter, with no jump behind it */
	test $1, %dil
	jz 1f
	push $5
	.cfi_adjust_cfa_offset 8
	jmp 2f
	.cfi_adjust_cfa_offset -8
1:	push %rdi
	.cfi_adjust_cfa_offset 8
2:	pop %rax
	.cfi_adjust_cfa_offset -8
	ret
	END pushes

	SHAPE carry /* a carry from one turn to the next, through a counter */
	push %rbx
	mov $5, %ecx
	xor %eax, %eax
	mov %rdi, %rbx
	stc
1:	adc %rbx, %rax
	adc $0x7fffffff, %rax
	bt $63, %rax
	dec %rcx
	jnz 1b
	adc $0, %rax
	pop %rbx
	ret
	END carry

	SHAPE kept_flags /* by a shift by 0, behind a counter */
	mov %rdi, %rcx
	xor %eax, %eax
	and $1, %ecx
	shl $8, %ecx
	cmp $3, %rdi
	jrcxz 1f
	lea 1(%rax), %rax
1:	shl %cl, %rax
	jb 4f
	je 5f
	lea 16(%rax), %rax
4:	ret
5:	lea 32(%rax), %rax
	ret
	END kept_flags

	SHAPE red_zone /* below the stack pointer, across counters that keep the flags */
	mov %rdi, -8(%rsp)
	mov %rdi, -128(%rsp)
	mov $3, %eax
	test %rdi, %rdi
	jz 2f
1:	cmp $5, %rdi
	jb 3f
	ja 4f
	jmp 2f
3:	jz 2f
	mov $9, %eax
4:	jne 5f
	ud2
5:	dec %rdi
	jnz 1b
2:	add -8(%rsp), %rax
	add -128(%rsp), %rax
	ret
	END red_zone

	SHAPE short_branches /* jecxz, jrcxz, loop, loope, loopne */
	mov %rdi, %rcx
	xor %eax, %eax
	jrcxz 2f
1:	add %rcx, %rax
	loop 1b
2:	mov %edi, %ecx
	xor $3, %ecx
	jecxz 5f
	cmp %eax, %eax
3:	lea 1(%rax), %rax
	loope 3b
	cmp $-1, %rax
	mov $4, %ecx
4:	lea 2(%rax), %rax
	loopne 4b
5:	ret
	END short_branches

	SHAPE relative /* operands relative to the next instruction, with bytes behind them */
	cmpl $5, counted_word(%rip)
	jne 1f
	imul $3, counted_word(%rip), %eax
	addq $0x12345678, counted_word(%rip)
	subw $0x5678, counted_word(%rip)
	subw $0x1234, 2+counted_word(%rip)
	pshufd $0x4e, counted_word(%rip), %xmm0
	movq %xmm0, %rdx
	add %rdx, %rax
	ret
1:	mov $1, %eax
	ret
	END relative

	SHAPE loop_at_entry
	sub $1, %rdi
	jnz counted_loop_at_entry
	mov $42, %eax
	ret
	END loop_at_entry

	SHAPE calls /* one behind the other: no room between */
	push %rbx
	mov %rdi, %rbx
	call counted_leaf
	call counted_tiny
	call counted_leaf
	nop
	call counted_leaf
	test %ebx, %ebx /* 4 bytes to what a jump leads to: a relay */
	je 1f
2:	add $2, %rax
	dec %rbx
	jns 2b
	call counted_leaf
	nop
	nop
	call counted_leaf
1:	imul $3, %rax, %rdi
	imul $0x12345, %rdi, %rdi /* here is room for two relays, behind the patch */
	pop %rbx
	jmp counted_leaf
	END calls

	SHAPE runs_on /* 2 bytes behind a call, to a jump, and nothing in reach */
	push %rbx
	lea 1(%rdi), %rbx
	jmp 1f
3:	lea 7(%rax), %rdi
1:	call counted_leaf
	jmp 2f
4:	add $3, %rax
	jmp 3b
2:	sub $1, %rbx
	jbe 5f
	test $1, %bl
	jz 4b
	lea 5(%rax), %rdi
	jmp 1b
5:	.rept 40
	lea 1(%rax), %rax
	.endr
	pop %rbx
	ret
	END runs_on

	SHAPE conditional_tail
	test $1, %dil
	jz counted_leaf
	mov $8, %eax
	ret
	END conditional_tail

	SHAPE table /* a switch in a loop, by a table; one case is a return site, too */
	push %rbx
	push %r12
	mov %rdi, %rbx
	xor %r12d, %r12d
1:	mov %ebx, %eax
	and $3, %eax
	lea table_cases(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	jmp *%rax
.Lcase0: lea 1(%r12), %rdi
	call counted_leaf
.Lcase1: add $17, %r12
	jmp 2f
.Lcase2: lea (%r12,%r12,4), %r12
	jmp 2f
.Lcase3: xor $0x55, %r12
2:	dec %rbx
	jns 1b
	mov %r12, %rax
	pop %r12
	pop %rbx
	ret
	END table

	SHAPE threaded /* two jumps with the same targets */
	mov %rdi, %rcx
	xor %eax, %eax
	lea table_threaded(%rip), %rdx
	mov %ecx, %esi
	and $1, %esi
	movslq (%rdx,%rsi,4), %rsi
	add %rdx, %rsi
	jmp *%rsi
.Lop0:	add $3, %rax
	sub $1, %rcx
	jb 9f
	lea table_threaded(%rip), %rdx
	mov %eax, %esi
	and $1, %esi
	movslq (%rdx,%rsi,4), %rsi
	add %rdx, %rsi
	jmp *%rsi
.Lop1:	lea 1(%rax,%rax), %rax
	sub $1, %rcx
	jae .Lop0
9:	ret
	END threaded

	SHAPE segment
	mov %gs:0, %rax
	ret
	END segment

	SHAPE segment_base
	rdgsbase %rax
	ret
	END segment_base

	SHAPE no_room /* a jump leads to the second byte, and there is none behind */
	nop
1:	dec %edi
	jnz 1b
	ret
	.cfi_endproc
	.size counted_no_room, . - counted_no_room
	.type counted_behind, @function
counted_behind:
	.cfi_startproc
	ret
	.cfi_endproc
	.size counted_behind, . - counted_behind

	.section .rodata
	.p2align 4
table_cases:
	.long .Lcase0 - table_cases, .Lcase1 - table_cases, .Lcase2 - table_cases
	.long .Lcase3 - table_cases
	.p2align 4
table_threaded:
	.long .Lop0 - table_threaded, .Lop1 - table_threaded
	.p2align 4
	.data
	.p2align 4 /* pshufd's */
	.globl counted_word
	.hidden counted_word
counted_word:
	.quad 5, 0x1122334455667788
	.section .note.GNU-stack, "", @progbits

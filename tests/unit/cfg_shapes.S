/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Functions for test_cfg.c, in the shapes that compilers give them. None is ever run: the test reads
 * their bytes. SHAPE name begins one, and its symbol's size is exact.
 */
	.macro SHAPE name
	.p2align 4
	.globl shape_\name
	.hidden shape_\name
	.type shape_\name, @function
shape_\name:
	.endm
	.macro END name
	.globl shape_\name\()_end
	.hidden shape_\name\()_end
shape_\name\()_end:
	.endm

	.section .text.shapes, "ax", @progbits
	.globl shapes_code
	.hidden shapes_code
shapes_code:
	SHAPE straight
	push %rbp
	mov %rsp, %rbp
	pop %rbp
	ret
	END straight

	SHAPE diamond
	test %edi, %edi
	je 1f
	mov $1, %eax
	jmp 2f
1:	xor %eax, %eax
2:	ret
	END diamond

	SHAPE self_loop
1:	jmp 1b
	END self_loop

	SHAPE overlap /* jumps into itself: eb ff, then ff c0 = inc %eax */
	.byte 0xeb, 0xff, 0xc0
	je 1f
	.byte 0xb8 /* mov $..., %eax, of which the jump takes the last bytes */
1:	.byte 0x90, 0x90, 0x90, 0xc3
	ret
	END overlap

	SHAPE table_pic /* gcc and clang, 4-byte relative entries */
	cmp $3, %edi
	ja 9f
	mov %edi, %edi
	lea table_pic(%rip), %rdx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	notrack jmp *%rax
.Lpic0:	mov $10, %eax
	ret
.Lpic1:	mov $11, %eax
	ret
.Lpic2:	mov $12, %eax
	ret
9:	xor %eax, %eax
	ret
	END table_pic

	SHAPE table_absolute /* 8-byte entries, relocated */
	sub $0x61, %edi
	cmp $2, %edi
	ja 9f
	lea table_absolute(%rip), %rcx
	jmp *(%rcx,%rdi,8)
.Labs0:	mov $10, %eax
	ret
.Labs1:	mov $11, %eax
	ret
.Labs2:	mov $12, %eax
9:	ret
	END table_absolute

	SHAPE table_o0_gcc
	push %rbp
	mov %rsp, %rbp
	mov %edi, -0x14(%rbp)
	cmpl $3, -0x14(%rbp)
	ja 9f
	mov -0x14(%rbp), %eax
	lea 0(,%rax,4), %rdx
	lea table_o0(%rip), %rax
	mov (%rdx,%rax), %eax
	cltq
	lea table_o0(%rip), %rdx
	add %rdx, %rax
	notrack jmp *%rax
.Lo00:	mov $1, %eax
	jmp 9f
.Lo01:	mov $2, %eax
	jmp 9f
.Lo02:	mov $3, %eax
9:	pop %rbp
	ret
	END table_o0_gcc

	SHAPE table_o0_clang
	push %rbp
	mov %rsp, %rbp
	mov %edi, -4(%rbp)
	mov -4(%rbp), %eax
	mov %eax, %ecx
	mov %rcx, -0x10(%rbp)
	sub $3, %eax
	ja 9f
	mov -0x10(%rbp), %rax
	lea table_clang(%rip), %rcx
	movslq (%rcx,%rax,4), %rax
	add %rcx, %rax
	jmp *%rax
.Lcl0:	mov $1, %eax
	jmp 9f
.Lcl1:	mov $2, %eax
9:	pop %rbp
	ret
	END table_o0_clang

	SHAPE table_masked
	and $3, %edi
	lea table_masked(%rip), %rax
	movslq (%rax,%rdi,4), %rcx
	add %rax, %rcx
	jmp *%rcx
.Lms0:	mov $1, %eax
	ret
.Lms1:	mov $2, %eax
	ret
	END table_masked

	SHAPE table_signed /* compared as a signed number, after its sign */
	movslq %edi, %rax
	test %edi, %edi
	js 9f
	cmp $2, %edi
	jg 9f
	lea table_signed(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	jmp *%rax
.Lsg0:	mov $1, %eax
	ret
.Lsg1:	mov $2, %eax
9:	ret
	END table_signed

	SHAPE table_clamped
	mov $2, %eax
	cmp $2, %edi
	cmovb %edi, %eax
	lea table_clamped(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	jmp *%rax
.Lcm0:	mov $1, %eax
	ret
.Lcm1:	mov $2, %eax
	ret
	END table_clamped

	SHAPE table_hoisted /* the table's address was taken before the loop */
	push %rbx
	push %r12
	lea table_hoisted(%rip), %r12
	mov %edi, %ebx
1:	call shape_straight
	cmp $2, %eax
	ja 9f
	mov %eax, %eax
	movslq (%r12,%rax,4), %rax
	add %r12, %rax
	jmp *%rax
.Lho0:	dec %ebx
	jmp 1b
.Lho1:	inc %ebx
	jmp 1b
9:	pop %r12
	pop %rbx
	ret
	END table_hoisted

	SHAPE table_two_ways /* two ways to the jump, each with its own bound */
	test %esi, %esi
	je 1f
	mov (%rdx), %eax
	cmp $1, %eax
	ja 9f
	jmp 2f
1:	mov 4(%rdx), %eax
	cmp $2, %eax
	ja 9f
2:	lea table_two_ways(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	jmp *%rax
.Ltw0:	mov $1, %eax
	ret
.Ltw1:	mov $2, %eax
	ret
.Ltw2:	mov $3, %eax
9:	ret
	END table_two_ways

	SHAPE table_one_way_open /* only one of two ways has a bound: the end is inferred */
	test %esi, %esi
	je 1f
	mov (%rdx), %eax
	cmp $1, %eax
	ja 9f
	jmp 2f
1:	mov 4(%rdx), %eax
2:	lea table_open(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	jmp *%rax
.Lop0:	mov $1, %eax
	ret
.Lop1:	mov $2, %eax
	ret
.Lop2:	mov $3, %eax
9:	ret
	END table_one_way_open

	SHAPE table_short /* the comparison bounds more than the table has: another object follows */
	cmp $3, %edi
	ja 9f
	mov %edi, %edi
	lea table_short(%rip), %rdx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
.Lsh0:	mov $1, %eax
	ret
.Lsh1:	mov $2, %eax
.Lshx:	nop
	ret
.Lsh2:	lea table_short_next(%rip), %rax
9:	ret
	END table_short

	SHAPE table_bytes /* two levels: a byte table gives the index */
	movsbl %dil, %eax
	sub $0x20, %eax
	cmp $5, %eax
	ja 9f
	lea table_index(%rip), %rcx
	movzbl (%rcx,%rax), %eax
	lea table_bytes(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	jmp *%rax
.Lby0:	mov $1, %eax
	ret
.Lby1:	mov $2, %eax
	ret
.Lby2:	mov $3, %eax
9:	ret
	END table_bytes

	SHAPE table_missing /* bounded, but the table is not among the data */
	cmp $3, %edi
	ja 9f
	lea table_hidden(%rip), %rdx
	push %rbx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
9:	ret
	END table_missing

	SHAPE unknown_jump /* into the function itself: the stack is not the caller's */
	push %rbx
	mov (%rdi), %rax
	jmp *%rax
	END unknown_jump

	SHAPE tail_indirect
	push %rbx
	mov (%rdi), %rax
	pop %rbx
	jmp *0x10(%rax)
	END tail_indirect

	SHAPE tail_direct
	test %edi, %edi
	je shape_straight
	jmp shape_diamond
	END tail_direct

	SHAPE fatal /* never returns, because what it calls never does */
	push %rax
	call shape_self_loop
	END fatal

	SHAPE calls_fatal
	test %edi, %edi
	jne 1f
	ret
1:	push %rax
	call shape_fatal
	END calls_fatal

	SHAPE only_fatal
	push %rax
	call shape_calls_only_fatal
	mov $1, %eax
	ret
	END only_fatal

	SHAPE calls_only_fatal
	push %rax
	call shape_fatal
	nop
	mov $1, %eax
	ret
	END calls_only_fatal

	SHAPE recursive
	test %edi, %edi
	je 1f
	call shape_recursive
1:	ret
	END recursive

	SHAPE falls /* into the next function */
	mov $1, %edi
	.globl shape_fallen
	.hidden shape_fallen
	.type shape_fallen, @function
	END falls
shape_fallen:
	mov %edi, %eax
	ret
	END fallen

	SHAPE split
	push %rbx
	test %edi, %edi
	jne shape_split_cold
.Lback:	pop %rbx
	ret
	END split

	SHAPE lands
	push %rbx
	call shape_straight
	pop %rbx
	ret
	.globl shape_lands_pad
	.hidden shape_lands_pad
shape_lands_pad:
	mov %rax, %rdi
	call shape_fatal
	END lands

	SHAPE bad
	test %edi, %edi
	je 1f
	ret
1:	.byte 0x06, 0x06 /* no instruction of 64-bit mode */
	END bad

	SHAPE far_away
	jmp shapes_code - 0x10000000
	END far_away

	SHAPE loops
	mov $10, %ecx
1:	lock xaddl %eax, (%rdi)
	repne scasb
	loop 1b
	syscall
	ret
	END loops
	.fill 256, 1, 0xcc /* far, as linkers place it */
	SHAPE split_cold
	mov $3, %eax
	jmp .Lback
	END split_cold

	.globl shapes_code_end
	.hidden shapes_code_end
shapes_code_end:

	.section .data.rel.ro.shapes, "aw", @progbits
	.globl shapes_data
	.hidden shapes_data
shapes_data:
	.p2align 3
table_absolute:
	.quad .Labs0, .Labs1, .Labs2
table_pic:
	.long .Lpic0 - table_pic, .Lpic1 - table_pic, .Lpic2 - table_pic, .Lpic1 - table_pic
table_o0:
	.long .Lo00 - table_o0, .Lo01 - table_o0, .Lo02 - table_o0, .Lo00 - table_o0
table_clang:
	.long .Lcl0 - table_clang, .Lcl1 - table_clang, .Lcl0 - table_clang, .Lcl1 - table_clang
table_masked:
	.long .Lms0 - table_masked, .Lms1 - table_masked, .Lms0 - table_masked, .Lms1 - table_masked
table_signed:
	.long .Lsg0 - table_signed, .Lsg1 - table_signed, .Lsg0 - table_signed
table_clamped:
	.long .Lcm0 - table_clamped, .Lcm1 - table_clamped, .Lcm0 - table_clamped
table_hoisted:
	.long .Lho0 - table_hoisted, .Lho1 - table_hoisted, .Lho0 - table_hoisted
table_two_ways:
	.long .Ltw0 - table_two_ways, .Ltw1 - table_two_ways, .Ltw2 - table_two_ways
table_open:
	.long .Lop0 - table_open, .Lop1 - table_open, .Lop2 - table_open
table_bytes: /* begins where table_open ends: nothing else tells */
	.long .Lby0 - table_bytes, .Lby1 - table_bytes, .Lby2 - table_bytes
table_short:
	.long .Lsh0 - table_short, .Lsh1 - table_short, .Lsh2 - table_short
table_short_next: /* which looks as if the table went on */
	.long .Lshx - table_short
table_index:
	.byte 0, 1, 1, 2, 0, 2
	.globl shapes_data_end
	.hidden shapes_data_end
shapes_data_end:
table_hidden:
	.long 0, 0, 0, 0
	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "machine/loops.h"

#ifdef __x86_64__

#define R4  MACHINE_LOOP_4
#define R8  MACHINE_LOOP_8
#define R16 MACHINE_LOOP_16

MACHINE_LOOP_CODE(imul_chain, R4("imul %rcx,%rax"));
MACHINE_LOOP_CODE(imul_independent, "imul %rcx,%rax\nimul %rcx,%r8\nimul %rcx,%r9\nimul %rcx,%r10\n"
				    "imul %rcx,%r11\nimul %rcx,%rdx");
MACHINE_LOOP_CODE(div32_chain, "mov $1000,%eax\nadd %edx,%eax\nxor %edx,%edx\ndiv %ecx\n");
MACHINE_LOOP_CODE(div64_chain, "mov $1000,%eax\nadd %rdx,%rax\nxor %edx,%edx\ndiv %rcx\n");
MACHINE_LOOP_CODE(
	div32_independent,
	"mov $1000,%eax\nxor %edx,%edx\ndiv %ecx\nmov $1000,%eax\nxor %edx,%edx\ndiv %ecx");
MACHINE_LOOP_CODE(load_chain, R8("mov (%rsi),%rsi"));
MACHINE_LOOP_CODE(load_indexed_chain, R8("mov (%rsi,%rdx,8),%rsi"));
/* Of different banks. */
MACHINE_LOOP_CODE(load_ports, "mov 64(%rsi),%rax\nmov 72(%rsi),%r8\nmov 80(%rsi),%r9\n"
			      "mov 88(%rsi),%rax\nmov 96(%rsi),%r8\nmov 104(%rsi),%r9\n"
			      "mov 112(%rsi),%rax\nmov 120(%rsi),%r8\nmov 64(%rsi),%r9\n"
			      "mov 72(%rsi),%rax\nmov 80(%rsi),%r8\nmov 88(%rsi),%r9");
MACHINE_LOOP_CODE(stores, R4("mov %rax,64(%rsi)"));
MACHINE_LOOP_CODE(store_lines, R4("mov %rax,64(%rsi)\nmov %rax,128(%rsi)"));
MACHINE_LOOP_CODE(split_loads, R8("mov 60(%rsi),%rax"));
MACHINE_LOOP_CODE(split_stores, R4("mov %rax,60(%rsi)"));
MACHINE_LOOP_CODE(forward_chain, R4("mov %rax,64(%rsi)\nmov 64(%rsi),%rax"));
MACHINE_LOOP_CODE(forward_add_chain, R4("add %rcx,64(%rsi)"));
MACHINE_LOOP_CODE(forward_indexed, R4("mov %rax,64(%rsi,%rdx,8)\nmov 64(%rsi,%rdx,8),%rax"));
MACHINE_LOOP_CODE(forward_vector, R4("movaps %xmm0,64(%rsi)\nmovaps 64(%rsi),%xmm0"));
MACHINE_LOOP_CODE(add_ports, R4("add %rcx,%rax\nadd %rcx,%r8\nadd %rcx,%r9\nadd %rcx,%r10\n"
				"add %rcx,%r11\nadd %rcx,%rdx\nadd %rcx,%rsi"));
MACHINE_LOOP_CODE(shift_ports, R4("shl $3,%rax\nshl $3,%r8\nshl $3,%r9\nshl $3,%r10\n"
				  "shl $3,%r11"));
MACHINE_LOOP_CODE(lea_scaled_chain, R8("lea (%rax,%rcx,4),%rax"));
MACHINE_LOOP_CODE(lea_parts_chain, R8("lea 8(%rax,%rcx),%rax"));
MACHINE_LOOP_CODE(sum_chain, R8("add $5,%rax"));
MACHINE_LOOP_CODE(sum_shift_chain, R4("add $5,%rax\nshl $3,%rax"));
MACHINE_LOOP_CODE(extend_chain, R8("movzbl %al,%ecx\nmovzbl %cl,%eax"));
MACHINE_LOOP_CODE(move_chain, R8("mov %rax,%rcx\nmov %rcx,%rax"));
MACHINE_LOOP_CODE(width, R16("nop") R16("nop") R16("nop"));
MACHINE_LOOP_CODE(popcnt_chain, R4("popcnt %rax,%rax"));
MACHINE_LOOP_CODE(to_vector_chain, R4("movq %rax,%xmm0\nmovq %xmm0,%rax"));
MACHINE_LOOP_CODE(fp_add_chain, R4("addsd %xmm1,%xmm0"));
MACHINE_LOOP_CODE(fp_mul_chain, R4("mulsd %xmm1,%xmm0"));
MACHINE_LOOP_CODE(fp_add_mul_chain, R4("addsd %xmm1,%xmm0\nmulsd %xmm1,%xmm0"));
MACHINE_LOOP_CODE(fp_div_chain, "divsd %xmm1,%xmm0\ndivsd %xmm1,%xmm0");
MACHINE_LOOP_CODE(vector_sum_chain, R4("paddd %xmm1,%xmm0\npxor %xmm1,%xmm0"));
MACHINE_LOOP_CODE(shuffle_ports, R4("pshufd $27,%xmm0,%xmm1\npshufd $27,%xmm0,%xmm2\n"
				    "pshufd $27,%xmm0,%xmm3\npshufd $27,%xmm0,%xmm4"));
MACHINE_LOOP_CODE(lock_add, R4("lock add %rcx,64(%rsi)"));

static const struct machine_loop loops[] = {
	MACHINE_LOOP_ROW(imul_chain, "latency of a multiplication"),
	MACHINE_LOOP_ROW(imul_independent, "multipliers"),
	MACHINE_LOOP_ROW(div32_chain, "latency of a division"),
	MACHINE_LOOP_ROW(div64_chain, "the same, 64 bits"),
	MACHINE_LOOP_ROW(div32_independent, "divider"),
	MACHINE_LOOP_ROW(load_chain, "first cache's latency"),
	MACHINE_LOOP_ROW(load_indexed_chain, "the same with an index"),
	MACHINE_LOOP_ROW(load_ports, "load ports"),
	MACHINE_LOOP_ROW(stores, "store ports"),
	MACHINE_LOOP_ROW(store_lines, "stores to two lines"),
	MACHINE_LOOP_ROW(split_loads, "loads across two lines"),
	MACHINE_LOOP_ROW(split_stores, "stores across two lines"),
	MACHINE_LOOP_ROW(forward_chain, "store forwarding"),
	MACHINE_LOOP_ROW(forward_add_chain, "the same, read-modify-write"),
	MACHINE_LOOP_ROW(forward_indexed, "the same with an index"),
	MACHINE_LOOP_ROW(forward_vector, "the same, vectors"),
	MACHINE_LOOP_ROW(add_ports, "integer ports"),
	MACHINE_LOOP_ROW(shift_ports, "shifters"),
	MACHINE_LOOP_ROW(lea_scaled_chain, "lea, scaled"),
	MACHINE_LOOP_ROW(lea_parts_chain, "lea of three parts"),
	MACHINE_LOOP_ROW(sum_chain, "sums with constants"),
	MACHINE_LOOP_ROW(sum_shift_chain, "shifts of such sums"),
	MACHINE_LOOP_ROW(extend_chain, "extensions"),
	MACHINE_LOOP_ROW(move_chain, "move elimination"),
	MACHINE_LOOP_ROW(width, "width"),
	MACHINE_LOOP_ROW(popcnt_chain, "latency of counting bits"),
	MACHINE_LOOP_ROW(to_vector_chain, "general to vector registers and back"),
	MACHINE_LOOP_ROW(fp_add_chain, "latency of a floating-point addition"),
	MACHINE_LOOP_ROW(fp_mul_chain, "latency of a floating-point multiplication"),
	MACHINE_LOOP_ROW(fp_add_mul_chain, "both in turn"),
	MACHINE_LOOP_ROW(fp_div_chain, "latency of a floating-point division"),
	MACHINE_LOOP_ROW(vector_sum_chain, "latency of vector integer sums"),
	MACHINE_LOOP_ROW(shuffle_ports, "shuffle ports"),
	MACHINE_LOOP_ROW(lock_add, "locked operations"),
};

_Static_assert(sizeof(loops) / sizeof(*loops) <= MACHINE_LOOPS_MAX, "a measurement has room");

const struct machine_loop *machine_loop_at(size_t index)
{
	return index < sizeof(loops) / sizeof(*loops) ? &loops[index] : NULL;
}

#else

const struct machine_loop *machine_loop_at(size_t index)
{
	(void)index;
	return NULL;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/call.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What the kernel leaves in %rax of a call that it will make again (include/linux/errno.h). */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

/* PTRACE_GET_RSEQ_CONFIGURATION of linux/ptrace.h, which cannot be had beside sys/ptrace.h. */
#define GET_RSEQ_CONFIGURATION 0x420f
struct rseq_configuration {
	uint64_t rseq_abi_pointer;
	uint32_t rseq_abi_size, signature, flags, pad;
};

#define MASK_BYTES 8 /* the kernel's sigset_t */

/* What the code needs of the thread as it was, behind the code. */
enum kept { KEPT_MASK, KEPT_PC, KEPT_REGISTERS };
enum { REGISTER_COUNT = 10 };

/* Those that the calls change: their numbers in an instruction, and where ptrace has them. */
static const struct {
	uint8_t number;
	uint16_t at;
} registers[REGISTER_COUNT] = {
	{0, offsetof(struct user_regs_struct, rax)},  {1, offsetof(struct user_regs_struct, rcx)},
	{2, offsetof(struct user_regs_struct, rdx)},  {3, offsetof(struct user_regs_struct, rbx)},
	{6, offsetof(struct user_regs_struct, rsi)},  {7, offsetof(struct user_regs_struct, rdi)},
	{8, offsetof(struct user_regs_struct, r8)},   {9, offsetof(struct user_regs_struct, r9)},
	{10, offsetof(struct user_regs_struct, r10)}, {11, offsetof(struct user_regs_struct, r11)},
};
/* The arguments of a system call, by register: rdi, rsi, rdx, r10, r8, r9. */
static const uint8_t argument_registers[6] = {7, 6, 2, 10, 8, 9};

#define CODE_MAX   512
#define NAME_BYTES sizeof(((struct call_errand *)NULL)->name)

struct code {
	uint64_t kept[KEPT_REGISTERS + REGISTER_COUNT];
	char name[NAME_BYTES];
	uint8_t bytes[CODE_MAX];
	uint32_t size, starts[CALL_MAX + 1]; /* of each call; the last is the mask's */
};

#define WRITTEN_BYTES offsetof(struct code, size)

static const Elf64_Ehdr *own_vdso(void)
{
	return (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
}

/* The first byte behind the image of the vDSO, on a boundary of 16, from its start; 0: none. */
static uint64_t end_of_image(void)
{
	const Elf64_Ehdr *e = own_vdso();
	const Elf64_Phdr *p = e ? (const Elf64_Phdr *)((const char *)e + e->e_phoff) : NULL;
	uint64_t end = 0;

	for (int i = 0; e && i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > end)
			end = p[i].p_vaddr + p[i].p_memsz;
	return (end + 15) & ~15ULL;
}

static uint64_t place(const struct target_maps *maps)
{
	uint64_t at = end_of_image();

	for (size_t i = 0; at && i < maps->count; i++) {
		const struct target_mapping *m = &maps->list[i];

		if (!strcmp(m->name, "[vdso]") && m->executable &&
		    m->end - m->start >= at + sizeof(struct code))
			return m->start + at;
	}
	return 0;
}

uint64_t call_name_address(const struct target_maps *maps)
{
	uint64_t at = place(maps);

	return at ? at + offsetof(struct code, name) : 0;
}

bool call_is_in_code(const struct target_maps *maps, uint64_t pc)
{
	uint64_t at = place(maps);

	return at && pc >= at && pc < at + sizeof(struct code);
}

bool call_is_to_restart(const struct user_regs_struct *regs)
{
	long r = -(long)regs->rax;

	return (long)regs->orig_rax >= 0 && (r == ERESTARTSYS || r == ERESTARTNOINTR ||
					     r == ERESTARTNOHAND || r == ERESTART_RESTARTBLOCK);
}

static void put(struct code *c, const void *bytes, size_t size)
{
	memcpy(c->bytes + c->size, bytes, size);
	c->size += size;
}

#define PUT(c, ...) put(c, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* mov $value, %register */
static void put_load(struct code *c, uint8_t number, uint64_t value)
{
	PUT(c, 0x48 | number >> 3, 0xb8 | (number & 7));
	put(c, &value, sizeof(value));
}

static void put_call(struct code *c, uint32_t number, const uint64_t *arguments)
{
	for (int i = 0; i < 6; i++) {
		uint8_t to = argument_registers[i];

		if (arguments[i] == CALL_FIRST)
			PUT(c, 0x48 | to >> 3, 0x89, 0xd8 | (to & 7)); /* mov %rbx, %register */
		else
			put_load(c, to, arguments[i]);
	}
	put_load(c, 0, number);
	PUT(c, 0x0f, 0x05);
}

/* The displacement that an instruction ends with: of something kept, from behind it. */
static void put_kept(struct code *c, unsigned kept)
{
	int32_t from = (int32_t)(offsetof(struct code, bytes) + c->size + 4);
	int32_t displacement = (int32_t)(kept * sizeof(c->kept[0])) - from;

	put(c, &displacement, sizeof(displacement));
}

static void write_code(struct code *c, uint64_t at, const struct call_errand *errand)
{
	memcpy(c->name, errand->name, sizeof(c->name));
	for (unsigned i = 0; i < errand->count; i++) {
		c->starts[i] = c->size;
		put_call(c, errand->calls[i].number, errand->calls[i].arguments);
		if (!i)
			PUT(c, 0x48, 0x89, 0xc3); /* mov %rax, %rbx */
	}
	c->starts[errand->count] = c->size;
	put_call(c, SYS_rt_sigprocmask,
		 (uint64_t[6]){SIG_SETMASK, at + KEPT_MASK * sizeof(c->kept[0]), 0, MASK_BYTES});
	for (int i = 0; i < REGISTER_COUNT; i++) {
		uint8_t number = registers[i].number;

		PUT(c, 0x48 | number >> 3 << 2, 0x8b, 0x05 | (number & 7) << 3);
		put_kept(c, KEPT_REGISTERS + i);
	}
	PUT(c, 0xff, 0x25); /* jmp *KEPT_PC(%rip) */
	put_kept(c, KEPT_PC);
}

/* As the kernel lets it go on, if nobody puts its registers back: a call is made again. */
static void keep(struct code *c, const struct user_regs_struct *regs, uint64_t mask)
{
	struct user_regs_struct as = *regs;

	if (call_is_to_restart(regs)) {
		as.rax = -(long)regs->rax == ERESTART_RESTARTBLOCK ? SYS_restart_syscall
								   : regs->orig_rax;
		as.rip -= 2;
	}
	c->kept[KEPT_MASK] = mask;
	c->kept[KEPT_PC] = as.rip;
	for (int i = 0; i < REGISTER_COUNT; i++)
		memcpy(&c->kept[KEPT_REGISTERS + i], (char *)&as + registers[i].at, 8);
}

bool call_is_possible(const struct tracee *e, int mem, const struct target_maps *maps)
{
	struct rseq_configuration rseq;
	uint64_t section = 0;

	if (!e->stopped || e->in_call || e->vforked)
		return false;
	/* It may have a filter by now, to which our calls could be its end, or wait for ever. */
	if (tracer_status(e->tgid, e->tid, "Seccomp", 1))
		return false;
	if (ptrace(GET_RSEQ_CONFIGURATION, e->tid, sizeof(rseq), &rseq) != sizeof(rseq) ||
	    !rseq.rseq_abi_pointer)
		return true;
	/* The kernel looks where the thread is when it goes on: sent elsewhere, it would lose its
	 * way back to the sequence's beginning. */
	return !target_read(mem, maps, rseq.rseq_abi_pointer + 8, &section, sizeof(section)) &&
	       !section;
}

/* Lets the thread go on until the stop that ends at what is wanted: of a system call (SIGTRAP |
 * 0x80), or of our asking (PTRACE_EVENT_STOP). -ESRCH: it ended. */
static int go_on(struct tracee *e, int request, bool in_call)
{
	int signal = 0;

	for (;;) {
		siginfo_t info = {0};
		int event;

		if (ptrace(request, e->tid, 0, signal))
			return -errno;
		/* A signal of ours is no reason to leave the thread on its way. */
		while (waitid(P_PID, e->tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL))
			if (errno != EINTR)
				return -errno;
		if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
			return -ESRCH;
		event = info.si_status >> 8;
		signal = event ? 0 : info.si_status & 0xff;
		if (in_call ? signal == (SIGTRAP | 0x80) : event == PTRACE_EVENT_STOP) {
			waitid(P_PID, e->tid, &info, WSTOPPED | WEXITED | WNOHANG | __WALL);
			e->grouped = !in_call && (info.si_status & 0xff) != SIGTRAP;
			return 0;
		}
		if (signal == (SIGTRAP | 0x80))
			signal = 0;
	}
}

/* One call: to where it enters the kernel, and to where it has returned. */
static int make_one(struct tracee *e, int64_t *ret)
{
	struct user_regs_struct regs;
	int r = go_on(e, PTRACE_SYSCALL, true);

	r = r ? r : go_on(e, PTRACE_SYSCALL, true);
	if (r || ptrace(PTRACE_GETREGS, e->tid, 0, &regs))
		return r ? r : -ESRCH;
	*ret = (int64_t)regs.rax;
	return 0;
}

/* Goes on at another place of the code. */
static int skip(struct tracee *e, uint64_t to)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, e->tid, 0, &regs))
		return -ESRCH;
	regs.rip = to;
	return ptrace(PTRACE_SETREGS, e->tid, 0, &regs) ? -ESRCH : 0;
}

/* What comes between the first call and the others. 0: they are to be made; 1 with the reason in
 * ret: but for the last, if the first was. */
static int look_between(struct tracee *e, struct call_errand *errand, const struct code *c,
			uint64_t bytes, int *ret)
{
	int64_t first = errand->calls[0].result;
	int r;

	*ret = first < 0 ? (int)first : errand->between(errand->arg, e->tid, first);
	if (!*ret)
		return 0;
	r = skip(e, bytes + c->starts[first < 0 ? errand->count : errand->count - 1]);
	return r ? r : 1;
}

static int make_all(struct tracee *e, struct call_errand *errand, const struct code *c,
		    uint64_t bytes, int *ret_between)
{
	int64_t ignored;
	int r = 0;

	*ret_between = 0;
	for (unsigned i = 0; !r && i < errand->count; i++) {
		r = make_one(e, &errand->calls[i].result);
		if (!r && !i && errand->between)
			r = look_between(e, errand, c, bytes, ret_between);
	}
	if (r > 0)
		r = errand->calls[0].result < 0 ? 0 : make_one(e, &ignored);
	r = r ? r : make_one(e, &ignored); /* the mask of signals */
	if (r)
		return r;
	/* The state of before can be put back where the kernel looks whether a call is to be made
	 * again: at a stop of our asking. */
	ptrace(PTRACE_INTERRUPT, e->tid, 0, 0);
	return go_on(e, PTRACE_CONT, false);
}

int call_make(struct tracee *e, int mem, const struct target_maps *maps, struct call_errand *errand)
{
	struct user_regs_struct before, sent;
	uint64_t mask, all = UINT64_MAX, at = place(maps);
	struct code c = {0};
	int r, between;

	if (!at)
		return -ENOSYS;
	if (!call_is_possible(e, mem, maps))
		return -EBUSY;
	if (ptrace(PTRACE_GETREGS, e->tid, 0, &before) ||
	    ptrace(PTRACE_GETSIGMASK, e->tid, sizeof(mask), &mask))
		return -errno;
	write_code(&c, at, errand);
	keep(&c, &before, mask);
	r = target_write(mem, maps, at, &c, WRITTEN_BYTES);
	if (r)
		return r;
	sent = before;
	sent.rip = at + offsetof(struct code, bytes);
	sent.orig_rax = -1;
	/* Whatever happens to us from here on, the thread comes back by itself. */
	if (ptrace(PTRACE_SETREGS, e->tid, 0, &sent) ||
	    ptrace(PTRACE_SETSIGMASK, e->tid, sizeof(all), &all))
		return -errno;
	r = make_all(e, errand, &c, sent.rip, &between);
	if (!r && ptrace(PTRACE_SETREGS, e->tid, 0, &before))
		r = -errno;
	call_clean(mem, maps);
	return r ? r : between;
}

int call_clean(int mem, const struct target_maps *maps)
{
	uint8_t now[WRITTEN_BYTES];
	const uint8_t *own = (const uint8_t *)own_vdso() + end_of_image();
	uint64_t at = place(maps);
	int r = at ? target_read(mem, maps, at, now, sizeof(now)) : -ENOSYS;

	if (r || !memcmp(now, own, sizeof(now)))
		return r;
	return target_write(mem, maps, at, own, sizeof(now));
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Holds the unwinder in the kernel against elfutils': native-stack STACKS COMMAND...
 *
 * Stops the command at many moments, and steps it through some instructions at each, so that
 * prologues, epilogues and linkage stubs are met. Each stop switches the context, which is the
 * event that the unwinder is attached to: it sees the registers and the memory that libdw sees
 * while the command stands still. Compares all frames of both, by address, and says where they
 * differ.
 */
#include <dwarf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <elfutils/libdwfl.h>
#include "native_unwind.h"

#define GO_ON_USEC 1500
#define STEPS	   8 /* instructions at a stop */

static struct {
	Dwfl *dwfl;
	uint64_t standing; /* where the command stands, as a frame without a file */
	bool have_stack;
} s;

static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			 const char *file, const char *link, GElf_Word sum, char **ret)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)sum,
		(void)ret;
	return -1;
}

/* Again, for what is mapped now. */
static void open_truth(void)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = no_debug_file,
	};

	dwfl_end(s.dwfl);
	s.dwfl = dwfl_begin(&callbacks);
	if (!s.dwfl || dwfl_linux_proc_report(s.dwfl, t.pid) ||
	    dwfl_report_end(s.dwfl, NULL, NULL) || dwfl_linux_proc_attach(s.dwfl, t.pid, true))
		die(dwfl_errmsg(-1));
}

static int take_truth(Dwfl_Frame *frame, void *arg)
{
	struct truth *truth = arg;
	Dwarf_Addr pc;
	bool exact;

	if (truth->count == WIRE_STACK_DEPTH || !dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	truth->pc[truth->count] = pc;
	truth->exact[truth->count++] = exact;
	return DWARF_CB_OK;
}

/* elfutils' rule for a frame of the truth, NULL if there is none. free() it. */
static Dwarf_Frame *find_rule(uint32_t i)
{
	Dwarf_Addr address = t.truth.pc[i] - !t.truth.exact[i], bias;
	Dwfl_Module *module = dwfl_addrmodule(s.dwfl, address);
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	Dwarf_Frame *frame = NULL;

	return cfi && dwarf_cfi_addrframe(cfi, address - bias, &frame) == 0 ? frame : NULL;
}

/* Rather than a guess by the frame pointer. */
static bool has_rule(uint32_t i)
{
	Dwarf_Frame *frame = find_rule(i);

	free(frame);
	return frame != NULL;
}

/*
 * elfutils forgets rbx where a callee does not save it (its x86_64_cfi.c says that register 0 is
 * kept, which is rax): it then takes a frame with that base for the thread's first.
 */
static bool rests_on_rbx(uint32_t i)
{
	Dwarf_Frame *frame = find_rule(i);
	Dwarf_Op *ops = NULL;
	size_t n = 0;
	bool rests =
		frame && dwarf_frame_cfa(frame, &ops, &n) == 0 && n &&
		((ops[0].atom == DW_OP_bregx && ops[0].number == 3) || ops[0].atom == DW_OP_breg3);

	free(frame);
	return rests;
}

static void read_truth(void)
{
	t.truth.count = 0;
	t.truth.complete = dwfl_getthread_frames(s.dwfl, t.pid, take_truth, &t.truth) == 0;
	if (t.truth.count && rests_on_rbx(t.truth.count - 1))
		t.truth.complete = false;
}

/* The command may also have been switched on its way here. */
static void take_stack(void *arg, const struct wire_stack *stack)
{
	(void)arg;
	if (stack->followed == 0 || stack->frame[WIRE_STACK_KERNEL] != s.standing)
		return;
	memcpy(&t.stack, stack, unwinder_stack_bytes(stack));
	s.have_stack = true;
}

static void take_snapshot(void *arg, const struct wire_snapshot *snapshot)
{
	take_stack(arg, &snapshot->stack);
}

/* False: there is none, or a table is lacking, which the next will have. */
static bool read_stack(uint64_t pc)
{
	struct unwinder_taker taker = {take_count,    counted,	 take_stack,
				       take_snapshot, take_code, NULL};

	s.standing = frame_of(pc);
	s.have_stack = false;
	unwinder_drain(t.unwinder, &taker);
	unwinder_take_snapshots(t.unwinder, &taker);
	t.unseen += !s.have_stack;
	return s.have_stack && !give_table();
}

static void print_place(const char *who, uint64_t address)
{
	const struct mapping *m = find_mapping(address);
	Dwfl_Module *module = dwfl_addrmodule(s.dwfl, address);
	const char *name = module ? dwfl_module_addrname(module, address) : NULL;

	fprintf(stderr, "#   %s %#" PRIx64 " %s+%#" PRIx64 " %s\n", who, address,
		m && m->file ? m->file : "no file", m ? address - m->begin + m->offset : 0,
		name ? name : "");
}

/* The request makes sure that the context was switched. */
static bool await(int *ret_signal, struct user_regs_struct *regs)
{
	int status;

	if (waitpid(t.pid, &status, 0) != t.pid)
		die("waitpid");
	if (!WIFSTOPPED(status))
		return false;
	*ret_signal = WSTOPSIG(status);
	return ptrace(PTRACE_GETREGS, t.pid, 0, regs) == 0;
}

static bool step(int *pending, struct user_regs_struct *regs)
{
	int signal;

	if (ptrace(PTRACE_SINGLESTEP, t.pid, 0, *pending))
		die("PTRACE_SINGLESTEP");
	*pending = 0;
	if (!await(&signal, regs))
		return false;
	if (signal != SIGTRAP)
		*pending = signal;
	return true;
}

/* Lets the command run for a while. */
static bool go_on(int *pending, struct user_regs_struct *regs)
{
	struct timespec pause = {.tv_nsec = GO_ON_USEC * 1000l};
	int signal = 0;

	if (ptrace(PTRACE_CONT, t.pid, 0, *pending))
		die("PTRACE_CONT");
	*pending = 0;
	nanosleep(&pause, NULL);
	kill(t.pid, SIGSTOP);
	while (await(&signal, regs)) {
		if (signal == SIGSTOP)
			return true;
		if (ptrace(PTRACE_CONT, t.pid, 0, signal == SIGTRAP ? 0 : signal))
			die("PTRACE_CONT");
	}
	return false;
}

static bool compare_here(int *pending)
{
	struct user_regs_struct regs;

	if (!go_on(pending, &regs))
		return false;
	if (read_mappings() || !s.dwfl)
		open_truth();
	for (int i = 0; i <= STEPS; i++) {
		if (i > 0 && !step(pending, &regs))
			return false;
		if (!read_stack(regs.rip))
			continue;
		read_truth();
		compare();
	}
	return true;
}

static void start(char **command)
{
	struct user_regs_struct regs;
	int signal;

	t.pid = fork();
	if (t.pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(command[0], command);
		_exit(127);
	}
	if (t.pid < 0 || !await(&signal, &regs))
		die("cannot start the command");
	ptrace(PTRACE_SETOPTIONS, t.pid, 0, PTRACE_O_EXITKILL);
}

int main(int argc, char **argv)
{
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	int pending = 0;

	if (argc < 3 || wanted == 0) {
		fprintf(stderr, "usage: native-stack STACKS COMMAND...\n");
		return 2;
	}
	t.print_place = print_place;
	t.has_rule = has_rule;
	start_unwinder();
	add_vdso();
	start(argv + 2);
	if (attach_unwinder(t.pid) < 0)
		die("perf_event_open");
	while (t.compared < wanted && compare_here(&pending))
		;
	kill(t.pid, SIGKILL);
	return print_sums(argv[2]);
}

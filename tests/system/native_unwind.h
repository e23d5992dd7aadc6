/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_SYSTEM_NATIVE_UNWIND_H
#define TESTS_SYSTEM_NATIVE_UNWIND_H

/*
 * For programs that hold the unwinder in the kernel against another: the unwinder at work on a
 * command that is stopped now and then, its tables, and a comparison of its stacks, frame by frame,
 * with what the other says (truth).
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "collect/stacks/unwind_tables.h"
#include "collect/stacks/unwinder.h"
#include "image/facts.h"
#include "unwind/unwind.h"

#define SLOTS	 256
#define MAPPINGS 1024
#define ROWS	 (16u << 20)
#define SHOWN	 12 /* disagreements */

struct mapping {
	uint64_t begin, end, offset;
	uint32_t slot; /* 0: none yet */
	char *file;    /* NULL: none */
};

struct truth {
	uint64_t pc[WIRE_STACK_DEPTH];
	bool exact[WIRE_STACK_DEPTH]; /* where it is, not where it returns to */
	uint32_t count;
	bool complete;
};

static struct {
	pid_t pid;
	struct unwinder *unwinder;
	struct unwind_tables *tables;
	struct mapping mapping[MAPPINGS];
	size_t mappings;
	char *files[SLOTS]; /* by slot; they outlive an exec */
	uint32_t slots;
	struct truth truth;
	/* Of whoever has the truth: tells what is at an address; whether there is a rule for a
	 * frame of it, rather than a guess by the frame pointer. */
	void (*print_place)(const char *who, uint64_t address);
	bool (*has_rule)(uint32_t i);
	struct wire_stack stack; /* the last that came from where the command stands */
	uint64_t compared, equal, shorter, longer, other, frames;
	uint64_t guessed; /* differ after a frame of which no table says anything */
	uint64_t unseen, lacking, no_truth, ends[WIRE_STACK_ENDS], shown;
} t;

static const char *const end_texts[WIRE_STACK_ENDS] = {
	"complete", "no table", "no rule", "bad address", "not code", "not resident", "too deep",
};

static void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	if (t.pid > 0)
		kill(t.pid, SIGKILL);
	exit(2);
}

static int put_table(void *arg, uint32_t slot, const struct wire_unwind_table *table)
{
	(void)arg;
	return unwinder_put_table(t.unwinder, slot, table);
}

static int reach(void *arg, uint32_t first, uint32_t count)
{
	(void)arg;
	return unwinder_reach(t.unwinder, first, count);
}

/* The command stands still whenever a table changes. */
static int quiesce(void *arg)
{
	(void)arg;
	return 0;
}

/* Instructions that the verifier may look at: each start of a recording waits for it, and a value
 * that it follows through the loop over frames doubles them. 10,654 in Linux 6.18; older kernels
 * do not tell. */
#define VERIFIED_MOST 16000

static void check_program(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		die("bpf_obj_get_info_by_fd");
	if (info.verified_insns <= VERIFIED_MOST)
		return;
	fprintf(stderr, "%s: the verifier looks at %u instructions\n",
		program_invocation_short_name, info.verified_insns);
	exit(1);
}

static void start_unwinder(void)
{
	struct unwinder_config config = {
		.files = SLOTS,
		.rows = ROWS,
		.stacks = 64,
		.ring_bytes = 1u << 20,
		.snapshot_bytes = 1u << 20,
		.codes = 1,
		.name_bytes = 1u << 16,
	};
	struct unwind_memory memory = {
		.row_count = ROWS,
		.rule_count = 65536,
		.slot_count = SLOTS,
		.reach = reach,
		.put = put_table,
		.quiesce = quiesce,
	};
	struct diag diag = {""};

	if (unwinder_new(&config, &t.unwinder, &diag)) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, diag.text);
		exit(77);
	}
	check_program(unwinder_program(t.unwinder));
	memory.rows = unwinder_rows(t.unwinder);
	memory.rules = unwinder_rules(t.unwinder);
	t.tables = unwind_tables_new(&memory);
	if (!t.tables)
		die("unwind_tables_new");
}

/* Every switch of a thread's context takes a stack, while the event is enabled. */
static int attach_unwinder(pid_t thread)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.sample_period = 1,
	};

	int event = (int)syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (event < 0)
		return -1;
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, unwinder_program(t.unwinder)))
		die("PERF_EVENT_IOC_SET_BPF");
	return event;
}

static const struct mapping *find_mapping(uint64_t address)
{
	for (size_t i = 0; i < t.mappings; i++)
		if (address - t.mapping[i].begin < t.mapping[i].end - t.mapping[i].begin)
			return &t.mapping[i];
	return NULL;
}

/* Compiles a file's table; 0: it is not ELF. */
static uint32_t add_table(const char *file, int fd)
{
	struct image_unwind *u = NULL;
	struct image_facts facts;
	struct diag diag = {""};
	uint32_t slot = 0;
	struct buf out;

	buf_init(&out, 256 << 20);
	if (fd >= 0 && t.slots + 1 < SLOTS && image_facts_read(fd, &facts, &diag) == 0) {
		if (image_unwind_describe(fd, &out, &diag) == 0)
			image_unwind_load(out.data, out.size, &u);
		slot = ++t.slots;
		t.files[slot] = strdup(file);
		if (unwind_tables_put(t.tables, slot, u, facts.segments, facts.segment_count))
			die("cannot place a table");
	}
	image_unwind_free(u);
	buf_free(&out);
	if (fd >= 0)
		close(fd);
	return slot;
}

static void give_slot(const char *file, const struct wire_file *wire)
{
	uint32_t slot = add_table(file, open(file, O_RDONLY | O_CLOEXEC));

	if (unwinder_put_file(t.unwinder, wire, slot))
		die("cannot place a file");
	for (size_t i = 0; i < t.mappings; i++)
		if (t.mapping[i].file && !strcmp(t.mapping[i].file, file))
			t.mapping[i].slot = slot;
}

/* Ours is the command's too. */
static void add_vdso(void)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	size_t size = header ? header->e_shoff + header->e_shnum * header->e_shentsize : 0;

	if (header && write(fd, header, size) == (ssize_t)size)
		unwinder_put_vdso(t.unwinder, add_table("[vdso]", fd));
}

static void add_mapping(const struct mapping *m)
{
	if (t.mappings == MAPPINGS)
		return;
	t.mapping[t.mappings] = *m;
	for (uint32_t slot = 1; slot <= t.slots && m->file; slot++)
		if (!strcmp(t.files[slot], m->file))
			t.mapping[t.mappings].slot = slot;
	t.mappings++;
}

/* All mappings of code; true when they are not what they were. */
static bool read_mappings(void)
{
	static struct mapping before[MAPPINGS];
	size_t count = t.mappings;
	char path[64], line[4600];
	bool changed = false;
	FILE *f;

	memcpy(before, t.mapping, sizeof(before));
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)t.pid);
	f = fopen(path, "re");
	t.mappings = 0;
	while (f && fgets(line, sizeof(line), f)) {
		struct mapping m = {0};
		char rights[8], file[4096] = "";

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095s", &m.begin,
			   &m.end, rights, &m.offset, file) < 4 ||
		    rights[2] != 'x')
			continue;
		if (file[0] == '/' || !strcmp(file, "[vdso]"))
			m.file = strdup(file);
		add_mapping(&m);
	}
	if (f)
		fclose(f);
	for (size_t i = 0; i < t.mappings || i < count; i++)
		changed |=
			t.mapping[i].begin != before[i].begin || t.mapping[i].end != before[i].end;
	for (size_t i = 0; i < count; i++)
		free(before[i].file);
	return changed;
}

static void take_count(void *arg, const struct wire_stack_key *key, uint32_t count)
{
	(void)arg, (void)key, (void)count;
}

static void counted(void *arg)
{
	(void)arg;
}

/* No file was told to be an interpreter of Python: its own frames are compared. */
static void take_code(void *arg, const struct wire_python_code *code, size_t size)
{
	(void)arg, (void)code, (void)size;
	die("a code of Python");
}

/* A frame as the unwinder has it: of a file that has a slot, or of none. */
static uint64_t frame_of(uint64_t address)
{
	const struct mapping *m = find_mapping(address);

	if (m && m->slot)
		return (uint64_t)m->slot << 32 | (uint32_t)(address - m->begin + m->offset);
	return WIRE_FRAME_ADDRESS | address;
}

/* For a stack that met a file without one; false when there is none such. */
static bool give_table(void)
{
	if (t.stack.end != WIRE_STACK_NO_TABLE)
		return false;
	t.lacking++;
	for (size_t i = 0; i < t.mappings; i++)
		if (t.mapping[i].file && !t.mapping[i].slot &&
		    t.stack.address - t.mapping[i].begin < t.mapping[i].end - t.mapping[i].begin)
			give_slot(t.mapping[i].file, &t.stack.file);
	return true;
}

/* Of callers the last byte of the call. */
static uint64_t truth_frame(uint32_t i)
{
	return frame_of(t.truth.pc[i] - !t.truth.exact[i]);
}

static uint64_t our_frame(uint32_t i)
{
	if (i >= WIRE_STACK_INNER)
		i = WIRE_STACK_INNER + i % WIRE_STACK_OUTER;
	return t.stack.frame[WIRE_STACK_KERNEL + i];
}

static bool is_kept(uint32_t i)
{
	return i < WIRE_STACK_INNER || i + WIRE_STACK_OUTER >= t.stack.followed;
}

static void print_disagreement(const char *what, uint32_t at)
{
	if (t.shown++ >= SHOWN)
		return;
	fprintf(stderr,
		"# %s at frame %" PRIu32 ": ours %" PRIu32 " frames, %s; in truth %" PRIu32
		", %s\n",
		what, at, t.stack.followed,
		t.stack.end < WIRE_STACK_ENDS && end_texts[t.stack.end] ? end_texts[t.stack.end]
									: "?",
		t.truth.count, t.truth.complete ? "complete" : "not complete");
	t.print_place("leaf", t.truth.pc[0]);
	if (at > 0)
		t.print_place("last common", t.truth.pc[at - 1]);
	if (at < t.truth.count)
		t.print_place("in truth", t.truth.pc[at]);
	if (at < t.stack.followed && is_kept(at))
		fprintf(stderr, "#   ours %#" PRIx64 "\n", our_frame(at));
}

/* Where the truth came to the thread's start every frame must be the same, and no more. */
static void compare(void)
{
	uint32_t both = t.stack.followed < t.truth.count ? t.stack.followed : t.truth.count, at = 0;

	while (at < both && (!is_kept(at) || our_frame(at) == truth_frame(at)))
		at++;
	if (!t.truth.complete && at == both) {
		t.no_truth++;
		return;
	}
	t.compared++;
	t.ends[t.stack.end]++;
	t.frames += at;
	if (at == t.stack.followed && at == t.truth.count) {
		t.equal++;
		return;
	}
	if (at > 0 && !t.has_rule(at - 1)) {
		t.guessed++;
		print_disagreement("guessed", at);
	} else if (at < both) {
		t.other++;
		print_disagreement("another frame", at);
	} else if (t.stack.followed < t.truth.count) {
		t.shorter++;
		print_disagreement("shorter", at);
	} else {
		t.longer++;
		print_disagreement("longer", at);
	}
}

static int print_sums(const char *command)
{
	const char *name = strrchr(command, '/');
	double all = (double)(t.compared ? t.compared : 1);

	fprintf(stderr,
		"%s: %s: %" PRIu64 " stacks of %.1f frames compared, %.2f%% equal; %" PRIu64
		" shorter, %" PRIu64 " longer, %" PRIu64 " with another frame, %" PRIu64
		" after a frame without a rule; %.2f%% complete; %" PRIu64
		" without a truth, %" PRIu64 " for want of a table, %" PRIu64 " not seen\n",
		program_invocation_short_name, name ? name + 1 : command, t.compared,
		(double)t.frames / all, 100.0 * (double)t.equal / all, t.shorter, t.longer, t.other,
		t.guessed, 100.0 * (double)t.ends[WIRE_STACK_COMPLETE] / all, t.no_truth, t.lacking,
		t.unseen);
	return t.compared == 0 || (double)t.equal < 0.995 * all;
}

#endif

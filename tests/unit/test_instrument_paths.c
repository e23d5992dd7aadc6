/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Copies of this program's own functions that count paths, run in place of them. The truth is cut
 * from the single steps of the originals: which blocks ran one behind the other in each call of a
 * function, and how the path ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <asm/prctl.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "instrument/copy.h"
#include "instrument/paths.h"
#include "util/sanitized.h"
#include "cfg_file.h"
#include "instrument_subjects.h"
#include "random_graph.h"

struct subject {
	const struct cfg_function *f;
	struct instrument_plan *plan;
	struct instrument_code code;
	uint64_t unseen; /* paths, by the truth, of which the beginning was not */
};

#define ROOM_BYTES   (64u << 20)
#define SLOTS	     (4u << 20)
#define BLOCKS_MAX   512
#define CALLS_MAX    4096
#define TRUTHS	     (1u << 16)
#define SUBJECTS_MAX 65536

static struct cfg_image *image;
static uint64_t base, *entered;
static size_t entered_count, copy_count, text_bytes;
static struct subject *copies;
static uint64_t *table;
static uint32_t slots;
static uint8_t *room;
extern const uint8_t __executable_start, etext;

/* Of each address of the text: the block that begins there, or ends with the instruction there, of
 * the subject that it is in; and how many more to the next. 0: none. */
struct spot {
	uint32_t subject, begins, ends; /* + 1 */
};
static struct spot *spots;

static uint64_t text_start(void)
{
	return (uint64_t)(uintptr_t)&__executable_start;
}

/* A path that was seen. */
struct truth {
	uint32_t subject, blocks, end, to;
	uint64_t hash, count, found;
};
static struct truth *truths;

/* Functions that were entered and not left. */
struct active {
	uint32_t subject, block, call; /* block: the last; call: that it is in, + 1 */
	uint64_t entered_at, stack;
	uint64_t hash;
	uint32_t blocks; /* of the path; 0: its beginning was not seen */
};
static struct active actives[CALLS_MAX];
static size_t active_count;
static uint64_t last_pc, last_stack, left_elsewhere;

static PLAIN uint64_t add_block(uint64_t hash, uint32_t block)
{
	hash = (hash ^ (block + 1)) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static PLAIN struct truth *truth_of(uint32_t subject, uint64_t hash, uint32_t blocks, uint32_t end,
				    uint32_t to)
{
	size_t i = (hash ^ subject * 77u ^ end * 7919u ^ to * 104729u) % TRUTHS;

	while (truths[i].blocks &&
	       (truths[i].subject != subject || truths[i].hash != hash || truths[i].end != end ||
		truths[i].to != to || truths[i].blocks != blocks))
		i = (i + 1) % TRUTHS;
	truths[i].subject = subject;
	truths[i].hash = hash;
	truths[i].blocks = blocks;
	truths[i].end = end;
	truths[i].to = to;
	return &truths[i];
}

static PLAIN void end_path(const struct active *a, enum instrument_path_end end, uint32_t to)
{
	if (a->blocks)
		truth_of(a->subject, a->hash, a->blocks, end, to)->count++;
	else
		copies[a->subject].unseen += end != INSTRUMENT_PATH_LEFT;
}

static PLAIN void begin_path(struct active *a, uint32_t block)
{
	a->hash = add_block(0, block);
	a->blocks = 1;
	a->block = block;
	a->call = 0;
}

static PLAIN void leave_path(const struct active *a)
{
	const struct cfg_function *f = copies[a->subject].f;

	if (!a->call)
		left_elsewhere += a->blocks != 0;
	else
		end_path(a,
			 f->blocks[a->call - 1].succ_count ? INSTRUMENT_PATH_LEFT
							   : INSTRUMENT_PATH_CALL,
			 CFG_OUTSIDE);
}

/* By an edge of the function. */
static PLAIN void go_on(struct active *a, uint32_t to)
{
	const struct instrument_plan *plan = copies[a->subject].plan;
	enum paths_cut cut = PATHS_CUT_NOT;

	for (uint32_t i = 0; i < plan->edge_count; i++)
		if (plan->edges[i].from == a->block && plan->edges[i].to == to)
			cut = plan->paths->numbering->edges[i].cut;
	/* Indirect jumps that share targets meet at a node of their own. */
	for (uint32_t i = 0; i < plan->edge_count && !cut; i++)
		if (plan->edges[i].from == a->block &&
		    plan->edges[i].to > plan->function->block_count)
			for (uint32_t k = 0; k < plan->edge_count && !cut; k++)
				if (plan->edges[k].from == plan->edges[i].to &&
				    plan->edges[k].to == to)
					cut = plan->paths->numbering->edges[k].cut;
	a->call = 0;
	if (cut) {
		end_path(a, cut == PATHS_CUT_BACK ? INSTRUMENT_PATH_BACK : INSTRUMENT_PATH_CUT, to);
		begin_path(a, to);
		return;
	}
	a->block = to;
	if (a->blocks) {
		a->hash = add_block(a->hash, to);
		a->blocks++;
	}
}

static PLAIN void leave_dead(uint64_t stack)
{
	while (active_count && actives[active_count - 1].entered_at < stack)
		leave_path(&actives[--active_count]);
}

/* Back in a function, behind a call. */
static PLAIN void come_back(uint32_t subject, uint32_t block, uint64_t stack)
{
	struct active *a;

	leave_dead(stack);
	a = active_count ? &actives[active_count - 1] : NULL;
	if (!a || a->subject != subject)
		return; /* the stepper began in the middle */
	const struct cfg_function *f = copies[subject].f;
	if (a->call && a->stack == stack &&
	    f->edges[f->blocks[a->call - 1].first_succ].to == block) {
		go_on(a, block);
		return;
	}
	leave_path(a);
	a->blocks = 0;
	a->block = block;
	a->call = 0;
}

/* What the last instruction of a block did. */
static PLAIN void follow(const struct spot *from, const struct spot *to)
{
	struct active *a = active_count ? &actives[active_count - 1] : NULL;
	const struct cfg_function *f = copies[from->subject].f;
	const uint32_t block = from->ends - 1;

	if (!a || a->subject != from->subject || a->block != block)
		return;
	if (cfg_block_last(f, &f->blocks[block])->branch == ISA_BRANCH_CALL) {
		a->call = block + 1;
		a->stack = last_stack;
		return;
	}
	for (uint32_t i = 0; to && to->subject == from->subject && i < f->blocks[block].succ_count;
	     i++)
		if (f->edges[f->blocks[block].first_succ + i].to == to->begins - 1) {
			go_on(a, to->begins - 1);
			return;
		}
	end_path(a, INSTRUMENT_PATH_RETURN, CFG_OUTSIDE);
	active_count--;
}

static PLAIN bool is_inside(uint64_t pc)
{
	return pc - text_start() < text_bytes;
}

static PLAIN const struct spot *spot_at(uint64_t pc)
{
	return is_inside(pc) ? &spots[pc - text_start()] : NULL;
}

/* Of originals: what comes next is at the program counter. */
static PLAIN void on_step(int signal, siginfo_t *info, void *context)
{
	const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint64_t pc = (uint64_t)r[REG_RIP], stack = (uint64_t)r[REG_RSP];
	const struct spot *from = spot_at(last_pc), *to = spot_at(pc);
	const size_t before = active_count;
	uint32_t block_before = 0;

	(void)signal;
	(void)info;
	if (pc == last_pc)
		return;
	to = to && to->begins ? to : NULL;
	if (from && from->ends) {
		struct active *a = active_count ? &actives[active_count - 1] : NULL;
		const uint64_t hash = a ? a->hash : 0;

		block_before = a ? a->call : 0;
		follow(from, to);
		/* It went on in the function. */
		if (to && a && active_count == before && a->call == block_before &&
		    (a->hash != hash || a->block == to->begins - 1) && !a->call &&
		    from->subject == to->subject)
			to = NULL;
	}
	if (to) {
		const struct cfg_function *f = copies[to->subject].f;

		if (f->blocks[to->begins - 1].start == f->entry && active_count < CALLS_MAX) {
			struct active *a = &actives[active_count++];

			*a = (struct active){.subject = to->subject, .entered_at = stack};
			begin_path(a, to->begins - 1);
		} else {
			come_back(to->subject, to->begins - 1, stack);
		}
	}
	last_pc = pc;
	last_stack = stack;
}

static PLAIN void stepping(bool on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static PLAIN uint64_t run_stepped(uint64_t (*what)(void))
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_NODEFER};
	uint64_t result;

	what(); /* what libraries do once is done */
	memset(truths, 0, TRUTHS * sizeof(*truths));
	active_count = last_pc = left_elsewhere = 0;
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	stepping(true);
	result = what();
	stepping(false);
	return result;
}

static int find_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the program comes first */
}

static uint8_t *find_room(void)
{
	for (uint64_t distance = 1u << 26; distance < 1u << 30; distance += 1u << 24) {
		void *wanted = (void *)(uintptr_t)(((text_start() - distance) >> 12) << 12);
		void *found = mmap(wanted, ROOM_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (found == wanted)
			return found;
		if (found != MAP_FAILED)
			munmap(found, ROOM_BYTES);
	}
	return NULL;
}

static int setup(void **state)
{
	struct diag diag = {""};

	(void)state;
	dl_iterate_phdr(find_base, &base);
	if (cfg_image_open_file("/proc/self/exe", &image, &diag) < 0)
		fail_msg("%s", diag.text);
	assert_int_equal(instrument_entered_new(image, &entered, &entered_count), 0);
	text_bytes = (size_t)(&etext - &__executable_start);
	spots = calloc(text_bytes, sizeof(*spots));
	truths = calloc(TRUTHS, sizeof(*truths));
	table = calloc(SLOTS, sizeof(*table));
	copies = calloc(SUBJECTS_MAX, sizeof(*copies));
	room = find_room();
	assert_true(spots && truths && table && copies && room);
	assert_int_equal(mprotect((void *)(uintptr_t)(text_start() & ~4095ull),
				  (text_bytes + 8191) & ~4095ull,
				  PROT_READ | PROT_WRITE | PROT_EXEC),
			 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	munmap(room, ROOM_BYTES);
	free(spots);
	free(truths);
	free(table);
	free(copies);
	free(entered);
	cfg_image_free(image);
	return 0;
}

static void mark_spots(uint32_t subject)
{
	const struct cfg_function *f = copies[subject].f;

	for (uint32_t b = 0; b < f->block_count; b++) {
		const uint64_t last = cfg_block_last(f, &f->blocks[b])->address;

		spots[f->blocks[b].start + base - text_start()].subject = subject;
		spots[f->blocks[b].start + base - text_start()].begins = b + 1;
		spots[last + base - text_start()].subject = subject;
		spots[last + base - text_start()].ends = b + 1;
	}
}

static void add_copy(uint64_t address, uint32_t max, uint64_t *used)
{
	struct instrument_request q = {
		.entered = entered, .entered_count = entered_count, .paths_max = max};
	struct subject *s = &copies[copy_count];
	enum instrument_reason why;

	assert_int_equal(cfg_image_function(image, address - base, &q.function), 0);
	const int r = instrument_plan_new(&q, &s->plan, &why);
	if (r == -EOPNOTSUPP)
		return;
	assert_int_equal(r, 0);
	assert_in_range(s->plan->paths->numbering->count, 1, max);
	s->f = s->plan->function;
	s->unseen = 0;
	const struct instrument_destination at = {base, (uint64_t)(uintptr_t)room + *used, slots,
						  SLOTS};
	assert_true(*used + instrument_copy_size_max(s->plan) < ROOM_BYTES);
	assert_int_equal(instrument_copy_new(s->plan, &at, &s->code), 0);
	assert_int_equal(instrument_code_check(&s->code), 0);
	assert_true(s->code.size <= instrument_copy_size_max(s->plan));
	memcpy(room + *used, s->code.bytes, s->code.size);
	*used += (s->code.size + 31) & ~31ull;
	slots += s->code.slot_count;
	assert_true(slots <= SLOTS);
	mark_spots((uint32_t)copy_count++);
}

static void make_copies(const uint64_t *addresses, size_t count, uint32_t max)
{
	uint64_t used = 0;

	memset(table, 0, SLOTS * sizeof(*table));
	memset(spots, 0, text_bytes * sizeof(*spots));
	copy_count = 0;
	slots = INSTRUMENT_PATHS_FIRST_SLOT;
	for (size_t i = 0; i < count && copy_count < SUBJECTS_MAX; i++)
		add_copy(addresses[i], max, &used);
}

static void free_copies(void)
{
	for (size_t i = 0; i < copy_count; i++) {
		instrument_plan_free(copies[i].plan);
		instrument_code_free(&copies[i].code);
	}
}

static PLAIN void patch(bool in)
{
	for (size_t i = 0; i < copy_count; i++)
		for (uint32_t k = 0; k < copies[i].code.patch_count; k++) {
			const struct instrument_patch *p = &copies[i].code.patches[k];

			for (unsigned b = 0; b < p->size; b++)
				((volatile uint8_t *)(uintptr_t)p->address)[b] =
					in ? p->after[b] : p->before[b];
		}
}

static PLAIN uint64_t run_counted(uint64_t (*what)(void))
{
	uint64_t result;

	assert_int_equal(syscall(SYS_arch_prctl, ARCH_SET_GS, table), 0);
	patch(true);
	result = what();
	patch(false);
	syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
	instrument_paths_settle(table, slots);
	return result;
}

/* Adds what the counters have of a subject's paths to the truth. One that begins at the entry, and
 * one that begins there by a back edge, are the same. */
static uint64_t compare_paths(uint32_t subject)
{
	const struct subject *s = &copies[subject];
	const struct paths_numbering *n = s->plan->paths->numbering;
	const uint64_t *counts = &table[s->code.first_slot];
	uint32_t *edges = calloc(2 * ((size_t)s->plan->node_count + 1), sizeof(*edges));
	struct instrument_path path = {.blocks = edges + s->plan->node_count + 1};
	uint64_t sum = 0;

	assert_non_null(edges);
	for (uint32_t i = 0; i < n->count; i++) {
		uint64_t hash = 0;

		if (!counts[i])
			continue;
		assert_true(instrument_path_find(s->plan, i, edges, &path));
		for (uint32_t b = 0; b < path.count; b++)
			hash = add_block(hash, path.blocks[b]);
		struct truth *t = truth_of(subject, hash, path.count, path.end, path.to);
		t->found += counts[i];
		sum += counts[i];
	}
	if (counts[n->count] != s->unseen)
		fail_msg("%#lx: %lu unseen, not %lu", s->f->entry, counts[n->count], s->unseen);
	free(edges);
	return sum;
}

static uint64_t compare_all(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < copy_count; i++)
		sum += compare_paths(i);
	for (size_t i = 0; i < TRUTHS; i++)
		if (truths[i].count != truths[i].found)
			fail_msg("%#lx: a path of %u blocks that ends by %u: %lu, not %lu",
				 copies[truths[i].subject].f->entry, truths[i].blocks,
				 truths[i].end, truths[i].found, truths[i].count);
	assert_int_equal(table[INSTRUMENT_PATHS_LEFT], left_elsewhere);
	assert_int_equal(table[INSTRUMENT_PATHS_LOST], 0);
	return sum;
}

static void test_subjects(void **state)
{
	uint64_t addresses[SUBJECTS];

	(void)state;
	if (SANITIZED)
		skip();
	for (size_t i = 0; i < SUBJECTS; i++)
		addresses[i] = (uint64_t)(uintptr_t)subjects[i];
	/* Of few paths: many edges are cut. */
	for (uint32_t max = 4096; max >= 16; max /= 16) {
		make_copies(addresses, SUBJECTS, max);
		assert_true(copy_count > SUBJECTS / 2);
		const uint64_t result = run_stepped(work);
		assert_int_equal(run_counted(work), result);
		assert_int_equal(work(), result);
		assert_true(compare_all() > 500);
		free_copies();
	}
}

/* All of the library in this program that is understood, at once. */
static void test_library(void **state)
{
	uint64_t *addresses;
	size_t count = 0;

	(void)state;
	if (SANITIZED)
		skip();
	addresses = calloc(cfg_image_count(image), sizeof(*addresses));
	assert_non_null(addresses);
	for (size_t i = 0; i < cfg_image_count(image); i++) {
		const struct cfg_function *f;
		const uint64_t entry = cfg_image_entry(image, i);

		if (entry + base > (uint64_t)(uintptr_t)counted_no_room &&
		    cfg_image_function(image, entry, &f) == 0 && f->entry == entry)
			addresses[count++] = entry + base;
	}
	make_copies(addresses, count, 256);
	assert_true(copy_count > count * 9 / 10);
	const uint64_t result = run_stepped(work_in_library);
	assert_int_equal(run_counted(work_in_library), result);
	assert_true(compare_all() > 100);
	free_copies();
	free(addresses);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subjects),
		cmocka_unit_test(test_library),
	};
	image_worker_dispatch(argc, argv);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}

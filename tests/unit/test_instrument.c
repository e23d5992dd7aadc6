/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Copies of this program's own functions, run in place of them. The truth is what single-stepping
 * the originals sees: each instruction, and where it went. Results and counts must be the same
 * whether functions run as they are, from their copies, or are switched over in the middle.
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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "instrument/copy.h"
#include "instrument/counts.h"
#include "util/sanitized.h"
#include "util/search.h"
#include "cfg_file.h"
#include "instrument_subjects.h"
#include "random_graph.h"

#define ORIGINALS_CHECKED 200 /* functions */

struct subject {
	const struct cfg_function *f;
	struct instrument_plan *plan;
	struct instrument_code code;
};

static struct cfg_image *image;
static uint64_t base, *entered;
static size_t entered_count;
#define COUNTER_BYTES 9
static unsigned fronts; /* counters right in front of what a branch leads to */
static struct subject *copies;
static size_t copy_count, linked_calls;
static uint64_t *counters;
static uint32_t slots;
static uint8_t *room;
#define ROOM_BYTES (64u << 20)
#define SLOTS	   (1u << 20)

/* What an address of the program's text, or of a copy, is to the stepper. */
enum kind { KIND_NONE, KIND_START = 1, KIND_PATCHED = 2, KIND_INSIDE = 4 };
extern const uint8_t __executable_start, _end, etext;
static uint8_t *kinds;	   /* of each address of the text */
static uint32_t *executed; /* of each address of the text: how often it was stepped to */
static size_t text_bytes;

static uint64_t text_start(void)
{
	return (uint64_t)(uintptr_t)&__executable_start;
}

static bool in_text(uint64_t pc)
{
	return pc - text_start() < text_bytes;
}

/* Pairs of addresses, one executed behind the other. */
struct pair {
	uint64_t key, count;
};
#define PAIRS (1u << 20)
static struct pair *pairs;

static PLAIN void count_pair(uint64_t from, uint64_t to)
{
	const uint64_t key = (from - text_start()) << 32 | (to - text_start());
	size_t i = (key * 0x9e3779b97f4a7c15u) >> 44;

	while (pairs[i].key && pairs[i].key != key)
		i = (i + 1) % PAIRS;
	pairs[i].key = key;
	pairs[i].count++;
}

static uint64_t pair_count(uint64_t from, uint64_t to)
{
	const uint64_t key = (from - text_start()) << 32 | (to - text_start());
	size_t i = (key * 0x9e3779b97f4a7c15u) >> 44;

	while (pairs[i].key && pairs[i].key != key)
		i = (i + 1) % PAIRS;
	return pairs[i].count;
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

static int set_table(void *table)
{
	return (int)syscall(SYS_arch_prctl, ARCH_SET_GS, table);
}

static int setup_image(void **state)
{
	struct diag diag = {""};

	(void)state;
	dl_iterate_phdr(find_base, &base);
	if (cfg_image_open_file("/proc/self/exe", &image, &diag) < 0)
		fail_msg("%s", diag.text);
	assert_int_equal(instrument_entered_new(image, &entered, &entered_count), 0);
	text_bytes = (size_t)(&etext - &__executable_start);
	kinds = calloc(text_bytes, sizeof(*kinds));
	executed = calloc(text_bytes, sizeof(*executed));
	pairs = calloc(PAIRS, sizeof(*pairs));
	counters = calloc(SLOTS, sizeof(*counters));
	room = find_room();
	assert_true(kinds && executed && pairs && counters && room);
	assert_int_equal(mprotect((void *)(uintptr_t)(text_start() & ~4095ull),
				  (text_bytes + 8191) & ~4095ull,
				  PROT_READ | PROT_WRITE | PROT_EXEC),
			 0);
	return 0;
}

static int free_image(void **state)
{
	(void)state;
	munmap(room, ROOM_BYTES);
	free(kinds);
	free(executed);
	free(pairs);
	free(counters);
	free(entered);
	cfg_image_free(image);
	return 0;
}

/* 0, or why not. */
static int plan_at(uint64_t address, struct instrument_plan **ret, enum instrument_reason *ret_why)
{
	struct instrument_request q = {.entered = entered, .entered_count = entered_count};

	assert_int_equal(cfg_image_function(image, address - base, &q.function), 0);
	assert_int_equal(q.function->entry, address - base);
	return instrument_plan_new(&q, ret, ret_why);
}

/* Whether a counter right in front of a block is of a branch that leads to it. */
static bool has_front(const struct subject *s, uint32_t block)
{
	const uint64_t start = s->f->blocks[block].start + base;
	const uint32_t to = instrument_code_at_original(&s->code, start)->copy;

	if (s->plan->at[block][INSTRUMENT_AT_ENTRANCE] != INSTRUMENT_NONE)
		return false;
	for (uint32_t i = 0; i < s->code.piece_count; i++) {
		const struct instrument_piece *p = &s->code.pieces[i];

		if (p->charged == start && p->copy + COUNTER_BYTES == to)
			return true;
	}
	return false;
}

static bool add_copy(uint64_t address)
{
	struct subject *s = &copies[copy_count];
	enum instrument_reason why;
	static uint64_t used;

	if (copy_count == 0)
		used = 0;
	const int r = plan_at(address, &s->plan, &why);
	if (r == -EOPNOTSUPP)
		return false;
	assert_int_equal(r, 0);
	s->f = s->plan->function;
	const struct instrument_destination at = {base, (uint64_t)(uintptr_t)room + used, slots};
	assert_true(used + instrument_copy_size_max(s->plan) < ROOM_BYTES);
	assert_int_equal(instrument_copy_new(s->plan, &at, &s->code), 0);
	assert_int_equal(instrument_code_check(&s->code), 0);
	assert_true(s->code.size <= instrument_copy_size_max(s->plan));
	assert_int_equal(s->code.place_count, s->f->instruction_count);
	for (uint32_t i = 0; i < s->f->block_count; i++)
		fronts += has_front(s, i);
	memcpy(room + used, s->code.bytes, s->code.size);
	used += (s->code.size + 31) & ~31ull;
	slots += s->code.slot_count;
	assert_true(slots <= SLOTS);
	copy_count++;
	return true;
}

/* What runs; or that with another byte at an address. */
static int read_running(void *arg, uint64_t address, void *data, size_t size)
{
	const uint64_t *changed = arg;

	memcpy(data, (const void *)(uintptr_t)address, size);
	if (changed && *changed - address < size)
		((uint8_t *)data)[*changed - address] ^= 1;
	return 0;
}

/* That code is what the copy was made of is seen, and that any instruction has changed since. */
static void check_original(const struct instrument_code *code)
{
	uint64_t hash;

	assert_int_equal(instrument_code_hash_original(code, read_running, NULL, &hash), 0);
	assert_int_equal(hash, code->original_hash);
	for (uint32_t k = 0; k < code->place_count; k++) {
		uint64_t last = code->places[k].original + code->places[k].size - 1;

		assert_int_equal(instrument_code_hash_original(code, read_running, &last, &hash),
				 0);
		assert_int_not_equal(hash, code->original_hash);
	}
}

/* Calls between them lead straight into copies. */
static void link_copies(void)
{
	struct instrument_plan **plans = calloc(copy_count + 1, sizeof(*plans));
	struct instrument_code *codes = calloc(copy_count + 1, sizeof(*codes));

	assert_true(plans && codes);
	for (size_t i = 0; i < copy_count; i++) {
		plans[i] = copies[i].plan;
		codes[i] = copies[i].code;
	}
	assert_int_equal(instrument_link_calls(plans, codes, copy_count, base), 0);
	for (size_t i = 0; i < copy_count; i++) {
		linked_calls += codes[i].patch_count - copies[i].code.patch_count;
		copies[i].code = codes[i];
		assert_int_equal(instrument_code_check(&codes[i]), 0);
	}
	free(plans);
	free(codes);
}

static void make_copies(const uint64_t *addresses, size_t count)
{
	copies = calloc(count, sizeof(*copies));
	assert_non_null(copies);
	memset(counters, 0, SLOTS * sizeof(*counters));
	memset(kinds, 0, text_bytes);
	copy_count = slots = linked_calls = 0;
	for (size_t i = 0; i < count; i++)
		add_copy(addresses[i]);
	link_copies();
	for (size_t i = 0; i < copy_count; i++) {
		const struct subject *s = &copies[i];

		if (i < ORIGINALS_CHECKED)
			check_original(&s->code);
		for (uint32_t k = 0; k < s->code.place_count; k++)
			kinds[s->code.places[k].original - text_start()] |= KIND_START;
		for (uint32_t k = 0; k < s->code.patch_count; k++) {
			const struct instrument_patch *p = &s->code.patches[k];

			assert_memory_equal(p->before, (void *)(uintptr_t)p->address, p->size);
			/* A call is one with the patch, too. */
			if (!instrument_patch_is_call(p))
				kinds[p->address - text_start()] |= KIND_PATCHED;
			for (unsigned b = 1; b < p->size; b++)
				kinds[p->address + b - text_start()] |= KIND_INSIDE;
		}
		for (uint32_t k = 0; k < s->plan->entrance_count; k++) {
			const struct instrument_entrance *e = &s->plan->entrances[k];

			/* endbr64 stays */
			kinds[s->f->blocks[e->block].start + base - text_start()] |= KIND_PATCHED;
		}
	}
}

static void free_copies(void)
{
	for (size_t i = 0; i < copy_count; i++) {
		instrument_plan_free(copies[i].plan);
		instrument_code_free(&copies[i].code);
	}
	free(copies);
	copies = NULL;
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

static PLAIN struct subject *copy_at(uint64_t pc)
{
	size_t low = 0, high = copy_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (copies[middle].code.address + copies[middle].code.size > pc)
			high = middle;
		else
			low = middle + 1;
	}
	return low < copy_count && pc >= copies[low].code.address ? &copies[low] : NULL;
}

static PLAIN const struct instrument_place *place_in(const struct subject *s, uint64_t pc,
						     bool in_copy)
{
	const struct instrument_place *p = s->code.places;
	const uint64_t offset = pc - s->code.address;
	size_t low = 0, high = s->code.place_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (in_copy ? p[middle].copy >= offset : p[middle].original >= pc)
			high = middle;
		else
			low = middle + 1;
	}
	return low < s->code.place_count &&
			       (in_copy ? p[low].copy == offset : p[low].original == pc)
		       ? &p[low]
		       : NULL;
}

static PLAIN const struct instrument_place *place_of_original(uint64_t pc, struct subject **ret)
{
	for (size_t i = 0; i < copy_count; i++) {
		const struct instrument_place *p = place_in(&copies[i], pc, false);

		if (p) {
			*ret = &copies[i];
			return p;
		}
	}
	return NULL;
}

/* Single steps: the handler sees the address of the instruction that comes next. */

static PLAIN void stepping(bool on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static PLAIN bool is_repeated(uint64_t pc)
{
	const uint8_t byte = *(const uint8_t *)(uintptr_t)pc;

	return byte == 0xf2 || byte == 0xf3;
}

static uint64_t last_pc;

/* Of originals. */
static PLAIN void on_step(int signal, siginfo_t *info, void *context)
{
	const uint64_t pc = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)signal;
	(void)info;
	if (in_text(pc) && !(pc == last_pc && is_repeated(pc))) {
		executed[pc - text_start()]++;
		if (in_text(last_pc))
			count_pair(last_pc, pc);
	}
	last_pc = pc;
}

static void handle_steps(void (*handler)(int signal, siginfo_t *info, void *context))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};

	assert_int_equal(sigaction(SIGTRAP, handler ? &action : &(struct sigaction){0}, NULL), 0);
}

static PLAIN uint64_t run(uint64_t (*what)(void), void (*handler)(int, siginfo_t *, void *))
{
	uint64_t result;

	what(); /* what libraries do once is done */
	memset(executed, 0, text_bytes * sizeof(*executed));
	memset(pairs, 0, PAIRS * sizeof(*pairs));
	last_pc = 0;
	if (handler)
		handle_steps(handler);
	if (handler)
		stepping(true);
	result = what();
	if (handler)
		stepping(false);
	return result;
}

static uint64_t executed_at(uint64_t address)
{
	return executed[address + base - text_start()];
}

/* An edge whose two ends are executed one behind the other. */
static bool is_stepped(const struct cfg_function *f, const struct cfg_edge *e)
{
	const struct cfg_block *b = &f->blocks[e->from];
	const struct cfg_edge *first = &f->edges[b->first_succ];

	if (e->kind > CFG_INDIRECT || e->to == CFG_OUTSIDE)
		return false;
	return b->succ_count != 2 || first[0].to != first[1].to;
}

static void expect_counts(const struct subject *s, const struct instrument_counts *c)
{
	const struct cfg_function *f = s->f;

	for (uint32_t i = 0; i < f->block_count; i++)
		if (c->blocks[i] != executed_at(f->blocks[i].start))
			fail_msg("%#lx, block %u at %#lx: %lu, not %lu", f->entry, i,
				 f->blocks[i].start, c->blocks[i], executed_at(f->blocks[i].start));
}

static uint64_t expect_edges(const struct subject *s, const struct instrument_counts *c)
{
	const struct cfg_function *f = s->f;
	uint64_t known = 0;

	for (uint32_t i = 0; i < f->edge_count; i++) {
		const struct cfg_edge *e = &f->edges[i];

		if (e->from == CFG_OUTSIDE || !is_stepped(f, e) ||
		    c->edges[i] == INSTRUMENT_UNKNOWN)
			continue;
		const struct cfg_block *b = &f->blocks[e->from];
		const struct isa_instruction *last =
			&f->instructions[b->first_instruction + b->instruction_count - 1];
		known++;
		assert_int_equal(c->edges[i],
				 pair_count(last->address + base, f->blocks[e->to].start + base));
	}
	return known;
}

static struct instrument_counts *
counts_of(const struct subject *s, const struct instrument_presence *presences, size_t count)
{
	struct instrument_counts *c = NULL;

	assert_int_equal(
		instrument_counts_new(s->plan, &counters[s->code.first_slot], presences, count, &c),
		0);
	return c;
}

static void make_subjects(void)
{
	uint64_t addresses[SUBJECTS];

	for (size_t i = 0; i < SUBJECTS; i++)
		addresses[i] = (uint64_t)(uintptr_t)subjects[i];
	make_copies(addresses, SUBJECTS);
	for (size_t i = 0; i < SUBJECTS; i++)
		if (i >= copy_count || copies[i].code.entry != addresses[i])
			fail_msg("subject %zu was left alone", i);
}

/* A whole run by the copies, against what stepping the originals saw. */
static void test_whole(void **state)
{
	uint64_t edges = 0;

	(void)state;
	if (SANITIZED)
		skip();
	make_subjects();
	const uint64_t result = run(work, on_step);
	assert_int_equal(set_table(counters), 0);
	patch(true);
	const uint64_t again = work();
	patch(false);
	set_table(NULL);
	assert_int_equal(again, result);
	assert_int_equal(work(), result);
	for (size_t i = 0; i < copy_count; i++) {
		struct instrument_counts *c = counts_of(&copies[i], NULL, 0);

		assert_int_equal(c->inconsistent, 0);
		expect_counts(&copies[i], c);
		edges += expect_edges(&copies[i], c);
		instrument_counts_free(c);
	}
	assert_true(edges > 100);
	free_copies();
}

/* All of the library in this program that is understood, at once. */
static void test_library(void **state)
{
	uint64_t *addresses, ran = 0;
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
	make_copies(addresses, count);
	assert_true(copy_count > count * 9 / 10);
	assert_true(fronts > copy_count / 20);
	assert_true(linked_calls > copy_count);
	const uint64_t result = run(work_in_library, on_step);
	assert_int_equal(set_table(counters), 0);
	patch(true);
	const uint64_t again = work_in_library();
	patch(false);
	set_table(NULL);
	assert_int_equal(again, result);
	for (size_t i = 0; i < copy_count; i++) {
		struct instrument_counts *c = counts_of(&copies[i], NULL, 0);

		assert_int_equal(c->inconsistent, 0);
		expect_counts(&copies[i], c);
		expect_edges(&copies[i], c);
		ran += c->blocks[copies[i].f->entry_block] != 0;
		instrument_counts_free(c);
	}
	assert_true(ran > 10);
	free_copies();
	free(addresses);
}

/* Threads are switched over while they run: this one, at a step. */
static struct switching {
	uint64_t random;
	uint32_t odds;		       /* of a move: 1 in so many steps; 0: by attach and detach */
	uint64_t step, attach, detach; /* after so many steps */
	bool attached, anywhere;       /* in what the functions call, too */
	uint64_t started, ended;       /* where, in an original; 0: elsewhere */
	uint64_t moves, inside;
} switching;

static PLAIN bool is_original(uint64_t pc)
{
	return in_text(pc) && (kinds[pc - text_start()] & KIND_START);
}

/* The original's instruction that comes next, and only when it is executed as such: at the place of
 * the copy, or in the original where that is not on behalf of the copy. */
static PLAIN uint64_t original_of(uint64_t pc)
{
	const struct subject *s = copy_at(pc);
	const struct instrument_place *p;

	if (s) {
		p = place_in(s, pc, true);
		return p ? p->original : 0;
	}
	if (!is_original(pc))
		return 0;
	/* By a jump out of the copy come calls, which it has counted. */
	if (copy_at(last_pc) && *(const uint8_t *)(uintptr_t)last_pc == 0xe9)
		return 0;
	return kinds[pc - text_start()] & KIND_PATCHED ? 0 : pc;
}

/* Counts as on_step does, by what the copies' instructions stand for. */
static PLAIN void on_window_step(int signal, siginfo_t *info, void *context)
{
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	struct switching *w = &switching;
	const uint64_t pc = (uint64_t)*rip;
	struct subject *s;

	(void)signal;
	(void)info;
	w->step++;
	if (!w->attached && w->attach && w->step >= w->attach && (w->anywhere || is_original(pc))) {
		const struct instrument_place *p = place_of_original(pc, &s);

		patch(true);
		w->attached = true;
		w->attach = 0;
		if (p) {
			w->started = pc;
			*rip = (greg_t)(s->code.address + p->copy);
		}
	} else if (w->attached && w->step >= w->detach &&
		   (w->anywhere || is_original(pc) || copy_at(pc))) {
		s = copy_at(pc);
		const struct instrument_place *p =
			s ? place_in(s, pc, true) : place_of_original(pc, &s);

		if (s && !p && copy_at(pc)) {
			w->inside++; /* step on, until it is at a place */
		} else if (!in_text(pc) || !(kinds[pc - text_start()] & KIND_PATCHED)) {
			patch(false);
			w->attached = false;
			w->ended = p ? p->original : 0;
			*rip = (greg_t)(p ? p->original : pc);
			((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
		}
	}
	if (w->attached) {
		const uint64_t original = original_of((uint64_t)*rip);

		if (original && !((uint64_t)*rip == last_pc && is_repeated(original)))
			executed[original - text_start()]++;
	}
	last_pc = (uint64_t)*rip;
}

static void test_windows(void **state)
{
	uint64_t seed = 1, started = 0, ended = 0, inside = 0;

	(void)state;
	if (SANITIZED)
		skip();
	make_subjects();
	const uint64_t result = work();
	assert_int_equal(set_table(counters), 0);
	for (int round = 0; round < 12; round++) {
		memset(counters, 0, slots * sizeof(*counters));
		switching = (struct switching){.attach = 1 + random_below(&seed, 4000),
					       .anywhere = round % 3 == 0};
		switching.detach = switching.attach + 1 + random_below(&seed, 500);
		assert_int_equal(run(work, on_window_step), result);
		patch(false);
		const struct instrument_presence presences[] = {{switching.started - base, 1, 0},
								{switching.ended - base, 0, 1}};
		for (size_t i = 0; i < copy_count; i++) {
			struct instrument_counts *c = counts_of(&copies[i], presences, 2);

			assert_int_equal(c->inconsistent, 0);
			expect_counts(&copies[i], c);
			instrument_counts_free(c);
		}
		started += switching.started != 0;
		ended += switching.ended != 0;
		inside += switching.inside;
	}
	set_table(NULL);
	assert_true(started > 3 && ended > 3 && inside > 0);
	free_copies();
}

/* A jump lies where the original, unlike the copy, would come by. */
static PLAIN bool has_relay(const struct subject *s)
{
	for (uint32_t i = 0; i < s->plan->entrance_count; i++)
		if (s->plan->entrances[i].relay != ISA_NO_ADDRESS)
			return true;
	return false;
}

/* To and fro at random places, with everything patched: nothing may change. */
static PLAIN void on_moving_step(int signal, siginfo_t *info, void *context)
{
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	const uint64_t pc = (uint64_t)*rip;
	struct subject *s = copy_at(pc);
	const struct instrument_place *p;

	(void)signal;
	(void)info;
	if (random_below(&switching.random, switching.odds))
		return;
	p = s ? place_in(s, pc, true) : place_of_original(pc, &s);
	if (!p)
		return;
	if (pc == p->original)
		*rip = (greg_t)(s->code.address + p->copy);
	else if (!(kinds[p->original - text_start()] & KIND_INSIDE) && !has_relay(s))
		*rip = (greg_t)p->original;
	switching.moves += (uint64_t)*rip != pc;
}

static void test_moves(void **state)
{
	(void)state;
	if (SANITIZED)
		skip();
	make_subjects();
	const uint64_t result = work();
	assert_int_equal(set_table(counters), 0);
	switching = (struct switching){.odds = 3};
	patch(true);
	assert_int_equal(run(work, on_moving_step), result);
	patch(false);
	set_table(NULL);
	assert_true(switching.moves > 1000);
	free_copies();
}

/* Where inserted code says that a thread is. */
static struct standing {
	uint64_t last, stack;	      /* the last original, and the stack pointer there */
	uint64_t said, said_stack;    /* what must come next, for it has not been; 0: nothing */
	uint64_t pieces, ahead, none; /* how many were seen; of them such, and without a stack */
	uint64_t moved;		      /* ahead, with another stack than the last */
	uint64_t wrong;		      /* the first that was, in the copy; 0: none */
} standing;

static PLAIN const struct instrument_piece *piece_in(const struct subject *s, uint64_t pc)
{
	const struct instrument_piece *p = s->code.pieces;
	const uint64_t offset = pc - s->code.address;
	const size_t at = SEARCH_FIRST(s->code.piece_count, i, p[i].copy >= offset);

	return at < s->code.piece_count && p[at].copy == offset ? &p[at] : NULL;
}

/* It is where the last original was, or where the next one will be; either with its stack. */
static PLAIN bool stands(struct standing *w, const struct instrument_piece *p, uint64_t stack)
{
	w->pieces++;
	if (p->stands_for == INSTRUMENT_NOWHERE) {
		const uint64_t less = (w->said ? w->said_stack : w->stack) - stack;

		w->none++;
		return less == 128 || less == 136; /* the red zone, and a register */
	}
	if (p->stands_for == w->last && !w->said)
		return stack == w->stack;
	if (w->said)
		return p->stands_for == w->said && stack == w->said_stack;
	w->said = p->stands_for;
	w->said_stack = stack;
	w->ahead++;
	w->moved += stack != w->stack;
	return true;
}

static PLAIN void on_standing_step(int signal, siginfo_t *info, void *context)
{
	const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint64_t pc = (uint64_t)r[REG_RIP], stack = (uint64_t)r[REG_RSP];
	const struct subject *s = copy_at(pc);
	const struct instrument_place *place = s ? place_in(s, pc, true) : NULL;
	const struct instrument_piece *piece = s ? piece_in(s, pc) : NULL;
	struct standing *w = &standing;
	bool is_right = true;

	(void)signal;
	(void)info;
	if (s && !place) {
		is_right = piece && stands(w, piece, stack);
	} else {
		w->last = place ? place->original : pc;
		w->stack = stack;
		is_right = !w->said || (w->said == w->last && w->said_stack == stack);
		w->said = 0;
	}
	if (!is_right && !w->wrong)
		w->wrong = pc;
}

/* At each instruction that was inserted the stack is that of the original that it stands for. */
static void test_standing(void **state)
{
	(void)state;
	if (SANITIZED)
		skip();
	make_subjects();
	assert_int_equal(set_table(counters), 0);
	standing = (struct standing){0};
	patch(true);
	run(work, on_standing_step);
	patch(false);
	set_table(NULL);
	if (standing.wrong) {
		const struct subject *s = copy_at(standing.wrong);

		fail_msg("at %#lx of the copy of %#lx", standing.wrong - (s ? s->code.address : 0),
			 s ? s->code.entry - base : 0);
	}
	assert_true(standing.pieces > 1000 && standing.ahead > 100 && standing.none > 10);
	assert_true(standing.moved > 0);
	free_copies();
}

static void expect_refused(function f, enum instrument_reason wanted)
{
	struct instrument_plan *plan;
	enum instrument_reason why = INSTRUMENT_REASONS;

	assert_int_equal(plan_at((uint64_t)(uintptr_t)f, &plan, &why), -EOPNOTSUPP);
	assert_string_equal(instrument_reason_text(why), instrument_reason_text(wanted));
}

static void test_refusals(void **state)
{
	(void)state;
	expect_refused(counted_segment, INSTRUMENT_WHY_SEGMENT);
	expect_refused(counted_segment_base, INSTRUMENT_WHY_SEGMENT);
	expect_refused(counted_no_room, INSTRUMENT_WHY_ROOM);
}

/* Jumps in two steps where there is little room, and the original that runs on where there is none.
 */
static void test_rooms(void **state)
{
	struct instrument_plan *plan;
	enum instrument_reason why;
	uint32_t relays = 0, through = 0;

	(void)state;
	assert_int_equal(plan_at((uint64_t)(uintptr_t)counted_calls, &plan, &why), 0);
	for (uint32_t i = 0; i < plan->entrance_count; i++)
		relays += plan->entrances[i].relay != ISA_NO_ADDRESS;
	for (uint32_t i = 0; i < plan->function->block_count; i++)
		through += plan->through[i];
	assert_int_equal(relays, 3);
	assert_int_equal(through, 3);
	instrument_plan_free(plan);
	assert_int_equal(plan_at((uint64_t)(uintptr_t)counted_runs_on, &plan, &why), 0);
	through = 0;
	for (uint32_t i = 0; i < plan->function->block_count; i++)
		through += plan->through[i];
	assert_int_equal(through, 1);
	instrument_plan_free(plan);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	 cmocka_unit_test(test_library),
		cmocka_unit_test(test_windows),	 cmocka_unit_test(test_moves),
		cmocka_unit_test(test_standing), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_rooms),
	};
	image_worker_dispatch(argc, argv);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup_image, free_image);
}

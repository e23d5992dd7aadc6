/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/plans.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cfg/open.h"
#include "db/batch.h"
#include "image/demangle.h"
#include "image/worker/worker.h"
#include "instrument/attach/implant.h"
#include "instrument/counts.h"
#include "instrument/paths.h"
#include "util/num.h"

#define GATE_NAME "_dl_debug_state" /* of glibc and of musl; debuggers stop there */

struct plans {
	struct cfg_image *image;
	uint64_t *named; /* functions that were asked for by their names */
	size_t named_count;
	uint32_t paths_max;
	struct instrument_plan **list;
	size_t count;
};

static int read_facts(const char *path, struct image_facts *ret, struct diag *diag)
{
	struct image_worker *worker = image_worker_new(NULL);
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = worker ? 0 : -ENOMEM;

	if (fd < 0)
		r = diag_fail(diag, errno, "cannot be read: %s", strerror(errno));
	r = r ?: image_worker_facts(worker, fd, ret, diag);
	if (fd >= 0)
		close(fd);
	image_worker_free(worker);
	return r;
}

static uint64_t find_gate(struct image_finder *finder, const struct image_id *id, const char *path)
{
	const struct image_symbols *symbols;
	struct diag unused;

	if (image_find_symbols(finder, id, path, &symbols, &unused))
		return 0;
	for (size_t i = 0; i < image_symbols_count(symbols); i++)
		if (!strcmp(image_symbols_at(symbols, i)->name, GATE_NAME))
			return image_symbols_at(symbols, i)->start;
	return 0;
}

static bool is_named(const regex_t *names, const char *name)
{
	char demangled[DEMANGLE_MAX_RESULT];

	return !regexec(names, name, 0, NULL, 0) ||
	       (image_demangle(name, demangled) && !regexec(names, demangled, 0, NULL, 0));
}

/* The functions of such names are those to be planned. */
static int find_named(struct image_finder *finder, const struct image_id *id, const char *path,
		      const char *text, struct plans *p)
{
	const struct image_symbols *symbols;
	struct diag unused;
	regex_t names;
	size_t count;

	if (regcomp(&names, text, REG_EXTENDED | REG_NOSUB))
		return -EINVAL;
	count = image_find_symbols(finder, id, path, &symbols, &unused)
			? 0
			: image_symbols_count(symbols);
	p->named = calloc(count + 1, sizeof(*p->named));
	for (size_t i = 0; p->named && i < count; i++)
		if (is_named(&names, image_symbols_at(symbols, i)->name))
			p->named[p->named_count++] = image_symbols_at(symbols, i)->start;
	regfree(&names);
	return p->named ? 0 : -ENOMEM;
}

static int open_image(const char *path, const struct plans_request *q, struct plans *p,
		      struct plans_facts *f, struct diag *diag)
{
	struct image_finder *finder;
	int r = read_facts(path, &f->image, diag);

	if (!r && (f->image.bits != 64 || f->image.machine != EM_X86_64))
		r = diag_fail(diag, EOPNOTSUPP, "is not a 64-bit program for x86-64");
	if (!r && f->image.code_is_written)
		r = diag_fail(diag, EOPNOTSUPP,
			      "its code is written to when it is loaded or runs (text relocations, "
			      "or a segment that is writable and executable)");
	r = r ?: image_finder_new(NULL, NULL, &finder);
	if (r)
		return r;
	r = cfg_image_open(finder, &f->image.id, path, &p->image, diag);
	if (!r)
		f->gate = find_gate(finder, &f->image.id, path);
	if (!r && q->names)
		r = find_named(finder, &f->image.id, path, q->names, p);
	image_finder_free(finder);
	return r;
}

static int plan_one(struct plans *p, uint64_t entry, const uint64_t *entered, size_t entered_count,
		    struct plans_facts *f)
{
	struct instrument_request q = {
		.entered = entered, .entered_count = entered_count, .paths_max = p->paths_max};
	struct instrument_plan *plan;
	enum instrument_reason why;
	int r = cfg_image_function(p->image, entry, &q.function);

	/* A part split off is its function's. */
	if (r == -ENOENT || (!r && q.function->entry != entry) || entry == f->gate)
		return 0;
	r = r ?: instrument_plan_new(&q, &plan, &why);
	if (r && r != -EOPNOTSUPP)
		return r;
	f->functions++;
	if (!r && (plan->slot_count > INSTRUMENT_SLOTS_MAX - f->slots ||
		   instrument_copy_size_max(plan) > IMPLANT_MAX_BYTES - f->bytes)) {
		instrument_plan_free(plan);
		why = INSTRUMENT_WHY_LIMIT;
		r = -EOPNOTSUPP;
	}
	if (r) {
		f->left[why]++;
		return 0;
	}
	f->cut += plan->paths && plan->paths->numbering->cut_many;
	f->slots += plan->slot_count;
	f->bytes += instrument_copy_size_max(plan);
	p->list[p->count++] = plan;
	return 0;
}

/* Entries of the functions that have samples, ascending, each once. */
static int find_wanted(struct cfg_image *image, const struct plans_sampled *sampled, uint64_t *list,
		       size_t *ret_count)
{
	size_t count = 0;

	for (size_t i = 0; i < sampled->count; i++) {
		const struct cfg_function *f;
		int r = cfg_image_function(image, sampled->list[i], &f);

		if (r && r != -ENOENT)
			return r;
		if (!r)
			list[count++] = f->entry;
	}
	*ret_count = num_sort_unique(list, count);
	return 0;
}

static int plan_wanted(struct plans *p, const struct plans_sampled *sampled,
		       const uint64_t *entered, size_t entered_count, struct plans_facts *f)
{
	uint64_t *list = malloc((sampled->count + 1) * sizeof(*list));
	size_t count = 0;
	int r = list ? find_wanted(p->image, sampled, list, &count) : -ENOMEM;

	if (!r) {
		p->list = calloc(count + 1, sizeof(*p->list));
		r = p->list ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !r && i < count; i++)
		r = plan_one(p, list[i], entered, entered_count, f);
	free(list);
	return r;
}

static int plan_each(struct plans *p, const uint64_t *entered, size_t entered_count,
		     struct plans_facts *f)
{
	size_t functions = cfg_image_count(p->image);
	int r;

	p->list = calloc(functions + 1, sizeof(*p->list));
	r = p->list ? 0 : -ENOMEM;
	for (size_t i = 0; !r && i < functions; i++)
		r = plan_one(p, cfg_image_entry(p->image, i), entered, entered_count, f);
	return r;
}

static int plan_all(struct plans *p, const struct plans_request *q, struct plans_facts *f)
{
	const struct plans_sampled named = {p->named, p->named_count};
	const struct plans_sampled *wanted = q->names ? &named : &q->sampled;
	size_t entered_count;
	uint64_t *entered;
	int r;

	if (q->names && !named.count)
		return 0;
	/* This also finds functions that nothing but calls tells of. */
	r = instrument_entered_new(p->image, &entered, &entered_count);
	if (r)
		return r;
	r = wanted->list ? plan_wanted(p, wanted, entered, entered_count, f)
			 : plan_each(p, entered, entered_count, f);
	f->planned = (uint32_t)p->count;
	free(entered);
	return r;
}

void plans_free(struct plans *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		instrument_plan_free(p->list[i]);
	free(p->list);
	free(p->named);
	cfg_image_free(p->image);
	free(p);
}

int plans_new(const char *path, const struct plans_request *q, struct plans **ret,
	      struct plans_facts *ret_facts, struct diag *diag)
{
	const struct plans_request everything = {.paths_max = 0};
	struct plans *p = calloc(1, sizeof(*p));
	struct plans_facts f = {0};
	int r = p ? 0 : -ENOMEM;

	diag->text[0] = 0;
	q = q ?: &everything;
	if (!r)
		p->paths_max = q->paths_max;
	r = r ?: open_image(path, q, p, &f, diag);
	r = r ?: plan_all(p, q, &f);
	if (r && !diag->text[0])
		diag_fail(diag, -r, "%s", strerror(-r));
	if (r) {
		plans_free(p);
		return r;
	}
	*ret_facts = f;
	*ret = p;
	return 0;
}

int plans_copy(const struct plans *p, const struct instrument_destination *at,
	       struct instrument_code *codes)
{
	struct instrument_destination next = *at;
	int r = 0;

	for (size_t i = 0; i < p->count; i++) {
		r = instrument_copy_new(p->list[i], &next, &codes[i]);
		if (r == -ERANGE || r == -EFBIG)
			codes[i] = (struct instrument_code){0};
		else if (r)
			return r;
		next.first_slot += p->list[i]->slot_count;
		next.address += instrument_copy_size_max(p->list[i]);
	}
	return instrument_link_calls(p->list, codes, p->count, at->bias);
}

static void append(struct buf *edges, uint64_t from, uint64_t to, uint64_t count)
{
	const struct plans_edge e = {from, to, count};

	if (count)
		buf_append(edges, &e, sizeof(e));
}

/* What comes to a block by edges that are known, and what goes from it by such; the rest comes from
 * outside, and goes there. */
static void append_ends(const struct cfg_function *f, const struct instrument_counts *counts,
			uint32_t block, uint64_t in, uint64_t out, struct buf *edges)
{
	const struct cfg_block *b = &f->blocks[block];
	uint64_t runs = counts->blocks[block];

	append(edges, DB_EDGE_START, b->start, runs > in ? runs - in : 0);
	append(edges, cfg_block_last(f, b)->address, DB_EDGE_END, runs > out ? runs - out : 0);
}

static int append_function(const struct cfg_function *f, const struct instrument_counts *counts,
			   struct buf *edges)
{
	uint64_t *in = calloc(2 * (size_t)f->block_count + 1, sizeof(*in));
	uint64_t *out = in ? in + f->block_count : NULL;

	if (!in)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->edge_count; i++) {
		const struct cfg_edge *e = &f->edges[i];

		if (e->from == CFG_OUTSIDE || e->to == CFG_OUTSIDE ||
		    counts->edges[i] == INSTRUMENT_UNKNOWN)
			continue;
		in[e->to] += counts->edges[i];
		out[e->from] += counts->edges[i];
		append(edges, cfg_block_last(f, &f->blocks[e->from])->address,
		       f->blocks[e->to].start, counts->edges[i]);
	}
	for (uint32_t b = 0; b < f->block_count; b++)
		append_ends(f, counts, b, in[b], out[b], edges);
	free(in);
	return edges->error;
}

static int append_paths(const struct instrument_plan *plan, const uint64_t *counters,
			struct buf *out)
{
	const struct cfg_function *f = plan->function;
	const uint32_t nodes = plan->node_count + 1, count = plan->paths->numbering->count;
	uint32_t *edges = calloc(2 * (size_t)nodes, sizeof(*edges));
	struct instrument_path path = {.blocks = edges + nodes};

	if (!edges)
		return -ENOMEM;
	for (uint32_t i = 0; i <= count; i++) {
		struct plans_path p = {f->entry, counters[i], PLANS_PATH_UNSEEN, 0, 0};

		if (!p.count)
			continue;
		if (i < count && instrument_path_find(plan, i, edges, &path)) {
			p.end = path.end;
			p.to = path.to == CFG_OUTSIDE ? 0 : f->blocks[path.to].start;
			p.blocks = path.count;
		}
		buf_append(out, &p, sizeof(p));
		for (uint32_t b = 0; b < p.blocks; b++)
			buf_append(out, &f->blocks[path.blocks[b]].start, sizeof(uint64_t));
	}
	free(edges);
	return out->error;
}

static int append_edges(const struct instrument_plan *plan, const uint64_t *counters,
			int *inconsistent, struct buf *edges)
{
	struct instrument_counts *counts;
	int r = instrument_counts_new(plan, counters, NULL, 0, &counts);

	/* Any program that was counted can write to its counters: this function's are lost. */
	if (r == -ERANGE) {
		++*inconsistent;
		return 0;
	}
	if (r)
		return r;
	*inconsistent += counts->inconsistent != 0;
	r = append_function(plan->function, counts, edges);
	instrument_counts_free(counts);
	return r;
}

int plans_count(const struct plans *p, const uint64_t *counters, const uint8_t *left,
		struct buf *edges)
{
	int inconsistent = 0, r = 0;

	for (size_t i = 0; !r && i < p->count; i++) {
		if (!left[i])
			r = p->paths_max ? append_paths(p->list[i], counters, edges)
					 : append_edges(p->list[i], counters, &inconsistent, edges);
		counters += p->list[i]->slot_count;
	}
	return r ?: inconsistent;
}

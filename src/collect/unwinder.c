/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#ifdef __x86_64__
#include "bpf/unwind.skel.h"

#define RULES	  65536
#define TAKE_ONCE 256 /* counts a system call */

struct unwinder {
	struct unwind_bpf *bpf;
	uint32_t *rows, *pages;
	struct wire_unwind_rule *rules;
	size_t rows_bytes, pages_bytes;
	struct ring_buffer *ring;
	const struct unwinder_taker *taker; /* while it drains */
};

size_t unwinder_stack_bytes(const struct wire_stack *stack)
{
	size_t kept = stack->followed < WIRE_STACK_INNER + WIRE_STACK_OUTER
			      ? stack->followed
			      : WIRE_STACK_INNER + WIRE_STACK_OUTER;

	return offsetof(struct wire_stack, frame) +
	       (WIRE_STACK_KERNEL + kept) * sizeof(stack->frame[0]);
}

static int on_stack(void *context, void *data, size_t size)
{
	const struct wire_stack *s = data;
	struct unwinder *u = context;

	if (size < offsetof(struct wire_stack, frame) || s->end >= WIRE_STACK_ENDS ||
	    s->kernel_count > WIRE_STACK_KERNEL)
		return 0;
	if (size >= unwinder_stack_bytes(s))
		u->taker->stack(u->taker->arg, s);
	return 0;
}

static int load(struct unwinder *u, const struct unwinder_config *config, struct diag *diag)
{
	int r;

	u->bpf = unwind_bpf__open();
	if (!u->bpf)
		return diag_fail(diag, ENOMEM, "cannot open the unwinder: %s", strerror(errno));
	bpf_map__set_max_entries(u->bpf->maps.files, config->files);
	bpf_map__set_max_entries(u->bpf->maps.tables, config->files);
	bpf_map__set_max_entries(u->bpf->maps.pages, config->pages / 2);
	bpf_map__set_max_entries(u->bpf->maps.rows, config->rows / 2);
	bpf_map__set_max_entries(u->bpf->maps.counts, config->stacks);
	bpf_map__set_max_entries(u->bpf->maps.stacks, config->ring_bytes);
	r = unwind_bpf__load(u->bpf);
	if (r)
		return diag_fail(diag, r == -EPERM ? EPERM : EOPNOTSUPP,
				 "the kernel does not take the unwinder (it needs Linux 6.1): %s",
				 strerror(-r));
	return 0;
}

static int map_array(struct bpf_map *map, size_t bytes, void *ret, struct diag *diag)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (p == MAP_FAILED)
		return diag_fail(diag, errno, "cannot map the unwinder's tables: %s",
				 strerror(errno));
	memcpy(ret, &p, sizeof(p));
	return 0;
}

int unwinder_new(const struct unwinder_config *config, struct unwinder **ret, struct diag *diag)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return diag_fail(diag, ENOMEM, "out of memory for the unwinder");
	u->rows_bytes = config->rows * sizeof(*u->rows);
	u->pages_bytes = config->pages * sizeof(*u->pages);
	r = load(u, config, diag);
	if (!r)
		r = map_array(u->bpf->maps.rows, u->rows_bytes, &u->rows, diag);
	if (!r)
		r = map_array(u->bpf->maps.pages, u->pages_bytes, &u->pages, diag);
	if (!r)
		r = map_array(u->bpf->maps.rules, RULES * sizeof(*u->rules), &u->rules, diag);
	if (!r) {
		u->ring = ring_buffer__new(bpf_map__fd(u->bpf->maps.stacks), on_stack, u, NULL);
		if (!u->ring)
			r = diag_fail(diag, errno, "cannot map the unwinder's stacks: %s",
				      strerror(errno));
	}
	if (r) {
		unwinder_free(u);
		return r;
	}
	*ret = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	ring_buffer__free(u->ring);
	if (u->rows)
		munmap(u->rows, u->rows_bytes);
	if (u->pages)
		munmap(u->pages, u->pages_bytes);
	if (u->rules)
		munmap(u->rules, RULES * sizeof(*u->rules));
	unwind_bpf__destroy(u->bpf);
	free(u);
}

int unwinder_program(const struct unwinder *u)
{
	return bpf_program__fd(u->bpf->progs.unwind);
}

uint32_t *unwinder_rows(struct unwinder *u)
{
	return u->rows;
}

uint32_t *unwinder_pages(struct unwinder *u)
{
	return u->pages;
}

struct wire_unwind_rule *unwinder_rules(struct unwinder *u)
{
	return u->rules;
}

int unwinder_put_file(struct unwinder *u, const struct wire_file *file, uint32_t slot)
{
	int fd = bpf_map__fd(u->bpf->maps.files);

	return bpf_map_update_elem(fd, file, &slot, BPF_ANY) ? -errno : 0;
}

void unwinder_drop_file(struct unwinder *u, const struct wire_file *file)
{
	bpf_map_delete_elem(bpf_map__fd(u->bpf->maps.files), file);
}

int unwinder_put_table(struct unwinder *u, uint32_t slot, const struct wire_unwind_table *table)
{
	int fd = bpf_map__fd(u->bpf->maps.tables);

	return bpf_map_update_elem(fd, &slot, table, BPF_ANY) ? -errno : 0;
}

/* Bucket by bucket, each as one: a count that is taken is out of the map. */
static int take_counts(struct unwinder *u)
{
	struct wire_stack_key keys[TAKE_ONCE];
	struct wire_stack_count values[TAKE_ONCE];
	int fd = bpf_map__fd(u->bpf->maps.counts), r = 0;
	uint32_t batch, *from = NULL;

	while (!r) {
		uint32_t count = TAKE_ONCE;

		if (bpf_map_lookup_and_delete_batch(fd, from, &batch, keys, values, &count, NULL))
			r = -errno;
		if (r && r != -ENOENT)
			return r;
		for (uint32_t i = 0; i < count; i++)
			u->taker->count(u->taker->arg, &keys[i], values[i].count);
		from = &batch;
	}
	return 0;
}

int unwinder_drain(struct unwinder *u, const struct unwinder_taker *taker)
{
	int r;

	u->taker = taker;
	r = take_counts(u);
	taker->counted(taker->arg);
	ring_buffer__consume(u->ring);
	return r;
}

void unwinder_count(const struct unwinder *u, struct wire_stack_counters *ret)
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(u->bpf->maps.stacks_of_cpu);
	struct wire_stack_counters *each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	uint32_t first = 0;

	*ret = (struct wire_stack_counters){0};
	if (each && bpf_map_lookup_elem(fd, &first, each) == 0)
		for (int i = 0; i < cpus; i++) {
			ret->stacks += each[i].stacks;
			ret->frames += each[i].frames;
			ret->lost_full += each[i].lost_full;
			ret->lost_ring += each[i].lost_ring;
			ret->collisions += each[i].collisions;
			for (int end = 0; end < WIRE_STACK_ENDS; end++)
				ret->ends[end] += each[i].ends[end];
		}
	free(each);
}

int unwinder_read_cost(const struct unwinder *u, uint64_t *ret_ns, uint64_t *ret_runs)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(unwinder_program(u), &info, &size))
		return -errno;
	*ret_ns = info.run_time_ns;
	*ret_runs = info.run_cnt;
	return 0;
}
#endif

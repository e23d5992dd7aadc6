/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/edges/windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "collect/host/cpu_sums.h"
#include "collect/host/mapping_types.h"
#include "bpf/interpret.skel.h"

struct windows {
	struct interpret_bpf *bpf;
	struct wire_micro *micros;
	size_t micros_bytes;
	struct ring_buffer *ring;
	const struct windows_taker *taker; /* while it drains */
};

const void *windows_object(size_t *ret_size)
{
	return interpret_bpf__elf_bytes(ret_size);
}

static int on_window(void *context, void *data, size_t size)
{
	struct windows *w = context;
	const struct wire_window *window = data;

	if (size < offsetof(struct wire_window, edge) || window->end_reason >= WIRE_END_REASONS ||
	    window->edge_count > WIRE_WINDOW_INSTRUCTIONS ||
	    size < offsetof(struct wire_window, edge) +
			    window->edge_count * sizeof(struct wire_edge))
		return 0;
	w->taker->window(w->taker->arg, window);
	return 0;
}

static int on_pair(void *context, void *data, size_t size)
{
	struct windows *w = context;

	if (size >= sizeof(struct wire_pair))
		w->taker->pair(w->taker->arg, data);
	return 0;
}

static int on_values(void *context, void *data, size_t size)
{
	struct windows *w = context;
	const struct wire_values *values = data;

	if (size < offsetof(struct wire_values, value) || values->count > WIRE_WINDOW_VALUES ||
	    size < offsetof(struct wire_values, value) + values->count * sizeof(struct wire_value))
		return 0;
	if (w->taker->values)
		w->taker->values(w->taker->arg, values);
	return 0;
}

static int load(struct windows *w, const struct windows_config *config, struct diag *diag)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = config->types);

	w->bpf = interpret_bpf__open_opts(&options);
	if (!w->bpf)
		return diag_fail(diag, ENOMEM, "cannot open the interpreter of edge samples: %s",
				 strerror(errno));
	bpf_map__set_max_entries(w->bpf->maps.files, config->files);
	bpf_map__set_max_entries(w->bpf->maps.strips, config->strips);
	bpf_map__set_max_entries(w->bpf->maps.micros, config->micros);
	bpf_map__set_max_entries(w->bpf->maps.windows, config->ring_bytes);
	bpf_map__set_max_entries(w->bpf->maps.pairs, config->pair_ring_bytes);
	if (config->with_values)
		bpf_map__set_max_entries(w->bpf->maps.values, config->ring_bytes);
	w->bpf->rodata->with_values = config->with_values;
	bpf_program__set_autoload(w->bpf->progs.interpret_tick, config->with_tick);
	bpf_program__set_autoload(w->bpf->progs.pair_tick, config->with_tick);
	bpf_program__set_autoload(w->bpf->progs.pair_missed_tick, config->with_tick);
	int r = interpret_bpf__load(w->bpf);
	if (r && mapping_types_check("edge samples", diag))
		return -EOPNOTSUPP;
	if (r)
		return diag_fail(diag, r == -EPERM ? EPERM : EOPNOTSUPP,
				 "the kernel does not take the interpreter of edge samples: %s",
				 strerror(-r));
	return 0;
}

int windows_new(const struct windows_config *config, struct windows **ret, struct diag *diag)
{
	struct windows *w = calloc(1, sizeof(*w));
	void *p;
	int r;

	if (!w)
		return diag_fail(diag, ENOMEM, "out of memory for the interpreter");
	r = load(w, config, diag);
	if (r < 0)
		goto fail;
	w->micros_bytes = (size_t)config->micros * sizeof(struct wire_micro);
	p = mmap(NULL, w->micros_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		 bpf_map__fd(w->bpf->maps.micros), 0);
	if (p == MAP_FAILED) {
		r = diag_fail(diag, errno, "cannot map the interpreter's code: %s",
			      strerror(errno));
		goto fail;
	}
	w->micros = p;
	w->ring = ring_buffer__new(bpf_map__fd(w->bpf->maps.windows), on_window, w, NULL);
	if (!w->ring || ring_buffer__add(w->ring, bpf_map__fd(w->bpf->maps.pairs), on_pair, w) ||
	    ring_buffer__add(w->ring, bpf_map__fd(w->bpf->maps.values), on_values, w)) {
		r = diag_fail(diag, errno, "cannot map the interpreter's windows: %s",
			      strerror(errno));
		goto fail;
	}
	*ret = w;
	return 0;
fail:
	windows_free(w);
	return r;
}

void windows_free(struct windows *w)
{
	if (!w)
		return;
	ring_buffer__free(w->ring);
	if (w->micros)
		munmap(w->micros, w->micros_bytes);
	interpret_bpf__destroy(w->bpf);
	free(w);
}

int windows_program(const struct windows *w, enum wire_follower follower)
{
	switch (follower) {
	case WIRE_FOLLOW_PAIR:
		return bpf_program__fd(w->bpf->progs.pair);
	case WIRE_FOLLOW_PAIR_MISSED:
		return bpf_program__fd(w->bpf->progs.pair_missed);
	default:
		return bpf_program__fd(w->bpf->progs.interpret);
	}
}

int windows_tick_program(const struct windows *w, enum wire_follower follower)
{
	switch (follower) {
	case WIRE_FOLLOW_PAIR:
		return bpf_program__fd(w->bpf->progs.pair_tick);
	case WIRE_FOLLOW_PAIR_MISSED:
		return bpf_program__fd(w->bpf->progs.pair_missed_tick);
	default:
		return bpf_program__fd(w->bpf->progs.interpret_tick);
	}
}

struct wire_micro *windows_micros(struct windows *w)
{
	return w->micros;
}

int windows_put_file(struct windows *w, const struct wire_file *file, uint32_t slot)
{
	return bpf_map_update_elem(bpf_map__fd(w->bpf->maps.files), file, &slot, BPF_ANY) ? -errno
											  : 0;
}

int windows_put_strip(struct windows *w, uint32_t slot, uint32_t number,
		      const struct wire_strip *strip)
{
	struct wire_strip_key key = {slot, number};

	return bpf_map_update_elem(bpf_map__fd(w->bpf->maps.strips), &key, strip, BPF_ANY) ? -errno
											   : 0;
}

void windows_drop_file(struct windows *w, const struct wire_file *file)
{
	bpf_map_delete_elem(bpf_map__fd(w->bpf->maps.files), file);
	/* Forget the mappings that the program knows. */
	__atomic_fetch_add(&w->bpf->bss->files_generation, 1, __ATOMIC_RELEASE);
}

void windows_drop_strip(struct windows *w, uint32_t slot, uint32_t number)
{
	struct wire_strip_key key = {slot, number};

	bpf_map_delete_elem(bpf_map__fd(w->bpf->maps.strips), &key);
}

void windows_drain(struct windows *w, const struct windows_taker *taker)
{
	w->taker = taker;
	ring_buffer__consume(w->ring);
}

void windows_count(const struct windows *w, struct wire_window_counters *ret)
{
	cpu_sums_read(bpf_map__fd(w->bpf->maps.windows_of_cpu), ret, sizeof(*ret));
}

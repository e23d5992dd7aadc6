/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EDGES_WINDOWS_H
#define CULPRIT_COLLECT_EDGES_WINDOWS_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include "bpf/wire.h"
#include "bpf/wire_edges.h"
#include "bpf/wire_values.h"
#include "util/diag.h"

/*
 * The interpreter of edge samples in the kernel: loading it, giving it files and decoded code,
 * draining the windows that it saw. bpf/wire_edges.h says what all this is. Knows nothing of images
 * or processes beyond the numbers of the wire.
 */
struct windows;

struct windows_config {
	uint32_t files;	 /* the most that can have a slot */
	uint32_t strips; /* the most that can be decoded */
	uint32_t micros; /* the most operations; 16 bytes each, and they are allocated at once */
	uint32_t ring_bytes;	  /* a power of two, at least a page */
	uint32_t pair_ring_bytes; /* likewise */
	const char *types; /* kernel_types.h; NULL: all of the kernel's; for windows_new only */
	bool with_tick;	   /* also a program for the tick's samples */
	bool with_values;  /* also the values of some instructions of each window */
};

/*
 * Loads the program, attached to nothing. -EOPNOTSUPP: the machine is not x86-64, or the kernel is
 * older than Linux 6.1 or does not take the program; with the reason.
 */
int windows_new(const struct windows_config *config, struct windows **ret, struct diag *diag);
/* The sampler must be gone, or the program taken out of it. */
void windows_free(struct windows *w);
const void *windows_object(size_t *ret_size); /* as sampler_object(); NULL: there is none */

/* The programs that follow windows and pairs, for sampler_set_follower(): on events, and on the
 * tick, -1 without one. */
int windows_program(const struct windows *w, enum wire_follower follower);
int windows_tick_program(const struct windows *w, enum wire_follower follower);

/* The operations: an array of as many as configured, to be written before a strip that uses it. */
struct wire_micro *windows_micros(struct windows *w);

/* 0 or -errno: -E2BIG when the table is full. */
int windows_put_file(struct windows *w, const struct wire_file *file, uint32_t slot);
int windows_put_strip(struct windows *w, uint32_t slot, uint32_t number,
		      const struct wire_strip *strip);
void windows_drop_file(struct windows *w, const struct wire_file *file);
void windows_drop_strip(struct windows *w, uint32_t slot, uint32_t number);

/* What is handed the records that came since the last call. Windows are checked: reason and edge
 * count are in their ranges. */
struct windows_taker {
	void (*window)(void *arg, const struct wire_window *window);
	void (*pair)(void *arg, const struct wire_pair *pair);
	void (*values)(void *arg, const struct wire_values *values); /* where configured */
	void *arg;
};

void windows_drain(struct windows *w, const struct windows_taker *taker);

/* Sums over all CPUs since the start. */
void windows_count(const struct windows *w, struct wire_window_counters *ret);

#endif

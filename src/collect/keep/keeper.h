/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_KEEP_KEEPER_H
#define CULPRIT_COLLECT_KEEP_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/cost/allowance.h"
#include "collect/keep/kept_cache.h"
#include "collect/process/process.h"
#include "db/counters.h"
#include "find/find.h"
#include "image/symbols.h"
#include "util/diag.h"
#include "util/identity.h"

/*
 * Keeps the symbols, the code and the lines of sampled images in the database while their files can
 * still be read, so that a report works when the process and even the file are gone. Works in a
 * thread of low priority, so that a large file never holds up the drain; what its queue cannot take
 * is counted and tried again at the next sample in a later batch.
 */
struct keeper;

/* machine: the directory's name in the database. Both are copied. NULL when out of memory. */
struct keeper *keeper_new(const char *db_path, const char *machine);
/* The processor time that its thread may take; borrowed; to be set before anything is wanted. */
void keeper_set_allowance(struct keeper *k, struct allowance *a);
/* The cache of what earlier recordings kept of files; taken over; NULL: there is none. */
void keeper_set_cache(struct keeper *k, struct kept_cache *cache);
/* Waits until everything asked for is kept, but not longer than a service manager waits: 20 s. */
void keeper_finish(struct keeper *k);
void keeper_free(struct keeper *k); /* does not wait for what is still queued */

/* An image with samples. m: a mapping of it in a process that may still live; NULL when it is not a
 * file. Cheap when it is known already. */
void keeper_want_image(struct keeper *k, const struct image_id *id, const char *path,
		       struct process *life, const struct mapping *m);
/* An image that stacks go through, which need not have samples; fd: of its file, stays the
 * caller's; -1: none. */
void keeper_want_file(struct keeper *k, const struct image_id *id, const char *path, int fd);
/*
 * What the functions at the addresses of an image add to what is kept: their source lines and, for
 * a large file, their code (find/find.h). To be called at a flush, of sampled addresses and
 * callers; of images that were wanted before, whose files are held open until then. Unless it is
 * the last flush (last), an image that took long lately is left out. keeper_wants_functions: cheap;
 * false where there is nothing to add.
 */
void keeper_want_functions(struct keeper *k, const struct image_id *id, const char *path,
			   const uint64_t *addresses, size_t count, bool last);
bool keeper_wants_functions(struct keeper *k, const struct image_id *id);
/* Code that a process made at run time: its perf map or jitdump file is read now, and again when
 * asked again. They are held open from the first sample on, as long as the life is known. */
void keeper_want_jit(struct keeper *k, const struct image_id *id, const struct process *life);

/*
 * Functions of scripts, beside those that the database has of them already. Takes over the symbols
 * and the list if it returns 0; -EAGAIN: the queue is full; -ENOMEM.
 */
struct keeper_script {
	struct image_id id;
	struct image_symbols *symbols;
};
int keeper_want_scripts(struct keeper *k, struct keeper_script *list, size_t count);
void keeper_free_scripts(struct keeper_script *list, size_t count);

struct keeper_counters {
	COUNTERS_OF_KEEPER(COUNTER_FIELD)
	struct image_finder_counts found;
	struct kept_cache_counters cache;
};
void keeper_read_counters(struct keeper *k, struct keeper_counters *ret);
/* Why the last of them could not be written. */
void keeper_read_trouble(struct keeper *k, struct diag *ret);
/* What could not be written may be asked for again: there may be room by now. */
void keeper_ask_again(struct keeper *k);
/* Whether something was removed from the database, as retention removes what no epoch refers to:
 * then all is asked for again when it is sampled again, at most once in KEEPER_FORGET_NS, since top
 * removes an epoch every few seconds; what was removed meanwhile counts at a later call. now_ns:
 * CLOCK_MONOTONIC. */
#define KEEPER_FORGET_NS 600000000000ull
void keeper_forget(struct keeper *k, bool removed, uint64_t now_ns);

#endif

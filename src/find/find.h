/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FIND_FIND_H
#define CULPRIT_FIND_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/counters.h"
#include "image/facts.h"
#include "image/layout.h"
#include "image/lines.h"
#include "image/range.h"
#include "image/symbols.h"
#include "image/worker/worker.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/identity.h"

/*
 * For reports: from an image's identity and the path it was last seen at to its symbols, lines and
 * code, wherever they still exist: what the database keeps, the file (only if it still has the
 * identity that was profiled), a separate debug file by build ID or debuglink, debuginfod when
 * DEBUGINFOD_URLS is set; and for the kernel, kallsyms, vmlinux, /proc/kcore or the running
 * kernel's memory. Symbols that are found are kept when the database may be written.
 */
struct image_finder;
struct kernel_ahead;

/* db_path and machine may be NULL: then nothing is cached. Both are copied. */
int image_finder_new(const char *db_path, const char *machine, struct image_finder **ret);
void image_finder_free(struct image_finder *f);
/* The running kernel's symbols are on their way (kernel_ahead.h): borrowed until f is freed. */
void image_finder_lend_kernel(struct image_finder *f, struct kernel_ahead *a);

/* Owned by the finder. -ENOENT, with the reason in diag, when nothing is known of the image. */
int image_find_symbols(struct image_finder *f, const struct image_id *id, const char *path,
		       const struct image_symbols **ret, struct diag *diag);
/* The function or, while the image's file is there, the variable or constant that has the address;
 * NULL when none is known. Owned by the finder. */
const struct image_function *image_find_name(struct image_finder *f, const struct image_id *id,
					     const char *path, uint64_t address);
/* image_lines_free() the result. Where no file has them, what a profile told (see below). */
int image_find_lines(struct image_finder *f, const struct image_id *id, const char *path,
		     const uint64_t *addresses, size_t count, struct image_lines **ret,
		     struct diag *diag);
/* The same for all addresses of the ranges (ascending, not overlapping), from the image's files
 * alone; as image_line_table_read(), with lines that are finished. image_line_table_free() it. */
int image_find_line_table(struct image_finder *f, const struct image_id *id, const char *path,
			  const struct image_range *ranges, size_t count,
			  struct image_line_table *ret, struct diag *diag);
/* free() the data. */
int image_find_code(struct image_finder *f, const struct image_id *id, const char *path,
		    uint64_t address, size_t size, uint8_t **ret_data, size_t *ret_size,
		    struct diag *diag);

/* image_layout_free() the result. For files only: -ENOENT for the kernel and for code made at run
 * time. It may not be whole: of a large file that is gone the database has only pieces. */
int image_find_layout(struct image_finder *f, const struct image_id *id, const char *path,
		      struct image_layout **ret, struct diag *diag);

/* The identity of the file that is at the path now, for what no sample told of. -EBADMSG: it is
 * not an ELF file. */
int image_find_identity(struct image_finder *f, const char *path, struct image_id *ret,
			struct diag *diag);

/* What kind of machine code it is (ELF's EM_... number, 32 or 64 bits): from what is kept of it, or
 * from its file while there is one, else this machine's. */
void image_find_machine(struct image_finder *f, const struct image_id *id, const char *path,
			uint16_t *ret_machine, unsigned *ret_bits);

/*
 * For collectors: makes sure that reports will find what they need when the file has changed or is
 * gone. path may be any name under which the file can be opened now (/proc/PID/map_files/...). 0
 * also when there is no database to keep it in.
 *
 * image_finder_keep: the symbols are kept, and all of the code and constants of a file that has at
 * most IMAGE_LAYOUT_KEPT_MAX_BYTES of them; to be called for an image when it is first sampled.
 * Keeps nothing in memory but that fact, so that a second call costs one look-up, even after a
 * failure. -EIO: they could not be written; a second call tries again.
 *
 * image_finder_keep_functions: the source lines of the functions that have the addresses and, for a
 * larger file, their code are kept beside what was there; to be called when it is known what was
 * sampled. What was asked for before is not looked at again. What the limits refuse is counted.
 *
 * image_finder_wants_functions: false when that could add nothing, so that the file is no longer
 * needed.
 */
struct image_kept_lines;
int image_finder_keep(struct image_finder *f, const struct image_id *id, const char *path,
		      struct diag *diag);
int image_finder_keep_functions(struct image_finder *f, const struct image_id *id, const char *path,
				const uint64_t *addresses, size_t count,
				struct image_kept_lines *known, struct diag *diag);
/* Another file claims to be the image and is to be believed over what was kept: forgets all that is
 * known of it. What image_find_... gave is gone. */
void image_finder_forget(struct image_finder *f, const struct image_id *id);
bool image_finder_wants_functions(struct image_finder *f, const struct image_id *id,
				  const char *path);

/*
 * What image_finder_keep kept of a file, as the blobs that it wrote, and what it learnt: for
 * keeping the same file in another database later.
 */
enum { IMAGE_KEPT_SYMBOLS, IMAGE_KEPT_CODE, IMAGE_KEPT_BLOBS };
struct image_kept {
	struct buf blobs[IMAGE_KEPT_BLOBS]; /* packed; empty: no code is kept of the kernel */
	uint16_t machine;
	uint8_t bits;
	bool in_pieces, without_lines;
};
void image_kept_init(struct image_kept *k);
void image_kept_free(struct image_kept *k);
/* image_finder_keep, returning in ret what it made anew, from the files of image_finder_open_files
 * or from what the kernel tells. False: it did not make all of it. */
bool image_finder_keep_new(struct image_finder *f, const struct image_id *id, const char *path,
			   struct image_kept *ret, int *ret_error);
/* Keeps k as image_finder_keep would. A negative errno: not kept, call image_finder_keep. */
int image_finder_adopt(struct image_finder *f, const struct image_id *id, const char *path,
		       const struct image_kept *k);
/*
 * The same for source lines: for which functions of a file they were asked for, and what the files
 * told of them. image_finder_keep_functions takes what is there (known; NULL: nothing), reads the
 * rest, and adds it. image_finder_wants_lines: whether it would look; false where all of these
 * addresses were asked for, or the file has no lines.
 */
struct image_kept_lines {
	struct image_range *asked; /* ascending, not overlapping */
	size_t asked_count;
	uint64_t readings; /* of the files */
	struct buf packed; /* a blob of a line table; empty: none of them has lines */
	bool is_new;	   /* something was added */
};
void image_kept_lines_init(struct image_kept_lines *k);
void image_kept_lines_free(struct image_kept_lines *k);
bool image_finder_wants_lines(struct image_finder *f, const struct image_id *id, const char *path,
			      const uint64_t *addresses, size_t count);
/* Descriptors of the files that symbols are read from: the file, its debug file or -1. -ENOENT: no
 * file. */
int image_finder_open_files(struct image_finder *f, const struct image_id *id, const char *path,
			    int ret_fds[2]);

/*
 * For imports: what a profile of another tool says of an image, kept beside what earlier ones said.
 * It counts while no file tells. Symbols: neighbours of one name are one function. Lines:
 * addresses ascending, each once, lines[i] for the i-th; lines is taken over. Does nothing where
 * something better is known already.
 */
int image_finder_tell_symbols(struct image_finder *f, const struct image_id *id,
			      const struct image_symbol *list, size_t count, struct diag *diag);
int image_finder_tell_lines(struct image_finder *f, const struct image_id *id,
			    const uint64_t *addresses, size_t count, struct image_lines *lines,
			    struct diag *diag);

struct image_finder_counts {
	COUNTERS_OF_FINDER(COUNTER_FIELD)
};
struct image_finder_counts image_finder_counts(const struct image_finder *f);
/* Why the last blob that failed could not be written, "" when none failed. */
const char *image_finder_keep_why(const struct image_finder *f);

/* Where separate debug files are looked for; "/usr/lib/debug" by default. */
int image_finder_set_debug_root(struct image_finder *f, const char *path);
/*
 * For repeated looks at a running system: takes from the cache what has been added since: symbols
 * that could not be found before, and those of code made at run time. Symbols of such code that
 * were given out are gone then.
 */
void image_finder_refresh(struct image_finder *f);
/* As image_worker_cpu_ns. */
uint64_t image_finder_cpu_ns(struct image_finder *f);
/* Ends the worker process, to give memory back; everything else is kept. */
void image_finder_idle(struct image_finder *f);

#endif

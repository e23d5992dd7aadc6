/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_FIND_H
#define CULPRIT_IMAGE_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/facts.h"
#include "image/layout.h"
#include "image/lines.h"
#include "image/symbols.h"
#include "image/worker.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/identity.h"

/*
 * For reports: from an image's identity and the path it was last seen at to its symbols, lines and
 * code, wherever they still are: what the database keeps, the file (only if its identity still is
 * the one that was profiled), a separate debug file by build-id or debuglink, debuginfod when
 * DEBUGINFOD_URLS is set; for the kernel kallsyms, vmlinux, /proc/kcore or the running kernel's
 * memory. Symbols that are found are kept when the database may be written.
 */
struct image_finder;
struct kernel_ahead;

/* db_path and machine may be NULL: then nothing is cached. Both are copied. */
int image_finder_new(const char *db_path, const char *machine, struct image_finder **ret);
void image_finder_free(struct image_finder *f);
/* The running kernel's symbols are on their way (kernel_ahead.h): borrowed until the finder is
 * freed. */
void image_finder_lend_kernel(struct image_finder *f, struct kernel_ahead *a);

/* Owned by the finder. -ENOENT, with the reason in diag, when nothing is known of the image. */
int image_find_symbols(struct image_finder *f, const struct image_id *id, const char *path,
		       const struct image_symbols **ret, struct diag *diag);
/* image_lines_free() the result. Where no file tells, what a profile told (see below). */
int image_find_lines(struct image_finder *f, const struct image_id *id, const char *path,
		     const uint64_t *addresses, size_t count, struct image_lines **ret,
		     struct diag *diag);
/* free() the data. */
int image_find_code(struct image_finder *f, const struct image_id *id, const char *path,
		    uint64_t address, size_t size, uint8_t **ret_data, size_t *ret_size,
		    struct diag *diag);

/* image_layout_free() the result. Of files only: -ENOENT for the kernel and for code made at run
 * time. It may not be whole: of a large file that is gone the database has pieces. */
int image_find_layout(struct image_finder *f, const struct image_id *id, const char *path,
		      struct image_layout **ret, struct diag *diag);

/* What kind of machine code it is (ELF's EM_... number, 32 or 64 bits): of what is kept of it, or
 * of its file while there is one, else this machine's. */
void image_find_machine(struct image_finder *f, const struct image_id *id, const char *path,
			uint16_t *ret_machine, unsigned *ret_bits);

/*
 * For who collects: makes sure that reports will find what they need when the file is another or
 * gone. path may be any name under which the file can be opened now (/proc/PID/map_files/...). 0
 * also when there is no database to keep it in.
 *
 * image_finder_keep: the symbols are kept, and all of the code and constants of a file that has at
 * most IMAGE_LAYOUT_KEPT_MAX_BYTES of them; to be called for an image when it is first sampled.
 * Keeps nothing in memory but the fact, so that a second call costs one look-up, also after a
 * failure. -EIO: they could not be written; a second call tries it again.
 *
 * image_finder_keep_functions: of the functions that have the addresses, the source lines and, of a
 * larger file, the code are kept beside what was there; to be called when it is known what was
 * sampled. What was asked for once is not looked at again. What the limits refuse is counted.
 *
 * image_finder_wants_functions: false when that could add nothing, and the file is needed no more.
 */
int image_finder_keep(struct image_finder *f, const struct image_id *id, const char *path,
		      struct diag *diag);
int image_finder_keep_functions(struct image_finder *f, const struct image_id *id, const char *path,
				const uint64_t *addresses, size_t count, struct diag *diag);
bool image_finder_wants_functions(struct image_finder *f, const struct image_id *id,
				  const char *path);

/*
 * What image_finder_keep kept of a file, as the blobs that it wrote, and what it learnt: for who
 * keeps the same file in another database later.
 */
enum { IMAGE_KEPT_SYMBOLS, IMAGE_KEPT_CODE, IMAGE_KEPT_BLOBS };
struct image_kept {
	struct buf blobs[IMAGE_KEPT_BLOBS]; /* packed */
	uint16_t machine;
	uint8_t bits;
	bool in_pieces, without_lines;
};
void image_kept_init(struct image_kept *k);
void image_kept_free(struct image_kept *k);
/* image_finder_keep, and what of it was made anew, of the files of image_finder_open_files. False:
 * not both blobs were. */
bool image_finder_keep_new(struct image_finder *f, const struct image_id *id, const char *path,
			   struct image_kept *ret, int *ret_error);
/* As image_finder_keep would keep it. A negative errno: it does not, and is to be called instead.
 */
int image_finder_adopt(struct image_finder *f, const struct image_id *id, const char *path,
		       const struct image_kept *k);
/* Descriptors of what symbols are read from: the file, and its debug file or -1. -ENOENT: it is no
 * file. */
int image_finder_open_files(struct image_finder *f, const struct image_id *id, const char *path,
			    int ret_fds[2]);

/*
 * For imports: what a profile of another tool says of an image, kept beside what earlier ones said.
 * It counts while no file tells. Symbols: neighbours of one name are one function. Lines: addresses
 * rising, each once, lines[i] of the i-th; lines is taken over. Silent where something better is
 * known already.
 */
int image_finder_tell_symbols(struct image_finder *f, const struct image_id *id,
			      const struct image_symbol *list, size_t count, struct diag *diag);
int image_finder_tell_lines(struct image_finder *f, const struct image_id *id,
			    const uint64_t *addresses, size_t count, struct image_lines *lines,
			    struct diag *diag);

struct image_finder_counts {
	uint64_t symbols_kept, code_kept, lines_kept; /* blobs written */
	uint64_t code_refused, lines_refused;	      /* there was more than is kept, or no room */
	uint64_t keep_failed;			      /* blobs that could not be written */
	uint64_t damaged; /* blobs that could not be read: made anew, or left out */
};
struct image_finder_counts image_finder_counts(const struct image_finder *f);
/* Why the last blob could not be written, "" when each could. */
const char *image_finder_keep_why(const struct image_finder *f);

/* Where separate debug files are looked for; "/usr/lib/debug" by default. */
int image_finder_set_debug_root(struct image_finder *f, const char *path);
/*
 * For a look at a running system again and again: takes from the cache what has come into it since
 * - symbols that could not be found before, and those of code that is made at run time. Symbols of
 * such code that were given out are gone then.
 */
void image_finder_refresh(struct image_finder *f);
/* As image_worker_cpu_ns. */
uint64_t image_finder_cpu_ns(struct image_finder *f);
/* Ends the worker process, to give memory back; everything else is kept. */
void image_finder_idle(struct image_finder *f);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FIND_FINDER_H
#define CULPRIT_FIND_FINDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "find/find.h"
#include "image/kernel/kernel.h"
#include "util/hash.h"

/* The internals of struct image_finder; for the find*.c files only. Each file uses those above it:
 * finder.c, find_claims.c, find_cache.c, find_file.c, find.c, find_lines.c, find_keep.c. */

#define FINDER_IMAGES_MAX 65536
/* The most of a blob, and of a file: what was read from the latter fits into the former. */
#define FINDER_SYMBOLS_BYTES (256u << 20)
#define FINDER_READ_BYTES    (FINDER_SYMBOLS_BYTES / 2)

/* A file whose identity was checked; opened again for each use, as there may be thousands. */
struct found_file {
	bool tried;
	char *path; /* NULL: not found, and error and why say so */
	int error;
	bool claimed; /* others than root and our user could write it */
	bool linked;  /* of a debug file: the image was available, so its link was followed too */
	struct stat stat;
	uint16_t machine; /* ELF's EM_... */
	unsigned bits;
	struct diag why;
};

/* What is known of one image. */
struct found_image {
	struct image_id id;
	char *path; /* the last that was given */
	struct found_file file, debug;
	bool symbols_tried;
	struct image_symbols *symbols;
	int symbols_error;
	struct diag symbols_why;
	bool data_tried;
	struct image_symbols *data; /* of variables and constants; NULL: none, or not asked for */
	bool code_tried;	    /* the cache */
	int code_error;		    /* of the cache */
	struct image_layout *code;  /* kept; NULL: none, or not asked for */
	bool machine_tried;
	uint16_t machine; /* ELF's EM_... */
	unsigned bits;	  /* 0: not known */
	bool kept;
	int keep_error;
	/* Whether what is kept of a file that others could write counts: find_claims.c. */
	enum { CLAIMS_UNASKED, CLAIMS_COUNT, CLAIMS_DO_NOT } claims;
	bool in_pieces;		   /* code is kept by function, as wanted */
	bool without_lines;	   /* its files have none, or none that could be read */
	struct image_range *asked; /* functions that were wanted, ascending */
	size_t asked_count;
};

struct image_finder {
	char *db_path, *machine, *debug_root;
	bool keeps; /* keeps things for when files are gone: what it saves must outlive a crash */
	struct image_kept
		*kept; /* borrowed: takes copies of what is kept; NULL: nobody wants them */
	struct image_worker *worker;
	struct intern *ids; /* the number of an id is its index in images */
	struct found_image **images;
	size_t image_count, image_room;
	struct kernel_ahead *kernel_ahead; /* borrowed, NULL: none */
	struct image_kernel *kernel;
	bool kernel_tried;
	struct diag kernel_why;
	int vdso_fd; /* a copy of this process's vDSO; -1: not made yet, or impossible */
	struct debuginfod *remote;
	struct image_finder_counts counts;
	struct diag keep_why; /* of the last blob that could not be written */
};

/* finder.c: the image's entry, created if new. 0, -ENOMEM, -ENOSPC. */
int finder_image(struct image_finder *f, const struct image_id *id, const char *path,
		 struct found_image **ret, struct diag *diag);
/* Whether the image has a file, with code and lines. */
bool finder_has_file(const struct image_id *id);
/* Whether all readers of the database could read the file too, or it is our own. */
bool finder_is_for_all(const struct stat *st);
/* Whether a profile told them, not a file. */
bool finder_is_told(const struct image_symbols *s);
#define FINDER_TOLD "import" /* their source */

/*
 * find_file.c: a descriptor of the image's file, or of its separate debug file, with the content
 * that was profiled. Negative errno with the reason in diag. image_fd: the former, or -1.
 */
int finder_open_file(struct image_finder *f, struct found_image *im, struct diag *diag);
int finder_open_debug(struct image_finder *f, struct found_image *im, int image_fd,
		      struct diag *diag);
/* Before keeping: the image's claims count if its file is one that others could write, whatever is
 * kept. */
void finder_meet_file(struct image_finder *f, struct found_image *im);
/* False: its file is now not of the kind (claimed or not) of which its parts are kept. */
bool finder_has_met(struct image_finder *f, struct found_image *im);

/* Cheap: true when a debug file may be found now that was not there when the cache was filled. */
bool finder_may_have_debug(const struct image_finder *f, const struct image_id *id);

/* find_kernel.c */
int finder_kernel_symbols(struct image_finder *f, struct found_image *im,
			  struct image_symbols **ret, struct diag *diag);
int finder_kernel_code(struct image_finder *f, struct found_image *im, uint64_t address,
		       size_t size, uint8_t **ret_data, size_t *ret_size, struct diag *diag);
/* Places where the kernel's own file may be: calls f until it returns other than -ENOENT. */
int finder_each_vmlinux(const char *debug_root, int (*f)(void *arg, const char *path), void *arg);
/* A descriptor (the finder's) of a copy of the running vDSO, or a negative errno. */
int finder_vdso(struct image_finder *f);

/*
 * find_claims.c: whether a claim counts: what is told by, or kept of, a file that others than root
 * and our user could write. It does not where something is kept of a file that they could not
 * write.
 */
bool finder_counts_claims(struct image_finder *f, const struct image_id *id);
/* What is kept of exactly that kind, claimed or not. What another machine of the database kept of
 * the same build is as good to read. To keep something it does not count (own_only): it goes with
 * that machine's epochs. */
int finder_read_blob(struct image_finder *f, const struct image_id *id, const char *kind,
		     bool own_only, size_t max_bytes, void **ret_data, size_t *ret_size);
int finder_load_kind(struct image_finder *f, const struct image_id *id, const char *kind,
		     struct image_symbols **ret);
/* The kind under which a claim is kept, and the one under which what the image's files say is kept.
 */
#define FINDER_KIND_MAX 32
const char *finder_claimed_kind(const char *kind, char ret[FINDER_KIND_MAX]);
const char *finder_saved_kind(const struct image_finder *f, const struct image_id *id,
			      const char *kind, char ret[FINDER_KIND_MAX]);

/* find_cache.c: the blobs. Loading gives -ENOENT when there is none. Saving fails silently, but is
 * counted. */
int finder_load_symbols(struct image_finder *f, const struct image_id *id,
			struct image_symbols **ret);
void finder_save_symbols(struct image_finder *f, const struct image_id *id,
			 const struct image_symbols *s);
/* Fails with err and the reason why, preceded by a note that what the cache has is damaged if
 * cache_err says so (kept: "symbols are"). */
int finder_fail(struct diag *diag, int err, const struct diag *why, int cache_err,
		const char *kept);
/* image_layout_free() the result. own_only: not what another machine kept. */
int finder_load_code(struct image_finder *f, const struct image_id *id, bool own_only,
		     struct image_layout **ret);
/* Without its pieces, whatever their number: cheap. */
int finder_peek_code(struct image_finder *f, const struct image_id *id, bool own_only,
		     uint16_t *ret_machine, unsigned *ret_bits, bool *ret_whole);
/* -ENOSPC: its lists are too long, or the disk is nearly full. */
int finder_save_code(struct image_finder *f, const struct image_id *id,
		     const struct image_layout *l);
int finder_save_blob(struct image_finder *f, const struct image_id *id, const char *kind,
		     const struct buf *b);

/* Writes what is kept of an image as it is. -EEXIST: there is something already; -ENOSPC: the disk
 * is nearly full. */
int finder_place(struct image_finder *f, const struct image_id *id, const struct image_kept *k);

/* Line tables: of kind "lines", from debug information, or "told". */
int finder_load_lines(struct image_finder *f, const struct image_id *id, const char *kind,
		      bool own_only, struct image_line_table *ret);
/* -EFBIG: they are too many, or the disk is nearly full. */
int finder_save_lines(struct image_finder *f, const struct image_id *id, const char *kind,
		      const struct image_line_table *t);

/* The blob of a table of kind "lines", as it is; fails as finder_save_lines does. */
int finder_place_lines(struct image_finder *f, const struct image_id *id, const struct buf *packed);
/* Whether that blob is the one that is there. */
bool finder_has_lines(struct image_finder *f, const struct image_id *id, const struct buf *packed);

/* find_lines.c: of the functions at the ranges, from the image's files. -ENOENT: they have none. */
int finder_read_line_table(struct image_finder *f, struct found_image *im,
			   const struct image_range *ranges, size_t count,
			   struct image_line_table *ret, struct diag *diag);

/*
 * find_kept_lines.c: adds to what the database has of an image's lines those of the functions at
 * the ranges (ascending; the list is used up), from what is known (NULL: nothing) or else from its
 * files.
 */
int finder_keep_lines(struct image_finder *f, struct found_image *im, struct image_range *list,
		      size_t count, struct image_kept_lines *known);
/* Adds ranges to others; both are ascending and do not overlap. -ENOMEM. */
int finder_add_ranges(struct image_range **all, size_t *all_count, const struct image_range *list,
		      size_t count);
bool finder_has_range(const struct image_range *list, size_t count, uint64_t address);

/*
 * find_remote.c: a client of debuginfod servers. Its library is loaded when $DEBUGINFOD_URLS is
 * set, not before: it pulls in many others. A descriptor, or a negative errno.
 */
struct debuginfod;
int debuginfod_fetch(struct debuginfod **client, const struct image_id *id, bool debug,
		     char **ret_path, struct diag *diag);
void debuginfod_close(struct debuginfod *client);

#endif

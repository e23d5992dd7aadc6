/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_FINDER_H
#define CULPRIT_IMAGE_FINDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "image/find.h"
#include "image/kernel.h"
#include "util/hash.h"

/* What is behind struct image_finder; for the find*.c files only. */

#define FINDER_IMAGES_MAX 65536
/* Of a blob, and of a file: what was read of one has room in the other. */
#define FINDER_SYMBOLS_BYTES (256u << 20)
#define FINDER_READ_BYTES    (FINDER_SYMBOLS_BYTES / 2)

/* A file whose identity was checked; opened anew for each use, as there may be thousands. */
struct found_file {
	bool tried;
	char *path; /* NULL: not found, and error and why say so */
	int error;
	bool linked; /* of a debug file: the image was at hand, so its link was followed too */
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
	bool code_tried;	   /* the cache */
	int code_error;		   /* of the cache */
	struct image_layout *code; /* kept; NULL: none, or not asked for */
	bool machine_tried;
	uint16_t machine; /* ELF's EM_... */
	unsigned bits;	  /* 0: not known */
	bool kept;
	int keep_error;
	bool in_pieces;		   /* of the code functions are kept, as they are wanted */
	bool without_lines;	   /* its files have none, or nothing that could be read */
	struct image_range *asked; /* functions that were wanted, rising */
	size_t asked_count;
};

struct image_finder {
	char *db_path, *machine, *debug_root;
	bool keeps; /* for when files are gone: what it saves must outlive a crash */
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

/* The image's entry, made when it is new. 0, -ENOMEM, -ENOSPC. */
int finder_image(struct image_finder *f, const struct image_id *id, const char *path,
		 struct found_image **ret, struct diag *diag);
/* True when both ids are of the same bytes: a kernel's build-id and that of its vmlinux. */
bool finder_same_content(const struct image_id *a, const struct image_id *b);

/*
 * find_file.c: a descriptor of the image's file, or of its separate debug file, whose content is
 * the one that was profiled. Negative errno with the reason in diag. image_fd: the former, or -1.
 */
int finder_open_file(struct image_finder *f, struct found_image *im, struct diag *diag);
int finder_open_debug(struct image_finder *f, struct found_image *im, int image_fd,
		      struct diag *diag);

/* Cheap: true when a debug file may be found that was not there when the cache was filled. */
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

/* find_cache.c: the blobs. Loading -ENOENT: there is none. Saving is silent, and counted. */
int finder_load_symbols(struct image_finder *f, const struct image_id *id,
			struct image_symbols **ret);
void finder_save_symbols(struct image_finder *f, const struct image_id *id,
			 const struct image_symbols *s);
bool finder_has_symbols(struct image_finder *f, const struct image_id *id);
/* Fails with err, for the reason why; before it stands that what the cache has is damaged, if
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

/* Puts what is kept of an image there as it is. -EEXIST: there is something; -ENOSPC: the disk is
 * nearly full. */
int finder_place(struct image_finder *f, const struct image_id *id, const struct image_kept *k);

/* Line tables: of kind "lines", from debug information, or "told". */
int finder_load_lines(struct image_finder *f, const struct image_id *id, const char *kind,
		      bool own_only, struct image_line_table *ret);
/* -EFBIG: they are too many, or the disk is nearly full. */
int finder_save_lines(struct image_finder *f, const struct image_id *id, const char *kind,
		      const struct image_line_table *t);

/* find_lines.c: of the functions at the ranges, from the image's files. -ENOENT: they have none. */
int finder_read_line_table(struct image_finder *f, struct found_image *im,
			   const struct image_range *ranges, size_t count,
			   struct image_line_table *ret);

/* find_told.c: what a profile told, and no file. */
bool finder_is_told(const struct image_symbols *s);

/*
 * find_remote.c: a client of debuginfod servers. Its library is loaded when $DEBUGINFOD_URLS is
 * set, not before: it brings many others. A descriptor, or a negative errno.
 */
struct debuginfod;
int debuginfod_fetch(struct debuginfod **client, const struct image_id *id, bool debug,
		     char **ret_path, struct diag *diag);
void debuginfod_close(struct debuginfod *client);

#endif

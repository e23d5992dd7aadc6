/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_SYMBOLS_H
#define CULPRIT_IMAGE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"
#include "util/diag.h"

/*
 * The functions of an image, sorted by address, not overlapping. Sources, best first: .symtab of
 * the image or of its separate debug file, .gnu_debugdata, .dynsym, then function starts from
 * .eh_frame, and from the code itself where that has none, for what none of them names
 * ("FUN_401230": one row per function, never one per address).
 */
struct image_symbols;

struct image_function {
	uint64_t start, size;
	const char *name;      /* as in the file */
	const char *demangled; /* C++ and Rust; the same as name for other functions */
	uint8_t named;	       /* 0: the start is from .eh_frame or the code, the name is made up */
	uint8_t local;	       /* 1: known not to be global: others may have the same name */
};

void image_symbols_free(struct image_symbols *s);
/* The function that has address, NULL when none does. Owned by s. Names are demangled on first use,
 * so one set is for one thread. */
const struct image_function *image_symbols_find(const struct image_symbols *s, uint64_t address);
/* The function by index, in ascending order of address. */
size_t image_symbols_count(const struct image_symbols *s);
const struct image_function *image_symbols_at(const struct image_symbols *s, size_t index);
/* Where they came from, for the reader: "symtab", "debug file", "mini debug info", ... */
const char *image_symbols_source(const struct image_symbols *s);
/* How many symbols are there without their names, which were past the limits. */
uint64_t image_symbols_names_refused(const struct image_symbols *s);

/* The compact form, kept in the database (db/blob.h, kind "symbols") and sent by the worker. */
int image_symbols_save(const struct image_symbols *s, struct buf *out);
/* -EBADMSG when the bytes are not such a form. Safe on hostile bytes. */
int image_symbols_load(const void *data, size_t size, struct image_symbols **ret,
		       struct diag *diag);

/*
 * Reads them from ELF: fd is the image, debug_fd its separate debug file or -1. Foreign format:
 * privileged callers go through image/worker/worker.h. At most max_bytes of names and tables.
 */
int image_symbols_read(int fd, int debug_fd, size_t max_bytes, struct image_symbols **ret,
		       struct diag *diag);

/* The same for data: what symbol tables say of variables and constants. */
int image_data_symbols_read(int fd, int debug_fd, size_t max_bytes, struct image_symbols **ret,
			    struct diag *diag);

struct image_symbol {
	uint64_t start, size;
	const char *name;
};
/*
 * From (address, size, name) triples in any order: kallsyms, perf maps, jitdump. size 0: up to the
 * next symbol (the last: to the end of its 4 KiB page). Of several at one address one with a size
 * is taken, the later in the list first (code made later replaces older); of several without a
 * size the most public name. Where functions overlap, the one that starts later takes over.
 * source is static. The names are copied. -ENOMEM; -EFBIG past 2^31 bytes of names.
 */
int image_symbols_build(const struct image_symbol *list, size_t count, const char *source,
			struct image_symbols **ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_IMAGE_H
#define CULPRIT_CFG_IMAGE_H

#include "cfg/cfg.h"
#include "image/layout.h"
#include "isa/memo.h"
#include "util/hash.h"

/* What is behind struct cfg_image; for the files of src/cfg that build graphs only. */

/* A source that was made from a file or from the kernel, with all that it points to. */
struct cfg_owned {
	struct cfg_source source;
	struct cfg_bytes *code, *data;
	struct cfg_extent *extents;
	struct image_layout *layout;
	uint8_t *memory; /* the kernel's code */
	char *names;	 /* of symbols */
};

/* Where functions are: sorted, disjoint, not empty. */
struct cfg_place {
	uint64_t start, end;
	const char *name; /* or NULL */
	bool exact;	  /* the end is known, not just the start of the next */
	bool part;	  /* not a function's start */
	uint32_t owner;	  /* of a part: the place that it is known to belong to, else UINT32_MAX */
};

struct cfg_image {
	const struct cfg_source *source;
	struct cfg_owned owned; /* when the image owns the source */
	struct isa_decoder *decoder;
	struct isa_memo *memo; /* of what searches for jump tables decode again and again */
	struct cfg_place *places;
	size_t place_count;
	uint64_t *extra; /* entries that only calls tell of */
	size_t extra_count, extra_room;
	struct map64 *extra_known;
	struct map64 *returns;	 /* entry -> enum cfg_returning */
	struct map64 *functions; /* entry -> index in built */
	struct cfg_function **built;
	size_t built_count, built_room;
	struct cfg_builder *builder;
	uint64_t *references; /* sorted; cfg_next_reference() */
	size_t reference_count;
	bool references_made, owners_made;
	uint64_t foreign_budget; /* instructions that functions may still share with others */
};

/* The most functions of an image: more are not told apart. */
#define CFG_FUNCTIONS_MAX (16u << 20)

/* Frees what a source points to. (factory.c) */
void cfg_owned_free(struct cfg_owned *o);
/* True for what was split off a function: by its frame, or its name. */
bool cfg_place_is_part(const struct cfg_place *place);
/*
 * Finds out of which function each part was split off: the one that jumps there. (references.c)
 */
void cfg_find_owners(struct cfg_image *image);
/* The place that has the address, NULL when none does. */
const struct cfg_place *cfg_place_at(const struct cfg_image *image, uint64_t address);
/* size bytes of constant data, NULL when they are not available. */
const uint8_t *cfg_data_at(const struct cfg_image *image, uint64_t address, size_t size);
/* The name of the other image's function behind a word, or behind a PLT entry; NULL: none. */
const char *cfg_external_word(const struct cfg_image *image, uint64_t address);
const char *cfg_external_entry(const struct cfg_image *image, uint64_t address);
/*
 * The lowest address above address of which any code of the image takes the address by lea: where
 * the object at address ends at the latest. UINT64_MAX: none. (references.c)
 */
uint64_t cfg_next_reference(struct cfg_image *image, uint64_t address);
/* Makes an entry that a call tells of known. Refused past the maximum. */
int cfg_image_add_entry(struct cfg_image *image, uint64_t entry);

/* True for what is known never to return, by its name (exit, __cxa_throw, ...). */
bool cfg_name_never_returns(const char *name);
/* True when b is the name of a part of the function a: "a.cold", "a.cold.1", "a.part"... */
bool cfg_name_is_part_of(const char *part, const char *whole);
/* The kernel's stand-ins for indirect calls and jumps: retpolines. */
bool cfg_name_is_indirect(const char *name);
/* The kernel's stand-in for a return instruction. */
bool cfg_name_is_return(const char *name);

/*
 * Whether the function at entry may return; false is proven: no path from its entry leads to a
 * return, given what its callees do. (returns.c)
 */
bool cfg_may_return(struct cfg_image *image, uint64_t entry);

#endif

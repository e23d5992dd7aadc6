/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_IMAGE_H
#define CULPRIT_CFG_IMAGE_H

#include "cfg/cfg.h"
#include "image/layout.h"
#include "isa/memo.h"
#include "util/hash.h"

/* The inside of struct cfg_image, for those files of src/cfg that build graphs. */

/* A source made from a file or from the kernel, with everything that it points to. */
struct cfg_owned {
	struct cfg_source source;
	struct cfg_bytes *code, *data;
	struct cfg_extent *extents;
	struct image_layout *layout;
	uint8_t *memory; /* the kernel's code */
	char *names;	 /* of symbols */
};

/* Where functions are: ascending, disjoint, not empty. */
struct cfg_place {
	uint64_t start, end;
	const char *name; /* or NULL */
	bool exact;	  /* the end is known; else it is the start of the next one */
	bool part;	  /* not a function's start */
	uint32_t owner;	  /* of a part: index of the place it belongs to; UINT32_MAX: unknown */
};

struct cfg_image {
	const struct cfg_source *source;
	struct cfg_owned owned; /* used if the image owns its source */
	struct isa_decoder *decoder;
	struct isa_memo *memo; /* for searches for jump tables, which decode code repeatedly */
	struct cfg_place *places;
	size_t place_count;
	uint64_t *extra; /* entries known from calls only */
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
	uint64_t foreign_budget; /* instructions that functions may yet share with others */
};

/* The maximum number of an image's functions: more are not told apart. */
#define CFG_FUNCTIONS_MAX (16u << 20)

/* Frees everything that an owned source points to. (factory.c) */
void cfg_owned_free(struct cfg_owned *o);
/* Whether the place was split off a function, by its frame or its name. */
bool cfg_place_is_part(const struct cfg_place *place);
/* Finds the function that each part was split off: the one that jumps there. (references.c) */
void cfg_find_owners(struct cfg_image *image);
/* The place that has the address, or NULL. */
const struct cfg_place *cfg_place_at(const struct cfg_image *image, uint64_t address);
/* size bytes of constant data at the address, or NULL if not all of them are available. */
const uint8_t *cfg_data_at(const struct cfg_image *image, uint64_t address, size_t size);
/* The name of another image's function that a word (a slot of the GOT) or a PLT entry stands for;
 * NULL: none. */
const char *cfg_external_word(const struct cfg_image *image, uint64_t address);
const char *cfg_external_entry(const struct cfg_image *image, uint64_t address);
/*
 * The lowest address above address that any code of the image takes by lea: the object at address
 * ends there at the latest. UINT64_MAX: none. (references.c)
 */
uint64_t cfg_next_reference(struct cfg_image *image, uint64_t address);
/* Adds an entry known from a call. 0 or a negative errno; ignored past CFG_FUNCTIONS_MAX. */
int cfg_image_add_entry(struct cfg_image *image, uint64_t entry);

/* Whether a function of this name (exit, __cxa_throw, ...) is known never to return. */
bool cfg_name_never_returns(const char *name);
/* Whether part names the cold part of the function whole: it is whole, then ".cold", then
 * anything. */
bool cfg_name_is_part_of(const char *part, const char *whole);
/* Whether it is one of the kernel's thunks for indirect calls and jumps (retpolines). */
bool cfg_name_is_indirect(const char *name);
/* Whether it is the kernel's thunk for returns. */
bool cfg_name_is_return(const char *name);

/*
 * Whether the function at entry may return. False is proven: given what its callees do, no path
 * from its entry leads to a return. (returns.c)
 */
bool cfg_may_return(struct cfg_image *image, uint64_t entry);

#endif

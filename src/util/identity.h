/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_IDENTITY_H
#define CULPRIT_UTIL_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The names of the data model that all folders share: how images, events and subjects are
 * identified, whatever way they were found.
 */

enum image_kind {
	IMAGE_BUILD_ID = 1, /* id is the build ID; offsets are ELF virtual addresses */
	IMAGE_CONTENT,	    /* no build ID: id is a hash of the content; offsets as above */
	IMAGE_FILE_OFFSET,  /* the file could not be read: offsets are file offsets */
	IMAGE_KERNEL, /* id is the kernel's build ID; addresses as linked, without the slide */
	IMAGE_MODULE, /* id is the module's build ID; offsets from the start of its .text */
	IMAGE_VDSO,
	IMAGE_BPF,     /* a kernel BPF program or trampoline, id is a hash of its tagged name */
	IMAGE_JIT,     /* code made at run time by one process, id is a hash of that process */
	IMAGE_UNKNOWN, /* samples outside of all known mappings; the offset is the PC */
	IMAGE_NOTE, /* no code: stands in a stack for frames that are missing; the path says why */
	IMAGE_SCRIPT, /* source run by an interpreter (image/script.h), id is a hash of its path */
};

#define IMAGE_ID_MAX 20

/* What identifies an image's content. Compared and hashed as a whole: unused bytes must be zero. */
struct image_id {
	uint8_t kind; /* enum image_kind */
	uint8_t size; /* used bytes, 0 to IMAGE_ID_MAX; a longer build ID is truncated */
	uint8_t bytes[IMAGE_ID_MAX];
};

/* "b1946ac9..." with a prefix for kinds other than a build ID ("content-", "jit-", ...). */
#define IMAGE_ID_TEXT_MAX (16 + 2 * IMAGE_ID_MAX)
void image_id_format(const struct image_id *id, char out[IMAGE_ID_TEXT_MAX]);
int image_id_parse(const char *text, struct image_id *ret); /* 0 or -EINVAL */
/* Whether it is the kernel or one of its modules: no file holds their code as it runs, and part of
 * the kernel's time is idle time. */
bool image_id_is_kernel(const struct image_id *id);

/*
 * A subject is what a sample is charged to besides its image, as a canonical string of key-value
 * pairs (sorted by key; each is a varint size and the key, a varint size and the value). Keys in
 * use: comm, thread, cgroup, container, pid (on request), and label.NAME for labels set by users.
 */
#define SUBJECT_MAX_BYTES 4096
#define SUBJECT_MAX_PAIRS 64

struct subject_pair {
	const char *key, *value; /* not terminated */
	size_t key_size, value_size;
};

/*
 * Sorts the pairs and writes the canonical form to out, which has room bytes. Returns its size,
 * -EINVAL for a repeated or empty key, or -EFBIG when it does not fit.
 */
long subject_build(struct subject_pair *pairs, size_t count, void *out, size_t room);
/* Steps through a canonical string: *at must be 0 at first. False at the end. */
bool subject_next(const void *subject, size_t size, size_t *at, struct subject_pair *ret);
/* The value of a key, without a terminator; NULL when the key is absent. */
const char *subject_get(const void *subject, size_t size, const char *key, size_t *ret_size);
/* Whether the key is one that subjects may have: one of SUBJECT_KEYS. */
bool subject_has_key(const char *key, size_t size);
#define SUBJECT_KEYS "comm, thread, cgroup, container, pid or label.NAME"

#endif

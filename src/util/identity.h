/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_IDENTITY_H
#define CULPRIT_UTIL_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The names of the data model that every room shares: what an image, an event and a subject is
 * called, without how it was found.
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
	IMAGE_UNKNOWN, /* samples that no mapping explains, kept all the same; offset is the PC */
	IMAGE_NOTE,    /* no code: what is known of a stack instead of frames; the path says it */
	IMAGE_SCRIPT,  /* source that an interpreter runs: image/script.h; id: hash of its path */
};

#define IMAGE_ID_MAX 20

/* What identifies an image's content. Compared and hashed as bytes: unused bytes are zero. */
struct image_id {
	uint8_t kind; /* enum image_kind */
	uint8_t size; /* of bytes, 0 to IMAGE_ID_MAX; a longer build ID is cut */
	uint8_t bytes[IMAGE_ID_MAX];
};

/* "b1946ac9..." with a prefix for kinds other than a build ID ("content-", "jit-", ...). */
#define IMAGE_ID_TEXT_MAX (16 + 2 * IMAGE_ID_MAX)
void image_id_format(const struct image_id *id, char out[IMAGE_ID_TEXT_MAX]);
int image_id_parse(const char *text, struct image_id *ret); /* 0 or -EINVAL */
/* The kernel or a module of it: no file has its code as it runs, and some of it is idle. */
bool image_id_is_kernel(const struct image_id *id);

/*
 * A subject: what a sample is charged to besides its image, as a canonical string of key-value
 * pairs (keys sorted; varint key size, key, varint value size, value). Keys in use: cgroup, comm,
 * container, pid (on request), and label.NAME for user labels.
 */
#define SUBJECT_MAX_BYTES 4096
#define SUBJECT_MAX_PAIRS 64

struct subject_pair {
	const char *key, *value; /* not terminated */
	size_t key_size, value_size;
};

/*
 * Sorts the pairs and writes the canonical form, at most room bytes. Returns its size, -EINVAL on a
 * repeated or empty key, -EFBIG when it does not fit.
 */
long subject_build(struct subject_pair *pairs, size_t count, void *out, size_t room);
/* Steps through a canonical string: *at starts at 0. True while there is a pair. */
bool subject_next(const void *subject, size_t size, size_t *at, struct subject_pair *ret);
/* The value of a key, NULL when absent. */
const char *subject_get(const void *subject, size_t size, const char *key, size_t *ret_size);
/* Whether a subject can have the key: one of SUBJECT_KEYS. */
bool subject_has_key(const char *key, size_t size);
#define SUBJECT_KEYS "comm, thread, cgroup, container, pid or label.NAME"

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_PACK_H
#define CULPRIT_DB_PACK_H

#include <stdbool.h>
#include "db/catalog.h"
#include "db/kind.h"
#include "util/diag.h"
#include "util/io.h"

/*
 * A pack is one immutable file: a header, a head chunk, chunks, an index chunk, a trailer.
 *
 *  1. A pack is written under a temporary name, synced, renamed, and its directory synced. A file
 *     with a pack's name is therefore whole, unless the medium damaged it later.
 *  2. A pack's bytes are never changed. A name is written again only for a flush that was not
 *     acknowledged.
 *  3. Header, chunk headers, payloads and trailer follow each other without a gap, and each has a
 *     checksum: there is no byte whose change is not noticed.
 *  4. Each chunk decodes by itself. The index says nothing that scanning would not find, except
 *     the names of what a damaged chunk held.
 *  5. What the pack says of itself stands in it twice: in the head and in the index.
 *  6. Rows are strictly ascending by (image, event, offset, subject) through the chunks of a pack;
 * items of other kinds within a chunk, and through them unless a version that did not know the kind
 *     carried the chunks of several packs into one.
 *  7. Chunks of unknown type are kept and passed over; a higher version is refused.
 */
#define PACK_MAGIC \
	"\x89"     \
	"CULPAK\n"
#define PACK_END_MAGIC	  "CULPEND\n"
#define PACK_MAGIC_SIZE	  8
#define PACK_VERSION	  1
#define PACK_HEADER_SIZE  24 /* magic, u32 version, u32 zero, u64 sum of these */
#define PACK_TRAILER_SIZE 24 /* u64 offset of the index, u64 sum of that, magic */

#define PACK_LEVEL_SEGMENT 3  /* zstd: a flush must be cheap, ... */
#define PACK_LEVEL_BASE	   12 /* ... a compaction is rare */

struct pack_writer;

/*
 * Starts a pack under a temporary name. The head's lists are kept by reference until the pack is
 * finished; its rows and samples are what the rows will add up to (rows may be 0).
 */
int pack_create(const struct io *io, int dirfd, const char *name, const struct catalog *head,
		int zstd_level, struct pack_writer **ret, struct diag *diag);
/* The items that follow are of this kind. Kinds come in the order of their table. */
int pack_begin(struct pack_writer *w, const struct db_kind *kind);
/* Adds one; writer is a struct pack_writer: this is what batches and merges hand their items to. */
int pack_add(void *writer, const void *item);
/* A chunk of another pack as it is; whole is header and payload. */
int pack_add_chunk(struct pack_writer *w, const struct chunk_header *h, const void *whole);
/* Writes the rest and makes the pack visible and durable. Frees w in any case. */
int pack_finish(struct pack_writer *w, uint64_t *ret_bytes, struct diag *diag);
void pack_abandon(struct pack_writer *w); /* removes the temporary file */

/* Called for each damaged part: what and where, and what is lost with it. */
typedef void pack_damage_fn(void *arg, const char *what);

struct pack {
	const struct io *io;
	int fd;
	uint64_t size;
	char *label;		/* "EPOCH/NAME", for messages */
	struct arena *arena;	/* of the catalog */
	struct buf index_raw;	/* bytes that the catalog points into */
	struct catalog catalog; /* of the index, or without one of the head and what a scan found */
	bool indexed;		/* the catalog is the index's: the entries have their labels */
	uint64_t lost_samples; /* in chunks that are not there any more, as far as the head knows */
	uint64_t index_end;    /* where the index found through the trailer ends, else 0 */
	uint64_t index_sum;    /* of its payload */
};

/*
 * Opens a pack and finds its chunks, by the index or, where that is damaged, by scanning. -ENOENT,
 * -ESTALE: gone. -EPROTONOSUPPORT: of a newer version. -EBADMSG: nothing in it can be used (what is
 * lost was reported). Others: it could not be read.
 */
int pack_open(const struct io *io, int dirfd, const char *name, const char *label,
	      pack_damage_fn *damage, void *arg, struct pack **ret, struct diag *diag);
void pack_close(struct pack *p);

/*
 * Reads the chunk of an entry, header and all, and checks it. Where it is damaged, damage is
 * called with what is lost, and -EBADMSG returned; a chunk of which only the header is damaged is
 * reported and returned. Other errors (-EIO, -ENOMEM) say that it could not be read this time; all
 * but -ENOMEM are reported.
 */
int pack_read_chunk(const struct pack *p, const struct catalog_entry *e, struct buf *ret_whole,
		    pack_damage_fn *damage, void *arg);

/* Tells damage about a part of the pack that holds what entry e says (NULL: unknown). */
void pack_tell(const struct pack *p, const struct catalog_entry *e, pack_damage_fn *damage,
	       void *arg, const char *what);

/*
 * That header, chunks, index and trailer are all there is; with this, pack_open and pack_read_chunk
 * have checked every byte. 0, -EBADMSG (reported), or why it could not be read.
 */
int pack_verify_frame(const struct pack *p, pack_damage_fn *damage, void *arg);

#endif

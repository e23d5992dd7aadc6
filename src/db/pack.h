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
 *  2. A pack's bytes are never changed. A name is used again only after a flush that was not
 *     acknowledged.
 *  3. Header, chunk headers, payloads and trailer follow each other without a gap, and each has a
 *     checksum: a change of any byte is noticed.
 *  4. Each chunk decodes by itself. The index says nothing that scanning would not find, except
 *     the names of what a damaged chunk held.
 *  5. What the pack says of itself is stored twice: in the head and in the index.
 *  6. Rows ascend strictly by (image, event, offset, subject) through all chunks of a pack. Items
 * of other kinds ascend within a chunk, and through all chunks unless a version that did not know
 *     the kind copied the chunks of several packs into one.
 *  7. Chunks of unknown type are kept and passed over; a higher version is refused.
 */
#define PACK_MAGIC \
	"\x89"     \
	"CULPAK\n"
#define PACK_END_MAGIC	  "CULPEND\n"
#define PACK_MAGIC_SIZE	  8
#define PACK_VERSION	  1
#define PACK_HEADER_SIZE  24 /* magic, u32 version, u32 zero, u64 sum of all these */
#define PACK_TRAILER_SIZE 24 /* u64 offset of the index, u64 sum of the offset, magic */

#define PACK_LEVEL_SEGMENT 3  /* zstd: a flush must be cheap, ... */
#define PACK_LEVEL_BASE	   12 /* ... a compaction is rare */

struct pack_writer;

/*
 * Starts a pack under a temporary name. The head's lists are borrowed until the pack is finished;
 * its rows (0 if not known) and samples must be what the rows will add up to.
 */
int pack_create(const struct io *io, int dirfd, const char *name, const struct catalog *head,
		int zstd_level, struct pack_writer **ret, struct diag *diag);
/* The items added from here on are of this kind. Kinds must come in the order of their table. */
int pack_begin(struct pack_writer *w, const struct db_kind *kind);
/* Adds an item. writer is a struct pack_writer *, as void * for kind_each(). */
int pack_add(void *writer, const void *item);
/* Adds a chunk of another pack unchanged; whole is its header and payload. */
int pack_add_chunk(struct pack_writer *w, const struct chunk_header *h, const void *whole);
/* Writes the rest and makes the pack visible and durable. Frees w in any case. */
int pack_finish(struct pack_writer *w, uint64_t *ret_bytes, struct diag *diag);
void pack_abandon(struct pack_writer *w); /* removes the temporary file */

/* Called for each damaged part; what says which part of which file, and what is lost with it. */
typedef void pack_damage_fn(void *arg, const char *what);

struct pack {
	const struct io *io;
	int fd;
	uint64_t size;
	char *label;		/* "EPOCH/NAME", for messages */
	struct arena *arena;	/* of the catalog */
	struct buf index_raw;	/* bytes that the catalog borrows */
	struct catalog catalog; /* from the index or, without it, from the head and a scan */
	bool indexed;		/* the catalog is from the index: entries have labels */
	uint64_t lost_samples;	/* in missing chunks, by the totals in the head */
	uint64_t index_end;	/* end of the index, if found by the trailer; else 0 */
	uint64_t index_sum;	/* of its payload */
};

/*
 * Opens a pack and finds its chunks by the index or, where that is damaged, by scanning. -ENOENT,
 * -ESTALE: it is gone. -EPROTONOSUPPORT: written by a newer version. -EBADMSG: nothing in it is
 * usable (the loss was reported). Others: it could not be read.
 */
int pack_open(const struct io *io, int dirfd, const char *name, const char *label,
	      pack_damage_fn *damage, void *arg, struct pack **ret, struct diag *diag);
void pack_close(struct pack *p);

/*
 * Reads the chunk of an entry with its header and checks it. If it is damaged, damage is called
 * with what is lost and -EBADMSG is returned; but a chunk of which only the header is damaged is
 * reported and returned. Other errors (-EIO, -ENOMEM) mean that it could not be read this time; all
 * but -ENOMEM are reported.
 */
int pack_read_chunk(const struct pack *p, const struct catalog_entry *e, struct buf *ret_whole,
		    pack_damage_fn *damage, void *arg);

/* Reports damage of a part of the pack whose content entry e describes (NULL: unknown). */
void pack_tell(const struct pack *p, const struct catalog_entry *e, pack_damage_fn *damage,
	       void *arg, const char *what);

/*
 * Checks that the file consists of header, chunks, index and trailer and nothing else; together
 * with pack_open and pack_read_chunk that checks every byte. 0, -EBADMSG (reported), or why it
 * could not be read.
 */
int pack_verify_frame(const struct pack *p, pack_damage_fn *damage, void *arg);

#endif

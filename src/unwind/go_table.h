/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_GO_TABLE_H
#define CULPRIT_UNWIND_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The table of functions that every Go program carries for its own runtime, stripped or not, as Go
 * 1.18 to 1.24 write it (src/debug/gosym/pclntab.go, src/internal/abi/symtab.go). 64-bit and little
 * endian only.
 *
 *	magic, 0 0, instruction quantum, bytes of a word; then words: count of functions, of files,
 *	where the code begins, and offsets in the table: of names, of units, of files, of pc tables,
 *	of the list of functions
 *
 * The list has pairs of 32 bits in the order of addresses, a function's offset in the code and
 * where its record is, from the list on; one more says where the last function ends.
 */
#define GO_TABLE_SECTION ".gopclntab"

struct go_table {
	const uint8_t *bytes; /* the caller's, for as long as the table is used */
	size_t size;
	uint64_t text, count, list, names, pc_tables;
	unsigned quantum; /* 1: x86 */
	bool is_1_20;	  /* or later: a record has one word more before its flags */
};

struct go_function {
	uint64_t start, end; /* addresses; start < end */
	uint64_t record;     /* offset in the table, not checked against its size */
};

/* -EBADMSG: it is no such table, or one whose addresses only the loader knows. */
int go_table_open(const void *bytes, size_t size, struct go_table *ret);
/* i: below count. false: it is invalid. */
bool go_table_function(const struct go_table *t, uint64_t i, struct go_function *ret);
/* Points into the table; at most bytes_max bytes with its terminator. NULL: it has none. */
const char *go_table_name(const struct go_table *t, const struct go_function *f, size_t bytes_max);
/* 0 past the end, which is not a valid offset of anything. */
uint32_t go_table_read(const struct go_table *t, uint64_t offset);

#endif

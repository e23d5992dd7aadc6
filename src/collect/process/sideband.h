/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_SIDEBAND_H
#define CULPRIT_COLLECT_PROCESS_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"
#include "util/identity.h"

/*
 * The kernel's own records of what processes do, from a dummy perf event on each CPU: mappings of
 * code, names, forks, exits and kernel symbols that come and go, in the order in which they
 * happened.
 */
struct sideband;

enum sideband_type {
	SIDEBAND_MMAP,
	SIDEBAND_COMM,
	SIDEBAND_FORK,
	SIDEBAND_EXIT,
	SIDEBAND_KSYMBOL,
	SIDEBAND_LOST,
	SIDEBAND_LEFT_OUT, /* of a process (PID 0: of several) that had too many: /proc has them */
};

/* Names are not terminated and may hold any byte. Pointers are valid in the call only. */
struct sideband_record {
	enum sideband_type type;
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	int32_t pid, tid;	/* of the init namespace */
	int32_t ppid;		/* FORK */
	bool exec;		/* COMM: by exec */
	bool gone;		/* KSYMBOL: unregistered */
	uint64_t address, size; /* MMAP, KSYMBOL */
	uint64_t file_offset;	/* MMAP */
	/* MMAP: the build ID when the kernel could read it, else the file's numbers. */
	uint8_t build_id_size, build_id[IMAGE_ID_MAX];
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	uint64_t lost; /* LOST, LEFT_OUT: records */
	const char *name;
	size_t name_size;
};

/* The kernel's records begin with sideband_new; the thread that empties their rings, which has no
 * more rights than its maker, begins with sideband_start. */
int sideband_new(struct sideband **ret, struct diag *diag);
void sideband_free(struct sideband *s);
int sideband_start(struct sideband *s, struct diag *diag);

int sideband_fd(const struct sideband *s); /* readable when many records came */

/*
 * Hands over the records up to horizon_ns, merged over the CPUs in order of time. Later ones stay.
 * A record that the kernel could not have written is skipped and counted.
 */
void sideband_read(struct sideband *s, uint64_t horizon_ns,
		   void (*take)(void *arg, const struct sideband_record *r), void *arg);
uint64_t sideband_malformed(const struct sideband *s);

/*
 * Parses one record of the perf ABI (header included, size bytes, with the time as its trailer).
 * 0, -ENOMSG: of a type that is of no interest; -EBADMSG: malformed.
 * build_ids: they were asked for.
 */
int sideband_parse(const void *record, size_t size, bool build_ids, struct sideband_record *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_PERF_H
#define CULPRIT_EXCHANGE_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_stacks.h"
#include "exchange/harvest.h"
#include "exchange/perf_space.h"
#include "exchange/reading.h"
#include "instsample/decode.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/hash.h"

/*
 * A perf.data on its way into a harvest; for the perf_*.c files only. The format is the one of
 * tools/perf/Documentation/perf.data-file-format.txt and linux/perf_event.h.
 *
 *   perf_header.c	the header of either form, attributes, features: what the events are
 *   perf_stream.c	records out of a file, a pipe, or compressed records
 *   perf_order.c	records in order of time
 *   perf_world.c	processes and what is mapped where: from an address to a place
 *   perf_sample.c	a sample, taken apart and counted
 *   perf_raw.c		what the processor itself wrote about a sample
 *   perf_stack.c	the way out of a stack whose copy came with a sample
 *   perf_record.c	every other record
 */

#define PERF_ATTRS_MAX 4096
#define PERF_NAME_MAX  256

enum perf_user_record { /* what perf itself writes between the kernel's records */
			PERF_USER_FIRST = 64,
			PERF_USER_ATTR = 64,
			PERF_USER_TRACING_DATA = 66,
			PERF_USER_BUILD_ID = 67,
			PERF_USER_FINISHED_ROUND = 68,
			PERF_USER_AUXTRACE_INFO = 70,
			PERF_USER_AUXTRACE,
			PERF_USER_EVENT_UPDATE = 78,
			PERF_USER_FEATURE = 80,
			PERF_USER_COMPRESSED = 81,
			PERF_USER_COMPRESSED2 = 83,
};

/* One event of the recording, and how its records are laid out. */
struct perf_attr {
	uint32_t type, precise;
	uint64_t config, period, sample_type, read_format, branch_type;
	uint64_t regs_user; /* which registers are in a dump */
	unsigned regs_intr; /* how many are in the dump at the interrupt */
	unsigned max_stack;
	bool freq, id_all, no_user, no_kernel;
	/* Bytes from the start of a sample's body, and back from another record's end; -1: none. */
	int ip_at, tid_at, time_at, address_at, id_at, period_at;
	int time_back, id_back, pid_back;
	unsigned fixed_bytes; /* at the start of a sample's body that hold all of these */
	char name[PERF_NAME_MAX];
	uint32_t event; /* of the harvest */
	uint64_t samples, units;
	uint64_t unknown_process, unknown_mapping, unknown_kernel, guest;
	uint64_t weights, weight_sum;
	uint64_t insts;		/* instruction samples */
	uint64_t raws;		/* raw records that are kept... */
	uint64_t raw_physical;	/* ...of which the physical address is left out */
	uint64_t raw_elsewhere; /* ...which name another place than their sample's */
};

/* Memory that holds records until their turn comes. */
struct perf_block {
	size_t size, room;
	uint64_t users; /* queued records */
	bool open;	/* is still being filled or read */
	uint8_t data[];
};

struct perf_entry {
	uint64_t time;
	const uint8_t *record;
	struct perf_block *block; /* NULL: in the mapped file */
};

struct perf_order {
	struct perf_entry *list, *spare; /* spare: as large, to sort into */
	size_t count, room, block_bytes;
	uint64_t newest, round_end, delivered;
	bool sorted;
};

struct perf_world;

/* What the file has that the database has no place for, and what went wrong. */
struct perf_counters {
	uint64_t records, late, unordered, malformed, unknown_id;
	uint64_t lost, lost_samples, lost_malformed, throttled, aux_bytes, addresses, reads;
	/* Raw data that is not kept, by the reason, and its bytes. */
	uint64_t raw_other_event, raw_unknown_pmu, raw_malformed, raw_too_many, raw_bytes;
	uint64_t insts_too_many, spe_lost, spe_bad_bytes, aux_truncated;
	uint64_t copies, copies_not_unwound, copies_cut, copies_no_file, ends[WIRE_STACK_ENDS];
	uint64_t stacks_cut, transactions, phys_addresses, unknown_records;
	uint64_t branch_stacks, branches, branches_unplaced, text_pokes;
};

/* A piece of a processor's trace on its way in. */
struct perf_aux {
	struct perf_block *block; /* its record, and what has come of what follows; NULL: none */
	size_t wanted;		  /* bytes of the block when all has come */
};

struct perf {
	struct harvest *harvest;
	struct perf_attr *attrs;
	size_t attr_count;
	struct map64 *ids; /* of an event -> index in attrs */
	struct perf_order order;
	struct perf_world *world;
	struct perf_counters counters;
	struct map64 *build_ids; /* hash of a path -> index in build_id */
	struct perf_build_id {
		uint8_t size, bytes[IMAGE_ID_MAX];
	} * build_id;
	size_t build_id_count, build_id_room;
	uint64_t first_ns, last_ns; /* by the clock of the recording */
	uint64_t wall_ns, clock_ns; /* the same moment by the two clocks; 0: not known */
	uint64_t kernel_link;	    /* where the linker puts the kernel's _text */
	uint64_t file_key;	    /* tells this recording from another */
	bool is_other_arch;	    /* than x86-64 */
	bool pmus_known;	    /* the file says which PMU has which type */
	bool is_intel;		    /* it says that its processors are */
	bool has_spe;		    /* its processors' traces are Arm's SPE */
	uint32_t ibs_type[DB_RAW_IBS_FETCH + 1]; /* by kind of record; 0: there is none */
	struct map64 *spe_types;		 /* types of PMUs of SPE */
	uint64_t data_key; /* of page classes: this process's own, so that nobody else has it */
	struct perf_aux aux;
	const struct reading *in;
	struct perf_code *code; /* by the number of an image: what stacks are followed by */
	size_t code_count;
	struct perf_zstd *zstd;
	char cut[200]; /* the file ends too early, or is invalid from here on: why */
	int error;     /* no memory: everything stops */
};

/* Reads all of it. 0; a negative errno: nothing is of use; cut is set when not all was read. */
int perf_read(struct perf *p, const struct reading *in, struct diag *diag);

/* perf_header.c. data: the whole file. */
int perf_header_read(struct perf *p, const uint8_t *data, size_t size, size_t *ret_start,
		     size_t *ret_end, struct diag *diag);
void perf_header_attr(struct perf *p, const uint8_t *body, size_t size);
void perf_header_update(struct perf *p, const uint8_t *body, size_t size);
void perf_header_feature(struct perf *p, unsigned feature, const uint8_t *data, size_t size);
void perf_header_build_id(struct perf *p, const uint8_t *record, size_t size);
/* Gives every event its number in the harvest. To be called before its first record is. */
int perf_header_name(struct perf *p, struct perf_attr *a);
/* The event of a record where there are several, NULL when it cannot be told. */
struct perf_attr *perf_header_find_id(struct perf *p, const uint8_t *record, size_t size);

/* perf_stream.c. A run of records, one after the other. */
struct perf_stream {
	uint64_t skip; /* bytes still to come that are no records */
	bool ended;    /* what follows cannot be told apart */
};
void perf_stream_free(struct perf *p);
struct perf_block *perf_block_new(size_t room);
void perf_block_done(struct perf *p, struct perf_block *b);

/* perf_order.c */
void perf_order_add(struct perf *p, uint64_t time, const uint8_t *record, struct perf_block *block);
/* The newest time of the records so far. */
uint64_t perf_order_newest(const struct perf *p);
void perf_order_round(struct perf *p);
void perf_order_flush(struct perf *p);
void perf_order_free(struct perf *p);

/* perf_record.c */
void perf_record_take(struct perf *p, const uint8_t *record, size_t size);

/* perf_sample.c */
void perf_sample_take(struct perf *p, const uint8_t *record, size_t size);
/* This record, if it is a sample, will be taken soon. */
void perf_sample_expect(struct perf *p, const uint8_t *record, size_t size);

/* perf_raw.c */
struct perf_raw { /* of a sample that is counted */
	const uint8_t *at;
	size_t size;
	uint64_t address;
	uint32_t pid, subject, place;
};
/* Keeps what it says, or counts why not. 0 or an error of the harvest. */
int perf_raw_take(struct perf *p, struct perf_attr *a, const struct perf_raw *raw);
/* Which of the kinds of IBS the event is; 0: neither, which *ret_is_told, or nobody knows. */
enum ibs_kind perf_raw_kind(const struct perf *p, const struct perf_attr *a, bool *ret_is_told);
/* Tells of a PMU in the file's table of them. */
void perf_raw_pmu(struct perf *p, uint32_t type, const char *name, size_t size);

/* perf_inst.c */
/* A key for page classes: 16 bytes that the kernel gives to each new program. */
uint64_t perf_inst_key(void);
struct perf_inst {     /* of a sample that is counted */
	uint64_t data; /* the address of its data; 0: none */
	uint32_t pid, subject, place;
};
/* Adds it, or counts that it is one too many. 0 or an error of the harvest. */
int perf_inst_add(struct perf *p, struct perf_attr *a, const struct perf_inst *at,
		  struct inst_record *record);
/* Whether samples of this event say by weight or data source what became of an instruction. */
bool perf_inst_is_told(const struct perf *p, const struct perf_attr *a);
int perf_inst_take(struct perf *p, struct perf_attr *a, const struct perf_inst *at,
		   uint64_t data_source, uint64_t weight);

/* perf_aux.c. A record whose data follows: false where it is of no use, and is to be passed. */
bool perf_aux_begin(struct perf *p, const uint8_t *record, size_t size);
/* Takes some of that data. At its end, or with finish, it waits for its turn among the records. */
void perf_aux_more(struct perf *p, const uint8_t *data, size_t size);
void perf_aux_finish(struct perf *p);
/* Whose turn it is, with all that came of what follows it. */
void perf_aux_take(struct perf *p, const uint8_t *record);
/* Tells of a PMU, as perf_raw_pmu. */
void perf_aux_pmu(struct perf *p, uint32_t type, const char *name, size_t size);

/* perf_stack.c */
struct perf_copy { /* of the registers and the stack of a process */
	uint64_t abi;
	const uint8_t *registers, *stack;
	uint64_t asked, bytes; /* bytes of the stack: asked for, and present */
};
struct places_stack;
/* Adds the frames of the process, the innermost of which is at the place first unless that is
 * HARVEST_NONE. *ret_note: the place that stands for missing frames, unchanged when none are
 * missing. 0 or an error of the harvest. */
int perf_stack_follow(struct perf *p, const struct perf_attr *a, uint32_t pid,
		      const struct perf_copy *copy, uint32_t first, struct places_stack *ret,
		      uint32_t *ret_note);
void perf_stack_free(struct perf *p);

/* perf_world.c */
enum perf_mode { PERF_UNKNOWN_MODE, PERF_KERNEL, PERF_USER, PERF_GUEST };

struct perf_mmap {
	uint32_t pid;
	bool kernel, has_inode;
	uint64_t start, size, file_offset, inode;
	const uint8_t *build_id;
	uint8_t build_id_size;
	const char *path;
	size_t path_size;
};

struct perf_world *perf_world_new(void);
void perf_world_free(struct perf_world *w);
void perf_world_mmap(struct perf *p, const struct perf_mmap *m);
void perf_world_ksymbol(struct perf *p, uint64_t start, uint64_t size, const char *name,
			size_t name_size, bool gone);
void perf_world_comm(struct perf *p, uint32_t pid, uint32_t tid, const char *comm, size_t size,
		     bool exec);
void perf_world_fork(struct perf *p, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid,
		     bool keep_maps);
void perf_world_cgroup(struct perf *p, uint64_t id, const char *path, size_t size);
/* The process of a thread; itself where nobody said so. */
uint32_t perf_world_process(const struct perf *p, uint32_t tid);
/* What a sample of a thread is charged to. 0 or an error of the harvest. */
int perf_world_subject(struct perf *p, uint32_t pid, uint32_t tid, uint64_t cgroup, uint32_t *ret);

struct perf_sampled {
	uint32_t pid, event, subject;
	enum perf_mode mode;
	uint64_t address;
};

enum perf_found { PERF_FOUND, PERF_NO_PROCESS, PERF_NO_MAPPING, PERF_NO_KERNEL };
/* The place of an address. Always gives one: one in the unknown image where nothing is known. */
int perf_world_place(struct perf *p, uint32_t pid, enum perf_mode mode, uint64_t address,
		     uint32_t *ret, enum perf_found *ret_found);
/* A sample of this address will come soon: prefetches what it needs. */
void perf_world_expect(const struct perf *p, uint32_t pid, enum perf_mode mode, uint64_t address);
/* The place of a sampled address; also counts the sample. */
int perf_world_sample(struct perf *p, const struct perf_sampled *s, uint32_t *ret,
		      enum perf_found *ret_found);
/* To be called before the harvest is used. */
int perf_world_flush(struct perf *p);
/* What a process has mapped there, NULL: nothing that is known. */
const struct perf_range *perf_world_range(const struct perf *p, uint32_t pid, uint64_t address);

static inline uint64_t perf_u64(const uint8_t *at)
{
	uint64_t v;

	__builtin_memcpy(&v, at, sizeof(v));
	return v;
}

static inline uint32_t perf_u32(const uint8_t *at)
{
	uint32_t v;

	__builtin_memcpy(&v, at, sizeof(v));
	return v;
}

static inline struct perf_attr *perf_header_find(struct perf *p, const uint8_t *record, size_t size)
{
	return p->attr_count == 1 ? p->attrs : perf_header_find_id(p, record, size);
}

static inline uint16_t perf_u16(const uint8_t *at)
{
	uint16_t v;

	__builtin_memcpy(&v, at, sizeof(v));
	return v;
}

#endif

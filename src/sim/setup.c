/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/setup.h"

#include <errno.h>
#include <string.h>
#include "util/num.h"

/* X(key, field, least, most, help) */
#define KEYS(X)                                                                                \
	X(issue_width, core.issue_width, 1, 32, "operations renamed a cycle")                  \
	X(retire_width, core.retire_width, 1, 64, "operations retired a cycle")                \
	X(decode_width, core.decode_width, 1, 32, "instructions decoded a cycle")              \
	X(uop_cache, core.uop_cache_size, 8, 16384, "decoded operations kept")                 \
	X(reorder_buffer, core.reorder_buffer, 4, 768, "operations in flight")                 \
	X(scheduler, core.scheduler, 2, 1024, "operations that wait")                          \
	X(load_buffer, core.load_buffer, 1, 448, "loads in flight")                            \
	X(store_buffer, core.store_buffer, 1, 448, "stores in flight")                         \
	X(mispredict_cycles, core.mispredict_cycles, 1, 100, "refill after a misprediction")   \
	X(l1_cycles, core.l1_cycles, 1, 50, "of a load that hits")                             \
	X(l2_cycles, core.l2_cycles, 2, 200, "of a load from the second cache")                \
	X(l3_cycles, core.l3_cycles, 3, 250, "of a load from the last cache")                  \
	X(memory_cycles, core.memory_cycles, 4, 10000, "of a load from memory")                \
	X(l1_kbytes, core.cache_kbytes[0], 1, 1024, "data cache")                              \
	X(l2_kbytes, core.cache_kbytes[1], 4, 65536, "second cache")                           \
	X(l3_kbytes, core.cache_kbytes[2], 16, 524288, "last cache")                           \
	X(l1i_kbytes, l1i_kbytes, 1, 1024, "code cache")                                       \
	X(l1i_ways, l1i_ways, 1, 32, "its ways")                                               \
	X(l1_ways, l1d_ways, 1, 32, "ways of the data cache")                                  \
	X(l2_ways, l2_ways, 1, 32, "ways of the second cache")                                 \
	X(l3_ways, l3_ways, 1, 32, "ways of the last cache")                                   \
	X(dtlb_pages, core.dtlb_pages[0], 4, 4096, "data pages translated")                    \
	X(tlb_pages, core.dtlb_pages[1], 8, 65535, "pages of the second translation buffer")   \
	X(itlb_pages, itlb_pages, 4, 4096, "code pages translated")                            \
	X(tlb_ways, tlb_ways, 1, 32, "ways of these buffers")                                  \
	X(tlb_cycles, tlb2_cycles, 1, 100, "of the second translation buffer")                 \
	X(walk_cycles, walk_cycles, 1, 1000, "of a walk whose entry the caches have")          \
	X(line_cycles, line_cycles, 1, 1000, "from one line of memory to the next")            \
	X(prefetch_lines, prefetch_lines, 0, 64, "lines fetched ahead of a stream")            \
	X(stride_ahead, stride_ahead, 0, 64, "steps fetched ahead of an instruction's stride") \
	X(predictor, predictor_kentries, 1, 1024, "thousands of entries that predict branches")

void sim_config_init(struct sim_config *c, const struct machine_core *core)
{
	*c = (struct sim_config){
		.core = *core,
		.l1i_kbytes = 32,
		.l1i_ways = 8,
		.l1d_ways = core->cache_kbytes[0] == 48 ? 12 : 8,
		.l2_ways = core->cache_kbytes[1] == 1280   ? 10
			   : core->cache_kbytes[1] >= 2048 ? 16
							   : 8,
		.l3_ways = 16,
		.itlb_pages = 64,
		.tlb_ways = 8,
		.tlb2_cycles = 7,
		.walk_cycles = 16,
		.line_cycles = 10,
		.prefetch_lines = 12,
		.stride_ahead = 4,
		.predictor_kentries = 16,
	};
	if (!c->core.cache_kbytes[2])
		c->core.cache_kbytes[2] = 16384;
}

#define STORE(field, value) ((field) = (__typeof__(field))(value))

int sim_config_set(struct sim_config *c, const char *text, struct diag *diag)
{
	const char *equals = strchr(text, '=');
	uint64_t value;
	size_t size = equals ? (size_t)(equals - text) : 0;

	if (!equals || num_parse_u64(equals + 1, &value))
		return diag_fail(diag, EINVAL, "'%s' is not KEY=NUMBER", text);
#define TRY(key, field, least, most, help)                                                       \
	if (size == strlen(#key) && !strncmp(text, #key, size)) {                                \
		if (value > (most) || (int64_t)value < (least))                                  \
			return diag_fail(diag, EINVAL, "%s=%llu: no core has that: %d to %d",    \
					 #key, (unsigned long long)value, least, most);          \
		if ((uint64_t)(__typeof__(c->field))value != value)                              \
			return diag_fail(diag, EINVAL, "%s=%llu: the model cannot have so many", \
					 #key, (unsigned long long)value);                       \
		STORE(c->field, value);                                                          \
		return 0;                                                                        \
	}
	KEYS(TRY)
#undef TRY
	return diag_fail(diag, EINVAL, "'%.*s' is nothing that can be set: see --set help",
			 (int)size, text);
}

const char *sim_config_key(const struct sim_config *c, size_t index, unsigned *ret_value,
			   const char **ret_help)
{
	size_t at = 0;

#define TELL(key, field, least, most, help)      \
	if (at++ == index) {                     \
		*ret_value = (unsigned)c->field; \
		*ret_help = help;                \
		return #key;                     \
	}
	KEYS(TELL)
#undef TELL
	return NULL;
}

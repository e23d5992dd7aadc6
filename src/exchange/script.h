/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_SCRIPT_H
#define CULPRIT_EXCHANGE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lines of the text that perf script prints, taken apart. Texts point into the line. */
struct script_text {
	const char *at;
	size_t size;
};

/* "comm pid/tid [cpu] time: period event: rest"; what is not there is empty or 0. */
struct script_head {
	struct script_text comm, event, rest;
	uint64_t pid, tid, time_ns, period;
	bool has_pid, has_time, has_period;
};

/* "address symbol+offset (dso)". */
struct script_frame {
	struct script_text symbol, dso;
	uint64_t address;
	bool inlined; /* into the function of the next frame */
};

/* False: the line is not one. */
bool script_parse_head(struct script_text line, struct script_head *ret);
bool script_parse_frame(struct script_text line, struct script_frame *ret);

/* "script", "folded" or NULL, by the first lines of a text. */
const char *script_text_kind(const char *start, size_t size);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/demangle.h"

#include <setjmp.h>
#include <string.h>
#include <libiberty/demangle.h>

/*
 * libiberty's callback interface hands out the text piece by piece. A short name can stand for an
 * exponentially long text (back references), so the callback leaves by longjmp once there is more
 * than fits. But not from a piece that is not ASCII: there the library holds memory, in which it
 * has decoded an identifier of Rust's (Punycode).
 */
struct sink {
	char *out;
	size_t size, room;
	bool full;
	jmp_buf too_long;
};

static bool is_ascii(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] & 0x80)
			return false;
	return true;
}

static void sink_append(const char *text, size_t size, void *opaque)
{
	struct sink *s = opaque;

	s->full = s->full || size >= s->room - s->size;
	if (s->full && is_ascii(text, size))
		longjmp(s->too_long, 1);
	if (s->full || !size) /* without a size the text may be NULL */
		return;
	memcpy(s->out + s->size, text, size);
	s->size += size;
}

/* Legacy Rust symbols are C++ symbols whose last component is "h" and 16 hex digits of a hash. */
static bool is_rust(const char *name, size_t size)
{
	if (name[0] == '_' && name[1] == 'R')
		return true;
	if (size < 23 || memcmp(name, "_ZN", 3) != 0)
		return false;
	/* LLVM appends ".llvm.NUMBER" to names that it made global. */
	const char *end = strstr(name, ".llvm.");
	if (!end)
		end = name + size;
	return end - name >= 23 && end[-1] == 'E' && memcmp(end - 20, "17h", 3) == 0;
}

static bool demangle(const char *name, size_t size, struct sink *sink)
{
	if (setjmp(sink->too_long))
		return false;
	if (is_rust(name, size) && rust_demangle_callback(name, DMGL_RUST, sink_append, sink))
		return !sink->full;
	sink->size = 0;
	if (!cplus_demangle_v3_callback(name, DMGL_NO_OPTS, sink_append, sink) || sink->full)
		return false;
	/* The part of a function that the compiler split off (".cold") is not the function. */
	const char *clone = strchr(name, '.');
	if (clone && sink->size) {
		sink_append(" [clone ", 8, sink);
		sink_append(clone, strlen(clone), sink);
		sink_append("]", 1, sink);
	}
	return true;
}

bool image_demangle(const char *name, char out[DEMANGLE_MAX_RESULT])
{
	static const char plt[] = "@plt";
	char copy[DEMANGLE_MAX_NAME + 1];
	size_t size = strlen(name), suffix = 0;

	if (size > DEMANGLE_MAX_NAME || size < 3 || name[0] != '_' ||
	    (name[1] != 'Z' && name[1] != 'R'))
		return false;
	if (size > sizeof(plt) && memcmp(name + size - 4, plt, 4) == 0)
		suffix = 4;
	size -= suffix;
	memcpy(copy, name, size);
	copy[size] = 0;
	struct sink sink = {.out = out, .room = DEMANGLE_MAX_RESULT - sizeof(plt)};
	if (!demangle(copy, size, &sink) || sink.size == 0)
		return false;
	memcpy(out + sink.size, plt, suffix);
	out[sink.size + suffix] = 0;
	return true;
}

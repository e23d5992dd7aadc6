/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/python.h"

#include <errno.h>

/* Of texts and bytes: 3.12 has no wide characters beside a text any more. */
#define TEXTS_WIDE                                                              \
	.text_length = 16, .text_hash = 24, .text_state = 32, .text_ascii = 48, \
	.text_compact = 72, .bytes_size = 16, .bytes_data = 32
#define TEXTS                                                                   \
	.text_length = 16, .text_hash = 24, .text_state = 32, .text_ascii = 40, \
	.text_compact = 56, .bytes_size = 16, .bytes_data = 32

/* To 3.10: PyFrameObject, linked by f_back; code objects have no full name, and their bytecode in
 * another object. */
#define FRAME_OBJECTS                                                                            \
	.by = WIRE_PYTHON_BY_CODE, .run = WIRE_PYTHON_ONE, .thread_frame = 24, .thread_id = 176, \
	.frame_code = 32, .frame_previous = 24, .code_line = 40, .code_file = 104,               \
	.code_name = 112, .code_full_name = 112, .code_lines = 120, TEXTS_WIDE

/* Since then: _PyInterpreterFrame, not an object. */
#define INTERPRETER_FRAMES .at = WIRE_PYTHON_POINTER, .lines = WIRE_PYTHON_LOCATIONS
/* Up to 3.12: a CFrame leads to it. */
#define CFRAMES                                                                       \
	.by = WIRE_PYTHON_BY_CFRAME, .thread_cframe = 56, .frame_instruction = 56,    \
	.code_file = 112, .code_name = 120, .code_full_name = 128, .code_lines = 136, \
	INTERPRETER_FRAMES

/* Where the structures of a minor version have what, which stays so once it is released. A row
 * each; wire_python.h says what they mean. */
static const struct {
	uint32_t version; /* the upper half of PY_VERSION_HEX */
	struct wire_python layout;
} versions[] = {
	/* 3.8: f_lasti in bytes; co_lnotab. */
	{0x0308,
	 {FRAME_OBJECTS, .at = WIRE_PYTHON_BYTES, .lines = WIRE_PYTHON_LNOTAB,
	  .runtime_current = 1368, .runtime_key = 1392, .frame_instruction = 104}},
	/* 3.9: the same, in another runtime. */
	{0x0309,
	 {FRAME_OBJECTS, .at = WIRE_PYTHON_BYTES, .lines = WIRE_PYTHON_LNOTAB,
	  .runtime_current = 568, .runtime_key = 584, .frame_instruction = 104}},
	/* 3.10: CFrame beside; f_lasti in units of two bytes; co_linetable. */
	{0x030a,
	 {FRAME_OBJECTS, .at = WIRE_PYTHON_UNITS, .lines = WIRE_PYTHON_RANGES,
	  .runtime_current = 568, .runtime_key = 584, .thread_cframe = 48, .cframe_previous = 8,
	  .frame_instruction = 96}},
	/* 3.11: several frames to an evaluator. */
	{0x030b,
	 {CFRAMES, .run = WIRE_PYTHON_TO_FLAG, .runtime_current = 576, .runtime_key = 592,
	  .thread_id = 152, .cframe_frame = 8, .cframe_previous = 16, .frame_code = 32,
	  .frame_previous = 48, .frame_is_entry = 68, .code_line = 72, .code_bytecode = 184,
	  TEXTS_WIDE}},
	/* 3.12: a frame on the C stack ends an evaluator's; the thread that has the lock is known
	 * to the threads only. */
	{0x030c,
	 {CFRAMES, .run = WIRE_PYTHON_TO_ENTRY, .runtime_key = 1544, .thread_id = 136,
	  .cframe_frame = 0, .cframe_previous = 8, .frame_code = 0, .frame_previous = 8,
	  .frame_owner = 70, .code_line = 68, .code_bytecode = 192, TEXTS}},
	/* 3.13: no CFrame. Most of it is told by each interpreter itself. */
	{0x030d,
	 {INTERPRETER_FRAMES, .by = WIRE_PYTHON_BY_ENTRY, .run = WIRE_PYTHON_TO_ENTRY,
	  .runtime_key = 2160, TEXTS}},
};

#define FIRST_WITH_OFFSETS 0x030d
#define FINAL		   0xf0 /* of PY_VERSION_HEX: no alpha, beta or candidate, which may differ */
#define COMPACT_MORE	   16	/* that a text that is not ASCII has before its characters */

static void take_offsets(const struct image_python_offsets *o, struct wire_python *to)
{
#define OFFSET(name, number) to->name = o->name;
	IMAGE_PYTHON_OFFSETS(OFFSET)
#undef OFFSET
	to->text_compact = (uint16_t)(o->text_ascii + COMPACT_MORE);
}

/* By offsets in the file. False: it has none. */
static bool take_evaluator(const struct image_python *python, uint64_t shift,
			   struct wire_python *to)
{
	for (unsigned i = 0; i < WIRE_PYTHON_RANGES_MAX; i++) {
		uint64_t begin = python->evaluator[i].begin - shift,
			 end = python->evaluator[i].end - shift;

		if (python->evaluator[i].begin && begin < end && end <= UINT32_MAX)
			to->evaluator[i] =
				(struct wire_python_range){(uint32_t)begin, (uint32_t)end};
	}
	return to->evaluator[0].end != 0;
}

static int describe(const struct image_python *python, uint64_t shift, struct wire_python *ret)
{
	uint32_t version = python->version >> 16;

	ret->runtime = python->runtime - shift;
	if (!take_evaluator(python, shift, ret) && ret->by == WIRE_PYTHON_BY_CODE &&
	    !ret->thread_cframe)
		return -ENOENT;
	if (version < FIRST_WITH_OFFSETS)
		return 0;
	if (!python->offsets.are_there)
		return -ENOENT;
	take_offsets(&python->offsets, ret);
	return 0;
}

int python_describe(const struct image_python *python, const struct image_segment *segments,
		    uint32_t segment_count, struct wire_python *ret)
{
	struct wire_python found;
	int r;

	if (!segment_count || (python->version & 0xf0) != FINAL || python->is_odd)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (versions[i].version != python->version >> 16)
			continue;
		found = versions[i].layout;
		r = describe(python, segments->address - segments->file_offset, &found);
		if (!r)
			*ret = found;
		return r;
	}
	return -ENOENT;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/python_codes.h"

#include <stdlib.h>
#include <string.h>
#include "collect/stacks/python.h"
#include "image/script.h"
#include "util/buf.h"

#define TEXT_BYTES_MAX 4096

struct code {
	uint32_t number; /* 0: none */
	uint32_t first_line, script, lines_bytes, lines_form;
	uint64_t function;
	uint8_t *lines;
};

struct python_codes {
	struct scripts *scripts;
	struct code *codes; /* by number, modulo how many there are */
	uint64_t held; /* since it was cleared: 0 mostly, and then the list has no memory yet */
	uint64_t lines_bytes;
	struct buf path, name;
	struct python_codes_counters counters;
};

struct python_codes *python_codes_new(struct scripts *scripts)
{
	struct python_codes *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->scripts = scripts;
	c->codes = calloc(PYTHON_CODES_MAX, sizeof(*c->codes));
	buf_init(&c->path, TEXT_BYTES_MAX);
	buf_init(&c->name, TEXT_BYTES_MAX);
	if (!c->codes) {
		python_codes_free(c);
		return NULL;
	}
	return c;
}

static void forget(struct python_codes *c, struct code *code)
{
	c->lines_bytes -= code->lines_bytes;
	free(code->lines);
	*code = (struct code){0};
}

void python_codes_clear(struct python_codes *c)
{
	for (uint32_t i = 0; c->held && i < PYTHON_CODES_MAX; i++)
		forget(c, &c->codes[i]);
	c->held = 0;
}

void python_codes_free(struct python_codes *c)
{
	if (!c)
		return;
	if (c->codes)
		python_codes_clear(c);
	free(c->codes);
	buf_free(&c->path);
	buf_free(&c->name);
	free(c);
}

static bool is_code(const struct wire_python_code *r, size_t size)
{
	size_t head = offsetof(struct wire_python_code, lines);

	return size >= head && r->number && r->number < WIRE_PYTHON_NUMBERS && r->name.bytes &&
	       r->name.bytes <= sizeof(r->name_text) && r->file.bytes <= sizeof(r->file_text) &&
	       r->lines_bytes <= sizeof(r->lines) && size - head >= r->lines_bytes &&
	       r->lines_form <= WIRE_PYTHON_LOCATIONS;
}

/* A file without a name has one that says so. */
static int decode_names(struct python_codes *c, const struct wire_python_code *r)
{
	buf_clear(&c->path);
	buf_clear(&c->name);
	int err = r->file.bytes ? python_decode_text(&r->file, r->file_text, &c->path)
				: buf_append(&c->path, "[python]", 8);
	return err ? err : python_decode_text(&r->name, r->name_text, &c->name);
}

static void keep_lines(struct python_codes *c, struct code *code, const struct wire_python_code *r)
{
	if (c->lines_bytes + r->lines_bytes <= PYTHON_CODES_MAX_BYTES)
		code->lines = malloc(r->lines_bytes + 1u);
	if (!code->lines) {
		c->counters.without_lines++;
		return;
	}
	memcpy(code->lines, r->lines, r->lines_bytes);
	code->lines_bytes = r->lines_bytes;
	c->lines_bytes += r->lines_bytes;
}

void python_codes_take(struct python_codes *c, const struct wire_python_code *record, size_t size)
{
	struct code code = {0}, *place;

	c->counters.codes++;
	if (!is_code(record, size) || decode_names(c, record) ||
	    scripts_function(c->scripts, (const char *)c->path.data, c->path.size,
			     record->first_line, (const char *)c->name.data, c->name.size,
			     &code.script, &code.function)) {
		c->counters.refused++;
		return;
	}
	code.number = record->number;
	code.first_line = record->first_line;
	code.lines_form = record->lines_form;
	place = &c->codes[code.number % PYTHON_CODES_MAX];
	forget(c, place);
	keep_lines(c, &code, record);
	*place = code;
	c->held++;
}

int python_codes_find(struct python_codes *c, uint64_t frame, uint32_t *ret_script,
		      uint64_t *ret_offset)
{
	uint32_t number = (uint32_t)((frame & ~WIRE_FRAME_PYTHON) >> 32);
	const struct code *code = &c->codes[number % PYTHON_CODES_MAX];
	uint32_t line;

	if (!number || code->number != number) {
		c->counters.unknown++;
		return scripts_function(c->scripts, "[python]", 8, 0, "[unknown function]", 18,
					ret_script, ret_offset);
	}
	line = python_decode_line(code->lines_form, code->lines, code->lines_bytes,
				  code->first_line, (uint32_t)frame);
	*ret_script = code->script;
	*ret_offset = image_script_offset(code->function, line);
	return 0;
}

void python_codes_count(const struct python_codes *c, struct python_codes_counters *ret)
{
	*ret = c->counters;
}

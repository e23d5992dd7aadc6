/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the program in the kernel copied of a code object of Python, which the process may have made
 * up: its texts, and its table of lines in each of the forms that versions have. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "collect/stacks/python.h"
#include "collect/stacks/python_codes.h"
#include "image/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(struct python_codes *codes, uint32_t number, uint32_t instruction)
{
	uint64_t frame = WIRE_FRAME_PYTHON | (uint64_t)number << 32 | instruction, offset;
	uint32_t script;

	if (python_codes_find(codes, frame, &script, &offset))
		abort();
}

static void decode_all(const uint8_t *data, size_t size)
{
	for (uint32_t form = WIRE_PYTHON_LNOTAB; form <= WIRE_PYTHON_LOCATIONS; form++)
		for (uint32_t at = 0; at < 64; at++)
			if (!python_decode_line(form, data, size, 1 + at, at * at * at))
				abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scripts *scripts;
	static struct python_codes *codes;
	struct wire_python_code code = {0};

	if (!codes) {
		scripts = scripts_new();
		codes = scripts ? python_codes_new(scripts) : NULL;
		if (!codes)
			abort();
	}
	memcpy(&code, data, size < sizeof(code) ? size : sizeof(code));
	python_codes_take(codes, &code, size < sizeof(code) ? size : sizeof(code));
	find(codes, code.number & (WIRE_PYTHON_NUMBERS - 1), 0);
	find(codes, code.number & (WIRE_PYTHON_NUMBERS - 1), 1000);
	find(codes, code.number & (WIRE_PYTHON_NUMBERS - 1), UINT32_MAX);
	decode_all(data, size);
	if (!scripts_are_many(scripts))
		return 0;
	python_codes_clear(codes);
	if (scripts_clear(scripts))
		abort();
	return 0;
}

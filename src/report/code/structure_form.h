/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_STRUCTURE_FORM_H
#define CULPRIT_REPORT_CODE_STRUCTURE_FORM_H

#include "render/json_writer.h"
#include "report/code/structure.h"

/* The forms of a structure, for the structure*.c files of this folder. */

#define STRUCTURE_VERSION 1 /* of both forms */

/* What is being written; the buffer is emptied into the file now and then. */
struct structure_writing {
	const struct structure_report *report;
	struct json_writer to; /* of XML only the buffer */
	char *file;	       /* that is open; NULL: the unknown one */
	bool in_file;
};

struct structure_form {
	void (*begin)(struct structure_writing *w);
	void (*open_file)(struct structure_writing *w, const char *file); /* NULL: not known */
	void (*close_file)(struct structure_writing *w);
	/* Of the i-th scope of the function, before and after those inside it. */
	void (*open)(struct structure_writing *w, const struct structure_function *f, uint32_t i);
	void (*close)(struct structure_writing *w, const struct structure_function *f, uint32_t i);
	void (*end)(struct structure_writing *w);
};

extern const struct structure_form structure_xml, structure_json;

/* The file that a scope's lines are in, where it is not that of the function around it. */
const char *structure_other_file(const struct structure_function *f, uint32_t i);

#endif

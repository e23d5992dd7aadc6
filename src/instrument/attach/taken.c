/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach.h"

const char *attach_taken_name(enum attach_taken taken)
{
	static const char *const names[ATTACH_TAKEN_COUNT] = {
		"taken", "the code in memory is not that of the file",
		"the code was generated at run time, or its mapping is shared",
		"a patch would cross from one page to the next",
		"the file is on a file system that may never answer (FUSE, network)"};

	return taken < ATTACH_TAKEN_COUNT ? names[taken] : "?";
}

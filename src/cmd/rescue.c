/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/rescue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/scratch.h"
#include "util/hand_over.h"
#include "util/text.h"

static bool write_below(struct session *s, const char *place, char *ret_path, size_t room)
{
	struct diag unused;

	if (!place || snprintf(ret_path, room, "%s/culprit.XXXXXX", place) >= (int)room ||
	    !mkdtemp(ret_path))
		return false;
	hand_over_made(ret_path);
	if (!session_write_to(s, ret_path, &unused))
		return true;
	scratch_remove(ret_path);
	return false;
}

void rescue_samples(struct session *s, struct diag *diag)
{
	/* On disk as long as one has room: who rescues does not want to lose it with the power. */
	const char *places[] = {getenv("TMPDIR"), "/var/tmp", "/dev/shm"};
	unsigned long long samples = session_unwritten(s);
	char path[512];

	if (!samples)
		return;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (write_below(s, places[i], path, sizeof(path))) {
			diag_fail(diag, EIO, "%s; the %llu %s not there %s in %s", diag->text,
				  samples,
				  text_plural(samples, "sample that is", "samples that are"),
				  text_plural(samples, "is", "are"), path);
			return;
		}
	diag_fail(diag, EIO, "%s; %llu %s lost", diag->text, samples,
		  text_plural(samples, "sample is", "samples are"));
}

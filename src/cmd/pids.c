/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/pids.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "collect/process/procfs.h"
#include "util/log.h"
#include "util/num.h"
#include "util/text.h"

/* The number of a thread would never be met: samples are by process. */
static int add(struct pids *p, pid_t pid, struct diag *diag)
{
	pid_t process = procfs_process_of(pid);

	if (process && process != pid)
		return diag_fail(diag, EINVAL,
				 "%d is a thread of process %d; -p %d samples all of its threads",
				 (int)pid, (int)process, (int)process);
	p->list[p->count++] = pid;
	return 0;
}

int pids_parse(struct pids *p, const char *text, struct diag *diag)
{
	char *copy = strdup(text), *rest = copy, *one;
	uint64_t pid;
	int r = copy ? 0 : diag_fail(diag, ENOMEM, "out of memory");

	while (!r && (one = strsep(&rest, ","))) {
		if (num_parse_u64(one, &pid) || pid == 0 || pid > INT32_MAX)
			r = diag_fail(diag, EINVAL, "'%s' is not a process number", one);
		else if (p->count == PIDS_MAX)
			r = diag_fail(diag, E2BIG, "more than %d processes", PIDS_MAX);
		else if (kill((pid_t)pid, 0) && errno == ESRCH)
			r = diag_fail(diag, ESRCH, "there is no process %s", one);
		else
			r = add(p, (pid_t)pid, diag);
	}
	free(copy);
	return r;
}

int pids_follow(const struct pids *p, struct session *s, struct diag *diag)
{
	int r = 0;

	for (size_t i = 0; !r && i < p->count; i++)
		r = session_follow(s, p->list[i], diag);
	return r;
}

int pids_check(const struct pids *p, struct diag *diag)
{
	if (p->tree && !p->count)
		return diag_fail(diag, EINVAL, "--tree is for processes that -p names");
	return 0;
}

void pids_tell_descendants(const struct pids *p, const struct session *s)
{
	struct session_status status;

	session_read_status(s, &status);
	if (p->count && status.joined)
		log_notice("%llu %s that came of %s before now %s sampled, too",
			   TEXT_COUNT(status.joined, "process", "processes"),
			   text_plural(p->count, "it", "them"),
			   text_plural(status.joined, "is", "are"));
	if (p->count && status.left_out)
		log_notice("%llu %s that came of %s before now %s not sampled; --tree "
			   "samples %s too",
			   TEXT_COUNT(status.left_out, "process", "processes"),
			   text_plural(p->count, "it", "them"),
			   text_plural(status.left_out, "is", "are"),
			   text_plural(status.left_out, "it", "them"));
}

bool pids_any_alive(const struct pids *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (kill(p->list[i], 0) == 0 || errno != ESRCH)
			return true;
	return false;
}

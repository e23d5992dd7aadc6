/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_THREAD_NAME_BPF_H
#define CULPRIT_BPF_THREAD_NAME_BPF_H

/*
 * The names of threads. Include it after a struct task_struct that has pid, tgid and comm.
 */

/* The name of a thread; process_name: that of its process's first thread. False: it has the name of
 * its process, as most have. */
static __always_inline bool thread_name(const struct task_struct *task, const void *process_name,
					struct wire_name *ret)
{
	if (task->pid == task->tgid)
		return false;

	const __u64 *own = (const void *)task->comm;
	const __u64 *process = process_name;

	ret->half[0] = own[0];
	ret->half[1] = own[1];
	return own[0] && (own[0] != process[0] || own[1] != process[1]);
}

#endif

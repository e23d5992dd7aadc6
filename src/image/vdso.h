/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_VDSO_H
#define CULPRIT_IMAGE_VDSO_H

/* A copy of the running kernel's vDSO, as a file that the worker can read: a descriptor, or -1 when
 * there is none. */
int image_vdso_copy(void);

#endif

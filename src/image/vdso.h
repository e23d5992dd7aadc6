/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_VDSO_H
#define CULPRIT_IMAGE_VDSO_H

/* A copy of the running kernel's vDSO as a file for the worker: a descriptor, -1: there is none. */
int image_vdso_copy(void);

#endif

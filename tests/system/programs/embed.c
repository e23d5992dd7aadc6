/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The interpreter of Python, as a library in a program: embed SCRIPT [ARGUMENT...]. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *python = dlopen("libpython3.11.so.1.0", RTLD_NOW | RTLD_GLOBAL);
	int (*run)(int, char **) =
		python ? (int (*)(int, char **))dlsym(python, "Py_BytesMain") : NULL;

	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 77;
	}
	return run(argc, argv);
}

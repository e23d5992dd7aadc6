/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"
#include "image/worker.h"

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	return cmd_main(argc, argv);
}

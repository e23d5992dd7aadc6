/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"
#include "exchange/import.h"
#include "image/worker/worker.h"

int main(int argc, char **argv)
{
	/* Before anything else: in the children that parse foreign files this is all there is. */
	image_worker_dispatch(argc, argv);
	import_dispatch(argc, argv);
	return cmd_main(argc, argv);
}

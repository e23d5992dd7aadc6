/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/rank.h"
#include "cmd/export.h"
#include "exchange/xml.h"

/* culprit export --xml: samples by load module, file, function and line. */

int export_xml(struct report_options *report, const char *file, struct diag *diag)
{
	struct rank_options by = {.by = RANK_LINE, .function = report->function, .loops = true};
	struct export_source s = {0};
	struct rank_source source;
	struct rank *rank = NULL;
	struct buf b;
	int r = export_open(&s, report, rank_group(by.by), diag);

	if (!r)
		r = query_read(s.query, s.reader, diag);
	if (!r) {
		source = report_source(s.finder);
		r = rank_new(s.query, &by, &source, &rank, diag);
	}
	if (!r) {
		size_t count;
		const struct db_epoch *const *epochs = db_reader_selected(s.reader, &count);

		buf_init(&b, EXPORT_MAX_BYTES);
		xml_write_profile(s.query, rank, count ? epochs[0]->name : "", &b);
		r = export_save(&b, file, diag);
		buf_free(&b);
	}
	rank_free(rank);
	export_close(&s);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/rank.h"
#include "cmd/export.h"
#include "exchange/xml.h"

/* culprit export --xml: samples by load module, file, function and line. */

static bool extent(void *arg, const struct query_image *image, uint64_t *ret_start,
		   uint64_t *ret_length)
{
	struct image_layout *layout;
	uint64_t start = UINT64_MAX, end = 0;

	if (image_find_layout(arg, &image->id, image->path, &layout, NULL))
		return false;
	for (size_t i = 0; i < layout->code_count; i++) {
		start = layout->code[i].start < start ? layout->code[i].start : start;
		end = layout->code[i].end > end ? layout->code[i].end : end;
	}
	image_layout_free(layout);
	*ret_start = start;
	*ret_length = end - start;
	return start < end;
}

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
		const struct xml_modules modules = {extent, s.finder};
		const struct db_epoch *const *epochs = db_reader_selected(s.reader, &count);

		buf_init(&b, EXPORT_MAX_BYTES);
		xml_write_profile(s.query, rank, &modules, count ? epochs[0]->name : "", &b);
		r = export_save(&b, file, diag);
		buf_free(&b);
	}
	rank_free(rank);
	export_close(&s);
	return r;
}

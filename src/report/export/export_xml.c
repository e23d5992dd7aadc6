/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/query/rank.h"
#include "exchange/xml.h"
#include "report/export/export.h"

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

int export_xml(struct report_session *s, struct buf *to, struct diag *diag)
{
	struct rank_options by = {.by = RANK_LINE, .function = s->options->function, .loops = true};
	struct rank_source source = report_session_source(s);
	const struct db_epoch *const *epochs;
	struct rank *rank = NULL;
	size_t count;
	int r = report_session_read(s, NULL, rank_group(by.by), diag);

	if (!r)
		r = rank_new(s->query, &by, &source, &rank, diag);
	if (!r) {
		const struct xml_modules modules = {extent, s->finder};

		epochs = db_reader_selected(s->reader, &count);
		xml_write_profile(s->query, rank, &modules, count ? epochs[0]->name : "", to);
	}
	rank_free(rank);
	return r;
}

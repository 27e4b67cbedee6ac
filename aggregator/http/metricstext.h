/* metricstext.h - texts of metrics (OpenMetrics 1.0) put together
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A text is lines: "# TYPE family type", "# HELP ...", "# UNIT ...", then the
 * samples of that family. Each job has texts of its own; in one answer the
 * samples of a family must follow each other.
 */
#ifndef CK_AGGREGATOR_HTTP_METRICSTEXT_H
#define CK_AGGREGATOR_HTTP_METRICSTEXT_H

#include <stddef.h>
#include <stdio.h>

/* Write the texts as one, without "# EOF" at its end. */
void metricstext_join(FILE *out, const char *const *texts, size_t count);

/* `now` with the samples of counters and histograms that are not below those of
 * `before`: what a merge of more data puts down to another cause must not look
 * like a counter that began anew. The caller's to free; NULL without memory. */
char *metricstext_rise(const char *before, const char *now);

#endif

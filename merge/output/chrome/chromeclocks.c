/* chromeclocks.c - how well the clocks are known, in a Chrome trace
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/chrome/chromeclocks.h"

#include <stdio.h>

#include "merge/output/clockbounds.h"

/* Process number of the counters. */
#define CLOCKS_PID 20000000

struct counters {
    struct chromewriter *writer;
    const struct defs *defs;
};

static void
sample_put(void *state, uint32_t clock, ck_time_t time, ck_time_t bound)
{
    const struct counters *counters = state;
    struct chromewriter *writer = counters->writer;
    char name[300];

    /* Clocks of one host have different numbers. */
    (void)snprintf(name, sizeof(name), "bound of clock %u (%.200s), ns", clock,
                   counters->defs->domains[clock].host);
    chromewriter_begin(writer, "C", CLOCKS_PID, 0);
    chromewriter_name(writer, name);
    chromewriter_time(writer, time);
    chromewriter_int(writer, ",\"args\":{\"value\":", bound);
    sink_text(writer->sink, "}");
    chromewriter_end(writer);
}

void chromeclocks_put(struct chromewriter *writer,
                      const struct defs *defs,
                      const struct align *align,
                      struct region part)
{
    struct counters counters = {writer, defs};

    if (defs->domains_count < 2) {
        return;
    }
    chromewriter_meta(writer, "process_name", CLOCKS_PID, 0, "clocks");
    chromewriter_sort(writer, "process_sort_index", CLOCKS_PID, 0, CLOCKS_PID);
    clockbounds_each(defs, align, part, sample_put, &counters);
}

void chromeclocks_list(struct chromewriter *writer,
                       const struct defs *defs,
                       const struct align *align)
{
    sink_text(writer->sink, ",\"clocks\":[");
    for (uint32_t i = 0; i < defs->domains_count; i++) {
        chromewriter_int(writer, i > 0 ? ",{\"clock\":" : "{\"clock\":", i);
        sink_text(writer->sink, ",\"host\":");
        sink_string(writer->sink, defs->domains[i].host);
        sink_text(writer->sink, align_domain(align, i).is_calibrated
                                    ? ",\"calibrated\":true}"
                                    : ",\"calibrated\":false}");
    }
    sink_text(writer->sink, "]");
}

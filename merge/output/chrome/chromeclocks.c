/* chromeclocks.c - how well the clocks are known, in a Chrome trace
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A sample is the largest bound of a stretch of the trace, so that no instant
 * of a clock is worse than what is drawn. Where it does not change there is
 * none.
 */
#include "merge/output/chrome/chromeclocks.h"

#include <stdio.h>

/* Process number of the counters. */
#define CLOCKS_PID 20000000
/* Of all clocks together: with more clocks a sample is of a longer stretch. */
#define SAMPLES_MAX 65536
/* In place of a bound where there is none. */
#define NOT_KNOWN (-1)

static uint32_t agent_of(const struct defs *defs, uint32_t domain)
{
    uint32_t agent = 0;

    while (agent < defs->agents_count && defs->agents[agent].domain != domain) {
        agent++;
    }
    return agent;
}

/* Parts of the trace that one sample is of. */
static size_t parts_together(size_t clocks)
{
    size_t together = 1;

    while (together < CLOCKPARTS &&
           clocks * (CLOCKPARTS / together) > SAMPLES_MAX) {
        together *= 2;
    }
    return together;
}

static ck_time_t parts_most(const ck_time_t *parts, size_t count)
{
    ck_time_t most = 0;

    for (size_t i = 0; i < count; i++) {
        most = parts[i] > most ? parts[i] : most;
    }
    return most == CLOCKMAP_ERROR_UNKNOWN ? NOT_KNOWN : most;
}

static void sample_put(struct chromewriter *writer,
                       const char *name,
                       ck_time_t time,
                       ck_time_t bound)
{
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
    const ck_time_t stretch[2] = {part.start, part.end};
    size_t together = parts_together(defs->domains_count);

    if (defs->domains_count < 2) {
        return;
    }
    chromewriter_meta(writer, "process_name", CLOCKS_PID, 0, "clocks");
    chromewriter_sort(writer, "process_sort_index", CLOCKS_PID, 0, CLOCKS_PID);
    for (uint32_t i = 0; i < defs->domains_count; i++) {
        uint32_t agent = agent_of(defs, i);
        ck_time_t parts[CLOCKPARTS], last = NOT_KNOWN - 1;
        char name[300];

        if (agent == defs->agents_count ||
            align_bound_parts(align, agent, stretch, parts) != 0) {
            continue;
        }
        /* Clocks of one host have different numbers. */
        (void)snprintf(name, sizeof(name), "bound of clock %u (%.200s), ns", i,
                       defs->domains[i].host);
        for (size_t k = 0; k < CLOCKPARTS; k += together) {
            ck_time_t bound = parts_most(&parts[k], together);

            if (bound != last) {
                sample_put(writer, name,
                           part.start +
                               (ck_time_t)((__int128)region_length(part) *
                                           (__int128)k / CLOCKPARTS),
                           bound);
            }
            last = bound;
        }
    }
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

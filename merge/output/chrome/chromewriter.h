/* chromewriter.h - events of a Chrome trace, one behind the other
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What all events have; who begins one adds what it alone has, and ends it.
 */
#ifndef CK_MERGE_OUTPUT_CHROME_CHROMEWRITER_H
#define CK_MERGE_OUTPUT_CHROME_CHROMEWRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/output/sink.h"
#include "schema/time.h"

struct chromewriter {
    struct sink *sink; /* borrowed */
    ck_time_t zero;    /* of the trace, on the axis */
    bool has_events;
};

/* {"ph":"X","pid":0,"tid":7 */
void chromewriter_begin(struct chromewriter *writer,
                        const char *phase,
                        int64_t pid,
                        int64_t tid);
/* NULL = it has none. */
void chromewriter_name(struct chromewriter *writer, const char *name);
void chromewriter_time(struct chromewriter *writer, ck_time_t time);
/* `name` is all that comes before the number: ,"args":{"bytes": */
void chromewriter_int(struct chromewriter *writer,
                      const char *name,
                      int64_t value);
void chromewriter_end(struct chromewriter *writer);

/* A whole metadata event, with a text or a number. */
void chromewriter_meta(struct chromewriter *writer,
                       const char *kind,
                       int64_t pid,
                       int64_t tid,
                       const char *text);
void chromewriter_sort(struct chromewriter *writer,
                       const char *kind,
                       int64_t pid,
                       int64_t tid,
                       int64_t index);

#endif

/* chromewriter.c - events of a Chrome trace, one behind the other
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/chrome/chromewriter.h"

#include <stddef.h>

#define UNNAMED "(no name)"

void chromewriter_begin(struct chromewriter *writer,
                        const char *phase,
                        int64_t pid,
                        int64_t tid)
{
    struct sink *sink = writer->sink;

    sink_text(sink, writer->has_events ? ",\n{\"ph\":\"" : "{\"ph\":\"");
    writer->has_events = true;
    sink_text(sink, phase);
    sink_text(sink, "\",\"pid\":");
    sink_int(sink, pid);
    sink_text(sink, ",\"tid\":");
    sink_int(sink, tid);
}

void chromewriter_name(struct chromewriter *writer, const char *name)
{
    sink_text(writer->sink, ",\"name\":");
    sink_string(writer->sink, name == NULL ? UNNAMED : name);
}

void chromewriter_time(struct chromewriter *writer, ck_time_t time)
{
    sink_text(writer->sink, ",\"ts\":");
    sink_us(writer->sink, time - writer->zero);
}

void chromewriter_int(struct chromewriter *writer,
                      const char *name,
                      int64_t value)
{
    sink_text(writer->sink, name);
    sink_int(writer->sink, value);
}

void chromewriter_end(struct chromewriter *writer)
{
    sink_text(writer->sink, "}");
}

void chromewriter_meta(struct chromewriter *writer,
                       const char *kind,
                       int64_t pid,
                       int64_t tid,
                       const char *text)
{
    chromewriter_begin(writer, "M", pid, tid);
    chromewriter_name(writer, kind);
    sink_text(writer->sink, ",\"args\":{\"name\":");
    sink_string(writer->sink, text);
    sink_text(writer->sink, "}");
    chromewriter_end(writer);
}

void chromewriter_sort(struct chromewriter *writer,
                       const char *kind,
                       int64_t pid,
                       int64_t tid,
                       int64_t index)
{
    chromewriter_begin(writer, "M", pid, tid);
    chromewriter_name(writer, kind);
    chromewriter_int(writer, ",\"args\":{\"sort_index\":", index);
    sink_text(writer->sink, "}");
    chromewriter_end(writer);
}

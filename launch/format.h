/* format.h - the formats that ckmerge writes, as "NAME" or "NAME=FILE"
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ckagg and cklaunch hand them on, and refuse a wrong one before a job runs.
 */
#ifndef CK_LAUNCH_FORMAT_H
#define CK_LAUNCH_FORMAT_H

#include "schema/err.h"

/* Every format, once: FORMAT(NAME, name, its own file in a run; NULL = stdout,
 * of csv a directory that is always named). `last` comes behind "or". */
#define CK_FORMATS(FORMAT, last)                                               \
    FORMAT(TEXT, "text", NULL)                                                 \
    FORMAT(JSON, "json", NULL)                                                 \
    FORMAT(HTML, "html", "report.html")                                        \
    FORMAT(CHROME, "chrome", "trace.json")                                     \
    FORMAT(PERFETTO, "perfetto", "trace.pftrace")                              \
    FORMAT(SQLITE, "sqlite", "trace.sqlite")                                   \
    FORMAT(CSV, "csv", NULL)                                                   \
    FORMAT(FOLDED, "folded", "stacks.folded")                                  \
    FORMAT(FOLDED_WAITS, "folded-waits", "waits.folded")                       \
    FORMAT(FOLDED_MEMORY, "folded-memory", "memory.folded")                    \
    FORMAT(FOLDED_DEVICE, "folded-device", "device.folded")                    \
    FORMAT(FOLDED_DIFF, "folded-diff", "diff.folded")                          \
    FORMAT(SPEEDSCOPE, "speedscope", "stacks.speedscope.json")                 \
    FORMAT(FLAMESCOPE, "flamescope", "stacks.perf")                            \
    FORMAT(FIREFOX, "firefox", "stacks.firefox.json")                          \
    FORMAT(SVG_LEDGER, "svg-ledger", NULL)                                     \
    FORMAT(SVG_TIMELINE, "svg-timeline", NULL)                                 \
    FORMAT(SVG_STEPS, "svg-steps", NULL)                                       \
    FORMAT(SVG_FLAME, "svg-flame", NULL)                                       \
    FORMAT(OPENMETRICS, "openmetrics", NULL)                                   \
    last(WHERE, "where", NULL)

enum ck_format {
#define CK_FORMAT_ENUM(NAME, name, own) CK_FORMAT_##NAME,
    CK_FORMATS(CK_FORMAT_ENUM, CK_FORMAT_ENUM) CK_FORMAT_COUNT
};

/* For completion ("text|json|..."), and for people ("text, json ... or ...").
 */
#define CK_FORMAT_BAR(NAME, name, own) name "|"
#define CK_FORMAT_COMMA(NAME, name, own) name ", "
#define CK_FORMAT_BARE(NAME, name, own) name
#define CK_FORMAT_OR(NAME, name, own) "or " name
#define CK_FORMAT_NAMES CK_FORMATS(CK_FORMAT_BAR, CK_FORMAT_BARE)
#define CK_FORMAT_LIST CK_FORMATS(CK_FORMAT_COMMA, CK_FORMAT_OR)

/* The name of its own file in a run; NULL = it has none. */
const char *ck_format_own(enum ck_format format);
/* The format, or -1 with err. *file is what follows "=", NULL = none;
 * it points into the text. */
int ck_format_parse(const char *text, const char **file, struct ck_err *err);
/* Each is a format, and one at most goes to stdout. `taken`: what goes there
 * besides, NULL = nothing. 0, or -1 with err. */
int ck_formats_check(const char *const *items,
                     int count,
                     const char *taken,
                     struct ck_err *err);

#endif

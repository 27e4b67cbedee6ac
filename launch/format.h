/* format.h - the formats that ckmerge writes, as "NAME" or "NAME=FILE"
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ckagg and cklaunch hand them on, and refuse a wrong one before a job runs.
 */
#ifndef CK_LAUNCH_FORMAT_H
#define CK_LAUNCH_FORMAT_H

#include "schema/err.h"

/* Every format, once: FORMAT(NAME, name). `last` comes behind "or". */
#define CK_FORMATS(FORMAT, last)                                               \
    FORMAT(TEXT, "text")                                                       \
    FORMAT(JSON, "json")                                                       \
    FORMAT(HTML, "html")                                                       \
    FORMAT(CHROME, "chrome")                                                   \
    FORMAT(PERFETTO, "perfetto")                                               \
    FORMAT(SQLITE, "sqlite")                                                   \
    FORMAT(CSV, "csv")                                                         \
    FORMAT(FOLDED, "folded")                                                   \
    FORMAT(FOLDED_WAITS, "folded-waits")                                       \
    FORMAT(FOLDED_MEMORY, "folded-memory")                                     \
    FORMAT(FOLDED_DEVICE, "folded-device")                                     \
    FORMAT(FOLDED_DIFF, "folded-diff")                                         \
    FORMAT(SPEEDSCOPE, "speedscope")                                           \
    FORMAT(FLAMESCOPE, "flamescope")                                           \
    FORMAT(FIREFOX, "firefox")                                                 \
    FORMAT(SVG_LEDGER, "svg-ledger")                                           \
    FORMAT(SVG_TIMELINE, "svg-timeline")                                       \
    FORMAT(SVG_STEPS, "svg-steps")                                             \
    FORMAT(SVG_FLAME, "svg-flame")                                             \
    FORMAT(OPENMETRICS, "openmetrics")                                         \
    last(WHERE, "where")

enum ck_format {
#define CK_FORMAT_ENUM(NAME, name) CK_FORMAT_##NAME,
    CK_FORMATS(CK_FORMAT_ENUM, CK_FORMAT_ENUM)
};

/* For completion ("text|json|..."), and for people ("text, json ... or ...").
 */
#define CK_FORMAT_BAR(NAME, name) name "|"
#define CK_FORMAT_COMMA(NAME, name) name ", "
#define CK_FORMAT_BARE(NAME, name) name
#define CK_FORMAT_OR(NAME, name) "or " name
#define CK_FORMAT_NAMES CK_FORMATS(CK_FORMAT_BAR, CK_FORMAT_BARE)
#define CK_FORMAT_LIST CK_FORMATS(CK_FORMAT_COMMA, CK_FORMAT_OR)

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

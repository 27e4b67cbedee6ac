/* format.h - the formats that ckmerge writes, as "NAME" or "NAME=FILE"
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ckagg and cklaunch hand them on, and refuse a wrong one before a job runs.
 */
#ifndef CK_LAUNCH_FORMAT_H
#define CK_LAUNCH_FORMAT_H

#include "schema/err.h"

/* In the order of the enum: for completion, and for people. */
#define CK_FORMAT_NAMES                                                        \
    "text|json|html|chrome|perfetto|sqlite|csv|folded|speedscope|"             \
    "svg-ledger|svg-timeline|svg-steps|svg-flame|openmetrics|where"
#define CK_FORMAT_LIST                                                         \
    "text, json, html, chrome, perfetto, sqlite, csv, folded, speedscope, "    \
    "svg-ledger, svg-timeline, svg-steps, svg-flame, openmetrics or where"

enum ck_format {
    CK_FORMAT_TEXT,
    CK_FORMAT_JSON,
    CK_FORMAT_HTML,
    CK_FORMAT_CHROME,
    CK_FORMAT_PERFETTO,
    CK_FORMAT_SQLITE,
    CK_FORMAT_CSV,
    CK_FORMAT_FOLDED,
    CK_FORMAT_SPEEDSCOPE,
    CK_FORMAT_SVG_LEDGER,
    CK_FORMAT_SVG_TIMELINE,
    CK_FORMAT_SVG_STEPS,
    CK_FORMAT_SVG_FLAME,
    CK_FORMAT_OPENMETRICS,
    CK_FORMAT_WHERE,
};

/* The format, or -1 with err. *file is what follows "=", NULL = none;
 * it points into the text. */
int ck_format_parse(const char *text, const char **file, struct ck_err *err);

#endif

/* debugpackage.h - what would name the functions of code without symbols
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The package that has a file is found in dpkg's lists, which are read as
 * files, if the file of that very build is on this host.
 */
#ifndef CK_MERGE_DEBUGPACKAGE_H
#define CK_MERGE_DEBUGPACKAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Where this system keeps what is installed; "" = as it is. For tests. */
struct debugpackage_roots {
    const char *dpkg; /* "/var/lib/dpkg/info" */
    const char *rpm;  /* "/var/lib/rpm" */
};

/* The Debian package that has the file, without its architecture. False: none
 * has it. */
bool debugpackage_find(const char *info,
                       const char *path,
                       char *package,
                       size_t room);
/* Has the file that build id, in its beginning? */
bool debugpackage_is_build(const char *path, const char *build_id);

/* Write report->unnamed, from its hot spots. */
void debugpackage_report(const struct defs *defs,
                         const struct debugpackage_roots *roots,
                         struct report *report);

#endif

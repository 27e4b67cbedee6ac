/* mpilibrary.c - what is code of the MPI library, and of what it brings
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/calls/mpilibrary.h"

#include <string.h>

/* Beginnings of names of files: Open MPI and its plug-ins, MPICH, what starts
 * processes, and the layers below for networks. */
static const char *const files[] = {
    "libmpi",     "mca_",      "libopen-pal", "libopen-rte", "libompi",
    "libpmix",    "libprrte",  "libevent",    "libhwloc",    "libucp",
    "libuct",     "libucs",    "libucm",      "libpsm",      "libfabric",
    "libibverbs", "librdmacm", "libefa",      "libmunge",    "libpmi",
    "libmlx",     "libhcoll",  "libportals",  "libxpmem",
};

static bool is_library(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (strncmp(name, files[i], strlen(files[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool mpilibrary_has(const struct defs *defs, uint32_t process, uint64_t site)
{
    const struct defs_process *owner = &defs->processes[process];
    struct place place;

    if (site == 0 || site >= CK_SITE_TOLD) {
        return false;
    }
    for (size_t i = owner->modules_count; i-- > 0;) {
        const struct defs_module *module = &owner->modules[i];

        if (module->start < site && site <= module->end) {
            return is_library(module->path);
        }
    }
    /* "libevent_core-2.1.so.7.0.1+0x26723" */
    place = defs_place(defs, process, site);
    return place.file == NULL && place.function != NULL &&
           strstr(place.function, "+0x") != NULL && is_library(place.function);
}

/* libraries.h - the injected libraries, by paths that the loader can take
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_FRONT_LIBRARIES_H
#define CK_AGENT_FRONT_LIBRARIES_H

#include <limits.h>
#include <stdbool.h>

#include "agent/front/target.h"
#include "schema/err.h"

/* Libraries that are preloaded, at most (libraries.c): a path each. */
#define LIBRARIES_PRELOADED 8

/* Libraries that a runtime opens by a variable, at most (libraries.c). */
#define LIBRARIES_NAMED 8

struct libraries {
    char preload[LIBRARIES_PRELOADED * PATH_MAX]; /* for LD_PRELOAD, separated
                                                     by ':'; "" = none */
    char paths[LIBRARIES_NAMED][PATH_MAX];
    struct target_variable named[LIBRARIES_NAMED]; /* with these paths */
    size_t named_count;
};

struct libraries_wish {
    bool has_posix;       /* calls of libc are recorded */
    bool has_allocations; /* what is asked of the allocator, too */
};

/* Find what was built. A directory with a blank or a colon in its name, which
 * LD_PRELOAD cannot take, is reached by a link in our private runtime
 * directory. 0, or -1 with err: no such link can be made, and where to put ck
 * instead; *libraries is complete but for what cannot be loaded. */
int libraries_find(struct libraries *libraries,
                   const struct libraries_wish *wish,
                   struct ck_err *err);

/* The path by which the loader takes a library at `path`: itself, or one by
 * a link in `dir`. 0, or -1 with errno. */
int libraries_link(const char *path, const char *dir, char loadable[PATH_MAX]);

#endif

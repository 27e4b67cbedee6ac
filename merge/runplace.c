/* runplace.c - the directory of the run that was read, to write into
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/runplace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "schema/fd.h"
#include "schema/store/run.h"

/* A file of one of the run's agents? */
static bool is_of(const char *name, const struct defs *defs)
{
    struct ck_run_name parsed;

    if (!ck_run_name(name, &parsed)) {
        return false;
    }
    for (size_t i = 0; i < defs->agents_count; i++) {
        if (memcmp(defs->agents[i].id, parsed.agent, sizeof(parsed.agent)) ==
            0) {
            return true;
        }
    }
    return false;
}

static bool has_agent(const char *path, const struct defs *defs)
{
    DIR *list = opendir(path);
    bool has_one = false;
    struct dirent *entry;

    while (list != NULL && !has_one && (entry = readdir(list)) != NULL) {
        has_one = is_of(entry->d_name, defs);
    }
    if (list != NULL) {
        (void)closedir(list);
    }
    return has_one;
}

int runplace_open(struct runplace *place,
                  const char *run,
                  const struct defs *defs,
                  struct ck_err *err)
{
    *place = (struct runplace){
        .run = run, .fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (place->fd < 0) {
        return ck_err_set(err, "cannot open %s: %s", run, strerror(errno));
    }
    (void)snprintf(place->path, sizeof(place->path), "/proc/self/fd/%d",
                   place->fd);
    if (access(place->path, F_OK) != 0) {
        (void)snprintf(place->path, sizeof(place->path), "%s", run);
    }
    if (!has_agent(place->path, defs)) {
        ck_fd_close(place->fd);
        return ck_err_set(err, "%s is not the directory that was read", run);
    }
    return 0;
}

int runplace_replace(const struct runplace *place,
                     const char *name,
                     const char *text,
                     size_t length,
                     struct ck_err *err)
{
    if (ck_run_replace(place->path, name, text, length, NULL) != 0) {
        return ck_err_set(err, "cannot write %s/%s: %s", place->run, name,
                          strerror(errno));
    }
    return 0;
}

void runplace_remove(const struct runplace *place, const char *name)
{
    (void)unlinkat(place->fd, name, 0);
}

void runplace_close(struct runplace *place)
{
    ck_fd_close(place->fd);
    place->fd = -1;
}

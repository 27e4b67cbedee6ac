/* files.c - the files that a store is read from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "merge/model/memory.h"

int64_t files_age(const struct ck_run_files *files)
{
    struct stat status;
    time_t latest = 0;

    for (size_t i = 0; i < files->count; i++) {
        if (stat(files->paths[i], &status) == 0 && status.st_mtime > latest) {
            latest = status.st_mtime;
        }
    }
    return (int64_t)(time(NULL) - latest);
}

bool files_is_segment(const char *path)
{
    struct ck_run_name name;

    return ck_run_name(path, &name) && name.kind != CK_RUN_SPOOL;
}

bool files_is_facts(const char *path)
{
    struct ck_run_name name;

    return ck_run_name(path, &name) && name.kind == CK_RUN_FACTS;
}

int files_append(struct ck_run_files *files,
                 const char *path,
                 struct ck_err *err)
{
    struct ck_run_files more = {NULL, 0};
    struct stat status;
    char **grown;
    size_t room;

    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        more.paths = xcalloc(1, sizeof(*more.paths));
        more.paths[0] = xstrdup(path);
        more.count = 1;
    } else if (ck_run_files(path, &more, err) != 0) {
        return -1;
    }
    if (more.count == 0) {
        return ck_err_set(err,
                          "%s has no segments and no spools (seg-*.ck, "
                          "spool-*.ck): not a run of ck, or nothing was "
                          "recorded",
                          path);
    }
    room = files->count + more.count;
    grown = xrealloc(files->paths, room * sizeof(*grown));
    memcpy(grown + files->count, more.paths, more.count * sizeof(*grown));
    files->paths = grown;
    files->count = room;
    free(more.paths);
    return 0;
}

/* spools.c - spools outside the run that its manifest names
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The name came from an agent: only a file of this user's own that is named as
 * the spool of just that agent is opened.
 */
#include "merge/input/spools.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/files.h"

static bool is_spool_of(const char *path, const uint8_t agent[16])
{
    struct ck_run_name name;
    struct stat status;

    return path[0] == '/' && ck_run_name(path, &name) &&
           name.kind == CK_RUN_SPOOL &&
           memcmp(name.agent, agent, sizeof(name.agent)) == 0 &&
           lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_uid == geteuid();
}

/* A copy of it is in the run, or it always was there. */
static bool is_listed(const struct ck_run_files *files, const char *path)
{
    const char *name = strrchr(path, '/');

    for (size_t i = 0; i < files->count; i++) {
        const char *other = strrchr(files->paths[i], '/');

        if (strcmp(other == NULL ? files->paths[i] : other + 1, name + 1) ==
            0) {
            return true;
        }
    }
    return false;
}

int spools_add(struct ck_run_files *files,
               const struct manifest *manifest,
               struct ck_err *err)
{
    for (size_t i = 0; i < manifest->agents_count; i++) {
        const struct manifest_agent *agent = &manifest->agents[i];

        if (agent->spool != NULL && is_spool_of(agent->spool, agent->id) &&
            !is_listed(files, agent->spool) &&
            files_append(files, agent->spool, err) != 0) {
            return -1;
        }
    }
    return 0;
}

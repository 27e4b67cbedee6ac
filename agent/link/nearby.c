/* nearby.c - the run that another host's agent made in the same directory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/link/nearby.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/store/owner.h"

#define PREFIX "ck-"
/* Clocks of hosts and of a file server differ, and steps start one by one. */
#define EARLIER_SECONDS 60
/* More runs of one minute in one directory are not looked at. */
#define OWNERS_MAX 64

/* A run of this user's that may be going on? */
static bool is_candidate(const char *path, int64_t start)
{
    char file[PATH_MAX];
    struct stat st;

    return snprintf(file, sizeof(file), "%s/" NEARBY_ENDPOINT, path) <
               (int)sizeof(file) &&
           lstat(file, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_uid == geteuid() && st.st_mtime >= start - EARLIER_SECONDS;
}

static bool is_run_of(const char *path, const char *job_key)
{
    struct ck_owner owner;

    return ck_owner_read(path, &owner) && !owner.is_done &&
           strcmp(owner.job_key, job_key) == 0;
}

bool nearby_find(const char *dir,
                 const char *job_key,
                 int64_t start,
                 char found[PATH_MAX])
{
    const char *slash = strrchr(dir, '/');
    char parent[PATH_MAX];
    struct dirent *entry;
    bool is_found = false;
    int owners = 0;
    DIR *stream;

    if (slash == NULL || snprintf(parent, sizeof(parent), "%.*s",
                                  (int)(slash - dir + 1), dir) >= PATH_MAX) {
        return false;
    }
    stream = opendir(parent);
    while (stream != NULL && !is_found && owners < OWNERS_MAX &&
           (entry = readdir(stream)) != NULL) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
            snprintf(found, PATH_MAX, "%s%s", parent, entry->d_name) <
                PATH_MAX &&
            is_candidate(found, start)) {
            owners++;
            is_found = is_run_of(found, job_key);
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    return is_found;
}

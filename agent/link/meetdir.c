/* meetdir.c - where agents of this user meet when the known place is taken
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel stamps new files with a clock that ticks each 10 ms at most. So
 * 20 ms after a directory was made everything as old as it is there. The oldest
 * of these, of one tick the first by name, is the same for all agents.
 */
#include "agent/link/meetdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES 40
#define RANDOM "XXXXXX"
#define SETTLED_NS 20000000
#define YOUNG_SECONDS 1

/* One that was found; name "" = none. */
struct meetdir {
    char name[NAME_BYTES];
    struct statx_timestamp made;
};

static bool is_older(const struct meetdir *a, const struct meetdir *b)
{
    if (a->made.tv_sec != b->made.tv_sec) {
        return a->made.tv_sec < b->made.tv_sec;
    }
    if (a->made.tv_nsec != b->made.tv_nsec) {
        return a->made.tv_nsec < b->made.tv_nsec;
    }
    return strcmp(a->name, b->name) < 0;
}

/* A directory of this user that no other user may look into. */
static bool look(int parent, struct meetdir *at)
{
    struct statx st;

    if (statx(parent, at->name, AT_SYMLINK_NOFOLLOW,
              STATX_TYPE | STATX_MODE | STATX_UID | STATX_BTIME, &st) != 0) {
        return false;
    }
    at->made = st.stx_btime; /* all 0 on a file system that has none */
    return S_ISDIR(st.stx_mode) && st.stx_uid == geteuid() &&
           (st.stx_mode & 077) == 0;
}

static struct meetdir oldest_find(const char *parent, const char *prefix)
{
    size_t length = strlen(prefix);
    struct meetdir oldest = {.name = ""};
    DIR *stream = opendir(parent);
    struct dirent *entry;

    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        struct meetdir at;

        if (strncmp(entry->d_name, prefix, length) != 0 ||
            strlen(entry->d_name) != length + strlen(RANDOM)) {
            continue;
        }
        (void)snprintf(at.name, sizeof(at.name), "%.*s", NAME_BYTES - 1,
                       entry->d_name);
        if (look(dirfd(stream), &at) &&
            (oldest.name[0] == '\0' || is_older(&at, &oldest))) {
            oldest = at;
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    return oldest;
}

/* So young that an older one may not have been seen yet. */
static bool is_young(const struct meetdir *at)
{
    return llabs((long long)time(NULL) - at->made.tv_sec) <= YOUNG_SECONDS;
}

int meetdir_find(const char *parent, char *dir, size_t room, struct ck_err *err)
{
    const struct timespec pause = {.tv_nsec = SETTLED_NS};
    char prefix[NAME_BYTES - sizeof(RANDOM)];
    char made[PATH_MAX] = "";
    struct meetdir oldest;

    (void)snprintf(prefix, sizeof(prefix), "ck-meet-%u-", (unsigned)geteuid());
    oldest = oldest_find(parent, prefix);
    if (oldest.name[0] == '\0') {
        (void)snprintf(made, sizeof(made), "%s/%s" RANDOM, parent, prefix);
        if (mkdtemp(made) == NULL) {
            return ck_err_set(err, "cannot make %s: %s", made, strerror(errno));
        }
    }
    if (made[0] != '\0' || is_young(&oldest)) {
        (void)nanosleep(&pause, NULL);
        oldest = oldest_find(parent, prefix);
    }
    if (oldest.name[0] == '\0' ||
        snprintf(dir, room, "%s/%s", parent, oldest.name) >= (int)room) {
        errno = ENOENT;
        return ck_err_set(err, "no directory of yours in %s", parent);
    }
    if (made[0] != '\0' && strcmp(made, dir) != 0) {
        (void)rmdir(made); /* no other agent chose it: that one was first */
    }
    return 0;
}

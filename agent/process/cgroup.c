/* cgroup.c - what a process's control groups limit: CPU time and memory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/process/procfile.h"

#define TEXT_BYTES (64 << 10)
#define LEVELS_MAX 32
#define MEMORY_NONE ((uint64_t)1 << 60)

/* False: there is none. */
static bool
folder_text(const char *folder, const char *name, char *text, size_t room)
{
    return procfile_read(text, room, "%s/%s", folder, name) > 0;
}

/* Is a word in a list that commas separate? */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; *at != '\0'; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 &&
            (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The path in "NUMBER:CONTROLLERS:PATH" of the hierarchy; version 2 has no
 * controllers there: NULL. */
static bool
group_path(const char *groups, const char *controller, char path[PATH_MAX])
{
    for (const char *line = groups; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        char controllers[256] = "";
        char found[PATH_MAX] = "";

        if (controller == NULL ? sscanf(line, "0::%4095[^\n]", found) == 1
                               : sscanf(line, "%*d:%255[^:]:%4095[^\n]",
                                        controllers, found) == 2 &&
                                     has_word(controllers, controller)) {
            strcpy(path, found);
            return true;
        }
        line += length + (line[length] == '\n');
    }
    return false;
}

/* Root and mount point of the hierarchy in a line of mountinfo. */
static bool mount_line(const char *line,
                       const char *controller,
                       char root[PATH_MAX],
                       char *mount)
{
    const char *rest = strstr(line, " - ");
    char type[32], options[256];

    if (rest == NULL ||
        sscanf(line, "%*d %*d %*s %4095s %4095s", root, mount) != 2 ||
        sscanf(rest, " - %31s %*s %255[^\n]", type, options) != 2) {
        return false;
    }
    return controller == NULL
               ? strcmp(type, "cgroup2") == 0
               : strcmp(type, "cgroup") == 0 && has_word(options, controller);
}

static bool mount_find(const char *mounts,
                       const char *controller,
                       char root[PATH_MAX],
                       char mount[PATH_MAX])
{
    for (const char *line = mounts; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        char text[3 * PATH_MAX];

        (void)snprintf(text, sizeof(text), "%.*s", (int)length, line);
        if (mount_line(text, controller, root, mount)) {
            return true;
        }
        line += length + (line[length] == '\n');
    }
    return false;
}

/* As cgroup_folder(), for any controller; NULL: version 2. */
static bool folder_find(const char *groups,
                        const char *mounts,
                        const char *controller,
                        char folder[PATH_MAX],
                        char mount[PATH_MAX])
{
    char path[PATH_MAX], root[PATH_MAX];
    const char *below = path;
    size_t length;
    int n;

    if (!group_path(groups, controller, path) ||
        !mount_find(mounts, controller, root, mount)) {
        return false;
    }
    /* A container's mount shows a part of the hierarchy. */
    length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (length > 0 && strncmp(path, root, length) == 0 &&
        (path[length] == '/' || path[length] == '\0')) {
        below = path + length;
    }
    below =
        strcmp(below, "/") == 0 || strncmp(below, "/..", 3) == 0 ? "" : below;
    n = snprintf(folder, PATH_MAX, "%s%s", mount, below);
    return n > 0 && n < PATH_MAX;
}

bool cgroup_folder(const char *groups,
                   const char *mounts,
                   bool is_v2,
                   char folder[PATH_MAX],
                   char mount[PATH_MAX])
{
    return folder_find(groups, mounts, is_v2 ? NULL : "cpu", folder, mount);
}

/* The quota of one level, in thousandths of a CPU; 0 = none. */
static int64_t level_quota(const char *folder)
{
    long long quota = 0, period = 0;
    char text[256];

    if (folder_text(folder, "cpu.max", text, sizeof(text))) {
        if (sscanf(text, "%lld %lld", &quota, &period) != 2) {
            return 0; /* "max" */
        }
    } else if (folder_text(folder, "cpu.cfs_quota_us", text, sizeof(text))) {
        quota = strtoll(text, NULL, 10);
        if (folder_text(folder, "cpu.cfs_period_us", text, sizeof(text))) {
            period = strtoll(text, NULL, 10);
        }
    }
    return quota > 0 && period > 0 ? quota * 1000 / period : 0;
}

static int64_t stat_field(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; *line != '\0';) {
        size_t bytes = strcspn(line, "\n");

        if (strncmp(line, key, length) == 0 && line[length] == ' ') {
            return strtoll(line + length, NULL, 10);
        }
        line += bytes + (line[bytes] == '\n');
    }
    return 0;
}

static void level_stat(struct cgroup_quota *quota)
{
    char text[1024];

    if (!folder_text(quota->folder, "cpu.stat", text, sizeof(text))) {
        return;
    }
    quota->periods = stat_field(text, "nr_periods");
    quota->throttled = stat_field(text, "nr_throttled");
    quota->throttled_ns = stat_field(text, "throttled_time") +
                          stat_field(text, "throttled_usec") * 1000;
}

void cgroup_narrowest(const char *folder,
                      const char *mount,
                      struct cgroup_quota *quota)
{
    char at[PATH_MAX];

    *quota = (struct cgroup_quota){.cpus_milli = 0};
    (void)snprintf(at, sizeof(at), "%s", folder);
    for (int i = 0; i < LEVELS_MAX && strlen(at) >= strlen(mount); i++) {
        int64_t cpus = level_quota(at);
        char *slash = strrchr(at, '/');

        if (cpus > 0 && (quota->cpus_milli == 0 || cpus < quota->cpus_milli)) {
            quota->cpus_milli = cpus;
            strcpy(quota->folder, at);
        }
        if (slash == NULL || slash == at) {
            break;
        }
        *slash = '\0';
    }
    if (quota->cpus_milli > 0) {
        level_stat(quota);
    }
}

void cgroup_read(pid_t pid, struct cgroup_quota *quota)
{
    char *mounts = malloc(TEXT_BYTES);
    char groups[8192];
    char folder[PATH_MAX], mount[PATH_MAX];

    *quota = (struct cgroup_quota){.cpus_milli = 0};
    if (mounts != NULL &&
        procfile_read(groups, sizeof(groups), "/proc/%d/cgroup", (int)pid) >
            0 &&
        folder_text("/proc/self", "mountinfo", mounts, TEXT_BYTES)) {
        for (int is_v2 = 0; is_v2 <= 1 && quota->cpus_milli == 0; is_v2++) {
            if (cgroup_folder(groups, mounts, is_v2 != 0, folder, mount)) {
                cgroup_narrowest(folder, mount, quota);
            }
        }
    }
    free(mounts);
}

/* The limit of one level, in bytes; 0 = none ("max", or a number near 2^63). */
static uint64_t level_memory(const char *folder)
{
    char text[64];
    uint64_t bytes;

    if (!folder_text(folder, "memory.max", text, sizeof(text)) &&
        !folder_text(folder, "memory.limit_in_bytes", text, sizeof(text))) {
        return 0;
    }
    bytes = strtoull(text, NULL, 10);
    return bytes < MEMORY_NONE ? bytes : 0;
}

uint64_t cgroup_memory_narrowest(const char *folder, const char *mount)
{
    uint64_t narrowest = 0;
    char at[PATH_MAX];

    (void)snprintf(at, sizeof(at), "%s", folder);
    for (int i = 0; i < LEVELS_MAX && strlen(at) >= strlen(mount); i++) {
        uint64_t bytes = level_memory(at);
        char *slash = strrchr(at, '/');

        if (bytes > 0 && (narrowest == 0 || bytes < narrowest)) {
            narrowest = bytes;
        }
        if (slash == NULL || slash == at) {
            break;
        }
        *slash = '\0';
    }
    return narrowest;
}

uint64_t cgroup_memory(void)
{
    static const char *const controllers[] = {"memory", NULL};
    uint64_t least =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    char *mounts = malloc(TEXT_BYTES);
    char folder[PATH_MAX], mount[PATH_MAX];
    char groups[8192];

    if (mounts != NULL &&
        folder_text("/proc/self", "cgroup", groups, sizeof(groups)) &&
        folder_text("/proc/self", "mountinfo", mounts, TEXT_BYTES)) {
        for (int i = 0; i < 2; i++) {
            uint64_t bytes =
                folder_find(groups, mounts, controllers[i], folder, mount)
                    ? cgroup_memory_narrowest(folder, mount)
                    : 0;

            least = bytes > 0 && bytes < least ? bytes : least;
        }
    }
    free(mounts);
    return least;
}

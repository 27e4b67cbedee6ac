/* libraries.c - the injected libraries, by paths that the loader can take
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ld.so parts LD_PRELOAD at blanks and colons and knows no quoting. So where
 * ck is in a directory with one of them in its name, a link takes the place of
 * the directory: <runtime directory>/lib-<hash of its path>.
 *
 * What a program starts has the variable, too, and its loader may be another
 * one: for 32-bit programs, or musl's. So LD_PRELOAD has $PLATFORM in place of
 * a directory, where the build has made one for each platform: a link to the
 * libraries, or libraries with nothing in them for 32-bit programs. glibc's
 * loaders put their names there; musl's does not, and goes on without a library
 * that it does not find.
 */
#include "agent/front/libraries.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/link/embedded.h"
#include "launch/child.h"
#include "schema/fnv.h"

/* The libraries that a runtime opens, each by its variable. */
static const struct {
    const char *file;
    const char *variable;
    enum target_join how;
} named[] = {
    {"libckopencl.so", "OPENCL_LAYERS", TARGET_BEFORE},
    {"libckcupti.so", "CUDA_INJECTION64_PATH", TARGET_UNSET},
    {"libcknccl.so", "NCCL_PROFILER_PLUGIN", TARGET_UNSET},
    {"libcknvtx.so", "NVTX_INJECTION64_PATH", TARGET_UNSET},
};
#define NAMED (sizeof(named) / sizeof(named[0]))
_Static_assert(NAMED + 1 <= LIBRARIES_NAMED, "struct libraries has room");

/* Those that are preloaded: of a program whose calls of libc are recorded, and
 * of one whose are not. libckcuda.so is last, for it may be left out. */
static const char *const all[] = {"libck.so", "libckcuda.so"};
static const char *const no_posix[] = {"libckmpi.so", "libckannotate.so",
                                       "libckomp.so", "libckcuda.so"};
#define ALL (sizeof(all) / sizeof(all[0]))
#define NO_POSIX (sizeof(no_posix) / sizeof(no_posix[0]))
_Static_assert(ALL <= LIBRARIES_PRELOADED && NO_POSIX <= LIBRARIES_PRELOADED,
               "struct libraries has room");

static bool is_loadable(const char *path)
{
    return path[strcspn(path, " \t\n:")] == '\0';
}

/* `link` leads to `target`: as it is, or made now. 0 or -1. */
static int link_make(const char *link, const char *target)
{
    char there[PATH_MAX];
    ssize_t n = readlink(link, there, sizeof(there) - 1);

    if (n >= 0) {
        there[n] = '\0';
        if (strcmp(there, target) == 0) {
            return 0;
        }
        (void)unlink(link);
    }
    if (symlink(target, link) == 0) {
        return 0;
    }
    /* Another agent of the job was faster. */
    n = readlink(link, there, sizeof(there) - 1);
    if (n < 0 || (size_t)n != strlen(target) ||
        memcmp(there, target, (size_t)n) != 0) {
        errno = EEXIST;
        return -1;
    }
    return 0;
}

int libraries_link(const char *path, const char *dir, char loadable[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    char link[PATH_MAX];
    char target[PATH_MAX];

    if (is_loadable(path) || slash == NULL) {
        (void)snprintf(loadable, PATH_MAX, "%s", path);
        return 0;
    }
    (void)snprintf(target, sizeof(target), "%.*s", (int)(slash - path), path);
    if (!is_loadable(dir) || !is_loadable(slash) ||
        snprintf(link, sizeof(link), "%s/lib-%016llx", dir,
                 (unsigned long long)ck_fnv(
                     CK_FNV_START, path, (size_t)(slash - path))) >= PATH_MAX ||
        snprintf(loadable, PATH_MAX, "%s%s", link, slash) >= PATH_MAX) {
        errno = EINVAL;
        return -1;
    }
    return link_make(link, target);
}

/* One library: "" when it was not built. 0, or -1 with err. */
static int
library_find(const char *name, char loadable[PATH_MAX], struct ck_err *err)
{
    char path[PATH_MAX];
    char dir[EMBEDDED_DIR];

    loadable[0] = '\0';
    if (ck_child_find(name, path, NULL) != 0) {
        return 0;
    }
    if (is_loadable(path)) {
        strcpy(loadable, path);
        return 0;
    }
    if (embedded_dir(dir, err) != 0) {
        return -1;
    }
    if (libraries_link(path, dir, loadable) != 0) {
        loadable[0] = '\0';
        return ck_err_set(err,
                          "'%.300s' cannot be loaded into the program: its "
                          "path has a blank or a colon; put ck elsewhere",
                          path);
    }
    return 0;
}

/* The same below the directory of the loader's platform, where there are such
 * directories. */
static void platform_insert(char path[PATH_MAX])
{
    static const char *const platforms[] = {"x86_64", "haswell", "xeon_phi"};
    const char *name = strrchr(path, '/');
    char there[PATH_MAX];

    for (size_t i = 0; i < sizeof(platforms) / sizeof(platforms[0]); i++) {
        if (snprintf(there, sizeof(there), "%.*s/%s%s", (int)(name - path),
                     path, platforms[i], name) >= PATH_MAX ||
            access(there, R_OK) != 0) {
            return;
        }
    }
    if (snprintf(there, sizeof(there), "%.*s/$PLATFORM%s", (int)(name - path),
                 path, name) < PATH_MAX) {
        strcpy(path, there);
    }
}

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    while (words != NULL) {
        size_t n = strcspn(words, ",");

        if (n == length && memcmp(words, word, n) == 0) {
            return true;
        }
        words = words[n] == ',' ? words + n + 1 : NULL;
    }
    return false;
}

/* Where there is no driver of NVIDIA there is nothing to wrap. */
static bool is_cuda_wanted(void)
{
    static const char *const devices[] = {"/dev/nvidiactl", "/dev/dxg"};
    const char *words = getenv("CKAGENT_CUPTI");

    if (has_word(words, "off") || has_word(words, "import")) {
        return false;
    }
    return has_word(words, "driver") || access(devices[0], F_OK) == 0 ||
           access(devices[1], F_OK) == 0;
}

/* In front of an allocator that the user preloads, whose functions it calls;
 * but behind a sanitizer's, which wants to be the first of all. */
static int allocations_find(struct libraries *libraries, struct ck_err *err)
{
    const char *theirs = getenv("LD_PRELOAD");
    char *path = libraries->paths[NAMED];
    int rc = library_find("libckmemory.so", path, err);

    if (path[0] != '\0') {
        platform_insert(path);
        libraries->named[libraries->named_count++] = (struct target_variable){
            "LD_PRELOAD", path,
            theirs != NULL && strstr(theirs, "san.so") != NULL ? TARGET_AFTER
                                                               : TARGET_BEFORE};
    }
    return rc;
}

int libraries_find(struct libraries *libraries,
                   const struct libraries_wish *wish,
                   struct ck_err *err)
{
    const char *const *preloads = wish->has_posix ? all : no_posix;
    size_t count = (wish->has_posix ? ALL : NO_POSIX) - !is_cuda_wanted();
    char path[PATH_MAX];
    size_t used = 0;
    int rc = 0;

    libraries->preload[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        rc |= library_find(preloads[i], path, err);
        if (path[0] != '\0') {
            platform_insert(path);
            used += (size_t)snprintf(libraries->preload + used,
                                     sizeof(libraries->preload) - used, "%s%s",
                                     used > 0 ? ":" : "", path);
        }
    }
    for (size_t i = 0; i < NAMED; i++) {
        char *found = libraries->paths[i];

        rc |= library_find(named[i].file, found, err);
        libraries->named[i] = (struct target_variable){
            named[i].variable, found[0] != '\0' ? found : NULL, named[i].how};
    }
    libraries->named_count = NAMED;
    return wish->has_allocations ? allocations_find(libraries, err) | rc : rc;
}

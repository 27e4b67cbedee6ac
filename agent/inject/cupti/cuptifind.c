/* cuptifind.c - the places of libcupti, in the order in which they are tried
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two copies in one process would fight over one driver hook, so a loaded one
 * is taken before all; but wheels of Python load theirs after cuInit, and it
 * has to be found where they have it: relative to what else of them is loaded.
 */
#include "agent/inject/cupti/cuptifind.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loaded copies match by SONAME only, newest first. */
static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12",
                                      "libcupti.so.11.8"};
#define SONAMES (sizeof(sonames) / sizeof(sonames[0]))
#define FIND_MAX 96
/* Drivers from which on there is the CUDA of the first of those, and of the
 * second. */
#define FIND_DRIVER_13 580
#define FIND_DRIVER_12 525

static struct {
    char *paths[FIND_MAX];
    size_t count, next;
    bool is_filled;
    unsigned driver; /* 0 = not known */
} find;

static void path_add(const char *dir, const char *below)
{
    for (size_t i = 0; i < SONAMES && find.count < FIND_MAX; i++) {
        if (asprintf(&find.paths[find.count], "%s%s/%s", dir, below,
                     sonames[i]) > 0) {
            find.count++;
        }
    }
}

/* Beside and near a directory of libraries of the toolkit, or of a wheel. */
static void near_add(const char *dir)
{
    path_add(dir, "");
    path_add(dir, "/../../cuda_cupti/lib");
    path_add(dir, "/../../cu13/lib");
    path_add(dir, "/../extras/CUPTI/lib64");
}

/* "libcuda.so.580.65.06" -> 580 */
static unsigned driver_of(const char *path)
{
    char real[PATH_MAX];
    const char *at;

    if (realpath(path, real) == NULL) {
        return 0;
    }
    at = strstr(real, "/libcuda.so.");
    return at == NULL ? 0 : (unsigned)strtoul(at + 12, NULL, 10);
}

static int object_seen(struct dl_phdr_info *info, size_t size, void *unused)
{
    static const char packages[] = "/site-packages/";
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *site = strstr(info->dlpi_name, packages);
    char dir[PATH_MAX];

    (void)size;
    (void)unused;
    if (slash == NULL) {
        return 0;
    }
    if (strncmp(slash, "/libcuda.so.", 12) == 0) {
        find.driver = driver_of(info->dlpi_name);
    }
    if (strncmp(slash, "/libcudart.so", 13) == 0) {
        (void)snprintf(dir, sizeof(dir), "%.*s", (int)(slash - info->dlpi_name),
                       info->dlpi_name);
        near_add(dir);
    }
    /* One object of each directory of packages is enough. */
    if (site != NULL && find.count < FIND_MAX / 2) {
        (void)snprintf(dir, sizeof(dir), "%.*s",
                       (int)(site - info->dlpi_name + sizeof(packages) - 1),
                       info->dlpi_name);
        if (find.count == 0 ||
            strncmp(find.paths[find.count - 1], dir, strlen(dir)) != 0) {
            path_add(dir, "nvidia/cu13/lib");
            path_add(dir, "nvidia/cuda_cupti/lib");
        }
    }
    return 0;
}

static void environment_add(void)
{
    static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH"};
    const char *conda = getenv("CONDA_PREFIX");

    if (conda != NULL) {
        path_add(conda, "/lib");
    }
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        const char *root = getenv(roots[i]);

        if (root != NULL && root[0] != '\0') {
            path_add(root, "/lib64");
            path_add(root, "/extras/CUPTI/lib64");
        }
    }
    path_add("/usr/local/cuda", "/lib64");
    path_add("/usr/local/cuda", "/extras/CUPTI/lib64");
}

/* Which of the names the driver has no CUDA for: it would not subscribe. */
static bool is_too_new(const char *path)
{
    return (find.driver != 0 && find.driver < FIND_DRIVER_13 &&
            strstr(path, sonames[0]) != NULL) ||
           (find.driver != 0 && find.driver < FIND_DRIVER_12 &&
            strstr(path, sonames[1]) != NULL);
}

/* Those that the driver may refuse come last; among the others the order
 * stays. */
static void paths_sort(void)
{
    char *sorted[FIND_MAX];
    size_t count = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < find.count; i++) {
            if (is_too_new(find.paths[i]) == (pass == 1)) {
                sorted[count++] = find.paths[i];
            }
        }
    }
    memcpy(find.paths, sorted, count * sizeof(sorted[0]));
}

static void paths_fill(void)
{
    find.is_filled = true;
    /* What wheels and the runtime have is theirs; the loader's own next. */
    (void)dl_iterate_phdr(object_seen, NULL);
    for (size_t i = 0; i < SONAMES && find.count < FIND_MAX; i++) {
        find.paths[find.count] = strdup(sonames[i]);
        find.count += find.paths[find.count] != NULL;
    }
    environment_add();
    paths_sort();
}

void *cuptifind_loaded(void)
{
    void *library = NULL;

    for (size_t i = 0; library == NULL && i < SONAMES; i++) {
        library = dlopen(sonames[i], RTLD_NOW | RTLD_NOLOAD);
    }
    return library;
}

void *cuptifind_next(void)
{
    void *library = NULL;

    if (!find.is_filled) {
        paths_fill();
    }
    while (library == NULL && find.next < find.count) {
        library = dlopen(find.paths[find.next++], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* cuptiapi.c - find CUPTI and its functions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cuptiapi.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cupti_api cupti_api;

/* Loaded copies match by SONAME only, newest first. */
static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12"};
#define SONAMES (sizeof(sonames) / sizeof(sonames[0]))

static void *open_in(const char *dir, const char *below)
{
    char path[PATH_MAX];

    for (size_t i = 0; dir != NULL && i < SONAMES; i++) {
        int n = snprintf(path, sizeof(path), "%s%s/%s", dir, below, sonames[i]);
        void *library = n > 0 && (size_t)n < sizeof(path)
                            ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
                            : NULL;

        if (library != NULL) {
            return library;
        }
    }
    return NULL;
}

/* The directory of the CUDA runtime that is loaded. */
static int runtime_find(struct dl_phdr_info *info, size_t size, void *dir)
{
    const char *slash = strrchr(info->dlpi_name, '/');

    (void)size;
    if (slash == NULL || strncmp(slash, "/libcudart.so", 13) != 0) {
        return 0;
    }
    (void)snprintf(dir, PATH_MAX, "%.*s", (int)(slash - info->dlpi_name),
                   info->dlpi_name);
    return 1;
}

static void *open_beside(void)
{
    static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH"};
    char dir[PATH_MAX] = "";
    void *library = NULL;

    if (dl_iterate_phdr(runtime_find, dir) != 0) {
        library = open_in(dir, "");
    }
    for (size_t i = 0; library == NULL && i < 2; i++) {
        library = open_in(getenv(roots[i]), "/lib64");
        if (library == NULL) {
            library = open_in(getenv(roots[i]), "/extras/CUPTI/lib64");
        }
    }
    if (library == NULL) {
        library = open_in("/usr/local/cuda", "/lib64");
    }
    return library != NULL ? library
                           : open_in("/usr/local/cuda", "/extras/CUPTI/lib64");
}

static void *library_open(char *text, size_t room)
{
    const char *wish = getenv("CKAGENT_CUPTI_LIB");
    void *library = NULL;

    if (wish != NULL && wish[0] != '\0') {
        library = dlopen(wish, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            (void)snprintf(text, room, "CKAGENT_CUPTI_LIB: %s", dlerror());
        }
        return library;
    }
    for (size_t i = 0; library == NULL && i < SONAMES; i++) {
        library = dlopen(sonames[i], RTLD_NOW | RTLD_NOLOAD);
    }
    for (size_t i = 0; library == NULL && i < SONAMES; i++) {
        library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (library == NULL) {
        library = open_beside();
    }
    if (library == NULL) {
        (void)snprintf(text, room,
                       "libcupti.so.13 not found; name it in "
                       "CKAGENT_CUPTI_LIB");
    }
    return library;
}

static void symbol_set(void *library, const char *name, void *place)
{
    void *symbol = dlsym(library, name);

    memcpy(place, &symbol, sizeof(symbol));
}

int cupti_api_open(char *text, size_t room)
{
    void *library = library_open(text, room);
    const char *missing = NULL;

    if (library == NULL) {
        return -1;
    }
#define CUPTI_NEEDED(name)                                                     \
    symbol_set(library, #name, &cupti_api.name);                               \
    missing = cupti_api.name == NULL ? #name : missing;
#define CUPTI_OPTIONAL(name) symbol_set(library, #name, &cupti_api.name);
#include "agent/inject/cupti.def"
    if (missing != NULL) {
        (void)snprintf(text, room,
                       "CUPTI has no %s; ck needs CUPTI 12 or "
                       "newer",
                       missing);
        return -1;
    }
    (void)cupti_api.cuptiGetVersion(&cupti_api.version);
    return 0;
}

const char *cupti_api_error(int result)
{
    const char *text = NULL;

    if (cupti_api.cuptiGetResultString(result, &text) != CUPTI_OK ||
        text == NULL) {
        return "unknown error";
    }
    return text;
}

bool cupti_api_is_stub(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, "cuInit");
    Dl_info info;

    return symbol != NULL && dladdr(symbol, &info) != 0 &&
           info.dli_fname != NULL && strstr(info.dli_fname, "/stubs/") != NULL;
}

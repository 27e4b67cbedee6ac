/* cuptiapi.c - find CUPTI and its functions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cuptiapi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inject/cupti/cuptifind.h"
#include "agent/inject/cupti/cuptilink.h"

struct cupti_api cupti_api;

/* The library was found by us: neither loaded by the process nor named by the
 * user, so another one may be tried. */
static bool is_ours;

static void *library_open(char *text, size_t room)
{
    const char *wish = getenv("CKAGENT_CUPTI_LIB");
    void *library;

    if (wish != NULL && wish[0] != '\0') {
        library = dlopen(wish, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            (void)snprintf(text, room, "CKAGENT_CUPTI_LIB: %s", dlerror());
        }
        return library;
    }
    library = is_ours ? NULL : cuptifind_loaded();
    if (library == NULL) {
        is_ours = true;
        library = cuptifind_next();
    }
    if (library == NULL) {
        (void)snprintf(text, room,
                       "libcupti.so.13, .12 or .11.8 not found; name it in "
                       "CKAGENT_CUPTI_LIB");
    }
    return library;
}

static void symbol_set(void *library, const char *name, void *place)
{
    void *symbol = link_symbol(library, name);

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
#include "agent/inject/cupti/cupti.def"
    if (missing != NULL) {
        (void)snprintf(text, room,
                       "CUPTI has no %s; ck needs CUPTI 11.8 or "
                       "newer",
                       missing);
        return -1;
    }
    (void)cupti_api.cuptiGetVersion(&cupti_api.version);
    return 0;
}

int cupti_api_open_next(char *text, size_t room)
{
    if (!is_ours) {
        return -1;
    }
    return cupti_api_open(text, room);
}

const char *cupti_api_error(int result)
{
    const char *text = NULL;

    if (cupti_api.cuptiGetResultString == NULL ||
        cupti_api.cuptiGetResultString(result, &text) != CUPTI_OK ||
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

/* cuptilink.c - ckcuda in the same process, if it is there
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cuptilink.h"

#include <dlfcn.h>
#include <string.h>

static const struct cuda_link *link;

void link_open(cuda_rival_f *told)
{
    void *symbol = dlsym(RTLD_DEFAULT, CUDA_LINK);
    cuda_link_f *get;

    if (symbol == NULL) {
        return;
    }
    memcpy(&get, &symbol, sizeof(get));
    link = get();
    link->watch(told);
}

bool link_is_open(void)
{
    return link != NULL;
}

void link_decide(enum cuda_recorder recorder)
{
    if (link != NULL) {
        link->decide(recorder);
    }
}

void *link_symbol(void *library, const char *name)
{
    return link == NULL ? dlsym(library, name) : link->symbol(library, name);
}

uint64_t link_launches(void)
{
    return link == NULL ? 0 : link->launches();
}

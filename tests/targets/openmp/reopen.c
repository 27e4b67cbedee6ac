/* reopen.c - a plugin that uses OpenMP, opened again once its runtime is gone
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: reopen PLUGIN
 * With -DPLUGIN the plugin. Where the runtime was unmapped with it, its place
 * is taken, so that it is mapped elsewhere the next time.
 */
#define _GNU_SOURCE
#include <stdio.h>

#ifdef PLUGIN
#include <omp.h>

int plugin_work(void);
int plugin_work(void)
{
    omp_lock_t lock;
    int count = 0;

    omp_init_lock(&lock);
#pragma omp parallel num_threads(1)
    {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
    }
    /* With -O2 its last call is a jump, so it returns to whoever ran it. */
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
    } omp_destroy_lock(&lock);
    return count;
}
#else
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

static int runtime_look(struct dl_phdr_info *info, size_t size, void *state)
{
    (void)size;
    if (strstr(info->dlpi_name, "libgomp") != NULL) {
        *(ElfW(Addr) *)state = info->dlpi_addr;
    }
    return 0;
}

static ElfW(Addr) runtime_at(void)
{
    ElfW(Addr) at = 0;

    (void)dl_iterate_phdr(runtime_look, &at);
    return at;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 3; i++) {
        void *plugin = argc < 2 ? NULL : dlopen(argv[1], RTLD_NOW);
        union {
            void *object;
            int (*call)(void);
        } work = {plugin == NULL ? NULL : dlsym(plugin, "plugin_work")};
        ElfW(Addr) at;

        if (work.object == NULL || work.call() != 1) {
            fprintf(stderr, "reopen: no work of the plugin\n");
            return 1;
        }
        at = runtime_at();
        (void)dlclose(plugin);
        if (at != 0 && runtime_at() == 0) {
            (void)mmap((void *)at, 4096, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        }
    }
    puts("3 times");
    return 0;
}
#endif

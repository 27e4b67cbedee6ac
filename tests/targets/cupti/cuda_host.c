/* cuda_host.c - a CUDA program that reaches the driver in each of the ways
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     cuda_host HOW [THREADS [END]]
 *
 * HOW: link (as a program that links libcuda), dlsym (as compilers at run time
 * do), proc (as CUDA's runtime does: dlsym() for cuGetProcAddress_v2 alone),
 * thread (the same, with a default stream of each thread), next (no CUDA: what
 * dlsym() returns for RTLD_NEXT and RTLD_DEFAULT is right). Each thread makes
 * 200 launches of 11 parameters, 20 graph launches, 30 copies, 40 waits for a
 * stream, 2 for a context, and one copy that fails. END: kill (SIGKILL).
 * Prints the calls that came to the driver.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/targets/cupti/mockcuda.h"

#define PER_THREAD 2

typedef int
launch_f(long, long, long, long, long, long, long, long, long, long, long);
typedef int copy_f(long, long, long);
typedef int graph_f(long, long);
typedef int stream_f(long);
typedef int context_f(void);
extern launch_f cuLaunchKernel;
extern copy_f cuMemcpyHtoD_v2;
extern graph_f cuGraphLaunch;
extern stream_f cuStreamSynchronize;
extern context_f cuCtxSynchronize;

static struct {
    launch_f *launch;
    copy_f *copy;
    graph_f *graph;
    stream_f *stream;
    context_f *context;
    int (*init)(unsigned);
    unsigned (*calls)(void);
} cuda;

typedef void *find_f(const char *name);

static void *library;
static int (*address)(const char *, void **, int, uint64_t, void *);
static uint64_t flags;

static void *by_dlsym(const char *name)
{
    const char *symbol =
        strcmp(name, "cuMemcpyHtoD") == 0 ? "cuMemcpyHtoD_v2" : name;

    return dlsym(library, symbol);
}

static void *by_address(const char *name)
{
    void *function = NULL;

    return address(name, &function, 12000, flags, NULL) == 0 ? function : NULL;
}

static void find(find_f *look)
{
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
        {"cuLaunchKernel", &cuda.launch},
        {"cuMemcpyHtoD", &cuda.copy},
        {"cuGraphLaunch", &cuda.graph},
        {"cuStreamSynchronize", &cuda.stream},
        {"cuCtxSynchronize", &cuda.context},
        {"cuInit", &cuda.init},
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *symbol = look(wanted[i].name);

        if (symbol == NULL) {
            (void)fprintf(stderr, "cuda_host: no %s\n", wanted[i].name);
            exit(3);
        }
        memcpy(wanted[i].place, &symbol, sizeof(symbol));
    }
}

static void open_driver(bool is_by_address)
{
    void *symbol;

    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)fprintf(stderr, "cuda_host: %s\n", dlerror());
        exit(3);
    }
    symbol = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&address, &symbol, sizeof(symbol));
    find(is_by_address ? by_address : by_dlsym);
}

static void *thread_main(void *unused)
{
    int failed = 0;

    for (int i = 0; i < 200; i++) {
        failed += cuda.launch(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) != 0;
    }
    for (int i = 0; i < 20; i++) {
        failed += cuda.graph(1, 2) != 0;
    }
    for (int i = 0; i < 30; i++) {
        failed += cuda.copy(1, 2, 3) != 0;
    }
    for (int i = 0; i < 40; i++) {
        failed += cuda.stream(1) != 0;
    }
    failed += cuda.context() != 0;
    failed += cuda.context() != 0;
    failed += cuda.copy(9, 9, 9) == 0;
    if (failed != 0) {
        (void)fprintf(stderr, "cuda_host: %d calls came out wrong\n", failed);
        exit(4);
    }
    return unused;
}

/* A library's view: what comes behind the program, and what comes first. */
static int next(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    void *printf_of = libc == NULL ? NULL : dlsym(libc, "printf");

    if (printf_of == NULL || dlsym(RTLD_NEXT, "printf") != printf_of ||
        dlsym(RTLD_DEFAULT, "printf") != printf_of ||
        dlsym(RTLD_NEXT, "main") != NULL ||
        dlsym(libc, "cuLaunchKernel") != NULL ||
        dlsym(RTLD_DEFAULT, "no_such_function") != NULL || dlerror() == NULL) {
        (void)fprintf(stderr, "cuda_host: dlsym() is another one\n");
        return 5;
    }
    return 0;
}

static void linked(void)
{
    cuda.launch = cuLaunchKernel;
    cuda.copy = cuMemcpyHtoD_v2;
    cuda.graph = cuGraphLaunch;
    cuda.stream = cuStreamSynchronize;
    cuda.context = cuCtxSynchronize;
    cuda.init = cuInit;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "link";
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    pthread_t others[256];

    if (strcmp(how, "next") == 0) {
        return next();
    }
    flags = strcmp(how, "thread") == 0 ? PER_THREAD : 0;
    if (strcmp(how, "link") == 0) {
        linked();
    } else {
        open_driver(strcmp(how, "dlsym") != 0);
    }
    if (cuda.init(0) != 0) {
        return 6;
    }
    for (int i = 1; i < threads && i < 256; i++) {
        if (pthread_create(&others[i], NULL, thread_main, NULL) != 0) {
            return 6;
        }
    }
    (void)thread_main(NULL);
    for (int i = 1; i < threads && i < 256; i++) {
        (void)pthread_join(others[i], NULL);
    }
    (void)printf("driver %u\n", mock_cuda_calls());
    (void)fflush(stdout);
    if (argc > 3 && strcmp(argv[3], "kill") == 0) {
        (void)raise(SIGKILL);
    }
    return 0;
}

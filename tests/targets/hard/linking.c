/* linking.c - programs that use the dynamic linker themselves
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     linking open|space|deep|refused LIBRARY
 *     linking next
 *
 * harmless.sh builds it as a program, as a library (LIBRARY) and as one that
 * audits the linker (AUDIT).
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(AUDIT)

unsigned la_version(unsigned version)
{
    return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)map;
    (void)space;
    (void)cookie;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol,
                       unsigned at,
                       uintptr_t *from,
                       uintptr_t *to,
                       unsigned *flags,
                       const char *name)
{
    (void)at;
    (void)from;
    (void)to;
    (void)flags;
    (void)name;
    return symbol->st_value;
}

#elif defined(LIBRARY)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int writes;

/* In front of the C library's, and of whatever comes before that. */
ssize_t write(int fd, const void *bytes, size_t length)
{
    ssize_t (*next)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");

    writes++;
    return next(fd, bytes, length);
}

int answer(void)
{
    struct timespec pause = {.tv_nsec = 20000};

    (void)pthread_mutex_lock(&lock);
    (void)nanosleep(&pause, NULL);
    (void)pthread_mutex_unlock(&lock);
    return writes >= 0 ? 42 : 0;
}

#else

#define TURNS 50

static const char *library;

/* The program's own: libraries call this one. */
int usleep(useconds_t us)
{
    int (*next)(useconds_t) = (int (*)(useconds_t))dlsym(RTLD_NEXT, "usleep");

    return next(us / 2);
}

static long opened(void *handle)
{
    int (*answer)(void) =
        handle == NULL ? NULL : (int (*)(void))dlsym(handle, "answer");
    long sum = answer == NULL ? 0 : answer();

    if (handle != NULL) {
        (void)dlclose(handle);
    }
    return sum;
}

static void *open_and_close(void *unused)
{
    long sum = 0;

    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        sum += opened(dlopen(library, RTLD_NOW));
    }
    return (void *)sum;
}

static long many_open(void)
{
    pthread_t threads[2];
    long sum = 0;

    for (int i = 0; i < 2; i++) {
        (void)pthread_create(&threads[i], NULL, open_and_close, NULL);
    }
    for (int i = 0; i < 2; i++) {
        void *part;

        (void)pthread_join(threads[i], &part);
        sum += (long)part;
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    long sum = 0;

    library = argc > 2 ? argv[2] : "";
    (void)usleep(250000); /* long enough to be recorded */
    if (strcmp(what, "open") == 0) {
        sum = many_open();
    } else if (strcmp(what, "space") == 0) {
        sum = opened(dlmopen(LM_ID_NEWLM, library, RTLD_NOW));
    } else if (strcmp(what, "deep") == 0) {
        sum = opened(dlopen(library, RTLD_NOW | RTLD_DEEPBIND));
    } else if (strcmp(what, "refused") == 0) {
        sum = dlopen(library, RTLD_NOW) != NULL;
    }
    printf("%s %ld\n", what, sum);
    return (int)(sum % 7);
}

#endif

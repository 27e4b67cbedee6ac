/* stacks_kinds.c - computes a third of its CPU time in a function that was
 * inlined, one in code of its own making, and one in the kernel
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parts are CPU time of the thread. The code is named in /tmp/perf-PID.map, as
 * compilers at run time do.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* push rbp; mov rbp, rsp; again: dec rdi; jnz again; pop rbp; ret */
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff,
                               0xcf, 0x75, 0xfb, 0x5d, 0xc3};

typedef void (*count_down_f)(uint64_t count);

static volatile double sum;
static count_down_f count_down;
static char buffer[1 << 20];
static int zeros;

static long long cpu_now(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1000000000ll + at.tv_nsec;
}

__attribute__((always_inline)) static inline void inner(void)
{
    for (int i = 0; i < 20000; i++) {
        sum = sum * 0.5 + i;
    }
}

__attribute__((always_inline)) static inline void between(void)
{
    inner();
}

__attribute__((noinline)) static void inlines(void)
{
    between();
}

__attribute__((noinline)) static void compiles(void)
{
    count_down(50000);
    sum += 1;
}

__attribute__((noinline)) static void reads(void)
{
    if (read(zeros, buffer, sizeof(buffer)) < 0) {
        exit(1);
    }
    sum += 1;
}

static void compute(void (*f)(void), long milliseconds)
{
    long long end = cpu_now() + milliseconds * 1000000;

    while (cpu_now() < end) {
        f();
    }
}

static int code_make(void)
{
    char path[64];
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FILE *file;

    if (page == MAP_FAILED) {
        return -1;
    }
    memcpy(page, code, sizeof(code));
    memcpy(&count_down, &page, sizeof(page));
    (void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    file = fopen(path, "we");
    if (file == NULL) {
        return -1;
    }
    (void)fprintf(file, "%lx %lx made_code\n", (unsigned long)(uintptr_t)page,
                  (unsigned long)sizeof(code));
    return fclose(file);
}

int main(int argc, char **argv)
{
    long milliseconds = argc > 1 ? strtol(argv[1], NULL, 10) : 300;
    char path[64];

    zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (zeros < 0 || code_make() != 0) {
        return 1;
    }
    for (int i = 0; i < 10; i++) {
        compute(inlines, milliseconds / 10);
        compute(compiles, milliseconds / 10);
        compute(reads, milliseconds / 10);
    }
    (void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    return unlink(path);
}

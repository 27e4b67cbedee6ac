/* parallel.c - what OpenMP programs do that is hard for wrappers of their
 * runtime
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The argument chooses one; what it prints and how it ends is the same each
 * time. With -DALONE a program that has functions of the runtime's names, with
 * -DTOOL a tool for OMP_TOOL_LIBRARIES.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef ALONE
/* Names of the runtime that mean something else here. */
void GOMP_parallel(void (*code)(void *),
                   void *data,
                   unsigned threads,
                   unsigned flags);
void omp_set_lock(int *lock);
int omp_get_thread_num(void);

void GOMP_parallel(void (*code)(void *),
                   void *data,
                   unsigned threads,
                   unsigned flags)
{
    for (unsigned i = 0; i < threads + flags; i++) {
        code(data);
    }
}

void omp_set_lock(int *lock)
{
    *lock += 2;
}

int omp_get_thread_num(void)
{
    return 77;
}

static void add(void *sum)
{
    *(int *)sum += omp_get_thread_num();
}

int main(void)
{
    int sum = 0;

    (void)usleep(120000);
    GOMP_parallel(add, &sum, 3, 1);
    omp_set_lock(&sum);
    (void)printf("%d\n", sum);
    return 6;
}
#elif defined(TOOL)
/* A tool of the user's; a runtime has one at most. */
struct tool {
    int (*begin)(void *(*lookup)(const char *), int device, uint64_t *data);
    void (*end)(uint64_t *data);
    uint64_t data;
};

struct tool *ompt_start_tool(unsigned version, const char *runtime);

static int begin(void *(*lookup)(const char *), int device, uint64_t *data)
{
    *data = 4;
    (void)printf("begins %d\n", lookup("ompt_set_callback") != NULL);
    return device + 1;
}

static void end(uint64_t *data)
{
    (void)printf("ends %d\n", (int)*data);
}

struct tool *ompt_start_tool(unsigned version, const char *runtime)
{
    static struct tool tool = {begin, end, 0};

    return version > 0 && runtime != NULL ? &tool : NULL;
}
#else
#include <omp.h>

#define THREADS 4

/* Work that a tracer may want to record. */
static void work(void)
{
    (void)usleep(30000);
}

static int status_of(pid_t child)
{
    int status = -1;

    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int sum_of(int threads)
{
    int sum = 0;

#pragma omp parallel num_threads(threads) reduction(+ : sum)
    sum += omp_get_thread_num() + 1;
    return sum;
}

static int nested(void)
{
    int sum = 0;

    omp_set_max_active_levels(4);
#pragma omp parallel num_threads(2) reduction(+ : sum)
#pragma omp parallel num_threads(2) reduction(+ : sum)
#pragma omp parallel num_threads(2) reduction(+ : sum)
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += omp_get_level() * 10 + omp_get_ancestor_thread_num(2);
    (void)printf("%d\n", sum);
    return 3;
}

/* Children that leave, that execute, and that go on by themselves. */
static int forks_inside(void)
{
    int sum = 0;

    work();
    (void)fflush(stdout);
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
    {
        pid_t child = fork();

        if (child == 0 && omp_get_thread_num() == 1) {
            (void)execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
        }
        if (child == 0) {
            _exit(omp_get_thread_num() + 2);
        }
        sum += status_of(child);
    }
    (void)printf("%d %d\n", sum, sum_of(THREADS));
    return 4;
}

/* Before the runtime has threads. */
static int forks_before(void)
{
    pid_t child;
    int other;

    work();
    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        work();
        _exit(sum_of(3));
    }
    other = status_of(child);
    (void)printf("%d %d\n", sum_of(THREADS), other);
    return 5;
}

struct large {
    long words[200];
};

/* Of all sizes, in each other, waiting for each other, put off and not. */
static int tasks(void)
{
    struct large large;
    long sums[6] = {0};
    int order = 0;

    for (int i = 0; i < 200; i++) {
        large.words[i] = i;
    }
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp taskloop grainsize(3) shared(sums)
            for (int i = 0; i < 100; i++) {
#pragma omp atomic
                sums[0] += i;
            }
        }
        for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(large, i) shared(sums) untied
            {
#pragma omp task firstprivate(large) shared(sums) if (i % 2)
#pragma omp atomic
                sums[1] += large.words[i];
#pragma omp taskwait
            }
#pragma omp task depend(inout : order) shared(sums, order) priority(i % 3)
            sums[2] = sums[2] * 3 % 1000003 + ++order;
#pragma omp task final(i > 10) mergeable shared(sums)
#pragma omp atomic
            sums[3] += omp_in_final() ? 1 : 100;
        }
#pragma omp taskwait
#pragma omp taskyield
    }
#pragma omp parallel num_threads(THREADS)
#pragma omp single
#pragma omp taskgroup task_reduction(+ : order)
    for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : order)
        order += i;
    }
    (void)printf("%ld %ld %ld %ld %d\n", sums[0], sums[1], sums[2], sums[3],
                 order);
    return 7;
}

/* With OMP_CANCELLATION=true the second half of each is not run. */
static int cancels(void)
{
    int after = 0, found = 0, rest = 0;

#pragma omp parallel num_threads(THREADS)
    {
        if (omp_get_thread_num() == 2) {
#pragma omp cancel parallel
        }
#pragma omp barrier
#pragma omp atomic
        after++;
    }
#pragma omp parallel for num_threads(THREADS)
    for (int i = 0; i < 1000; i++) {
#pragma omp cancellation point for
        if (i % 250 == 7) {
#pragma omp atomic
            found++;
#pragma omp cancel for
        }
    }
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
#pragma omp cancel sections
        }
#pragma omp section
        {
#pragma omp cancellation point sections
        }}
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup
    {
#pragma omp task
        {
#pragma omp cancel taskgroup
        }
#pragma omp taskwait
#pragma omp task shared(rest)
        rest++;
    }
    (void)printf("%d %d %d %d\n", omp_get_cancellation(), after, found > 0,
                 rest);
    return 8;
}

static int shared, copied;
#pragma omp threadprivate(copied)

static void simd_loop(void)
{
#pragma omp parallel for simd num_threads(2) schedule(dynamic, 7) reduction(+ : shared)
    for (int i = 0; i < 50; i++) {
        shared += i;
    }
}

/* Each kind of loop, and what is between threads in it. */
static int loops(void)
{
    long sums[8] = {0};
    int last = -1;

    omp_set_schedule(omp_sched_guided, 3);
    copied = 5;
#pragma omp parallel num_threads(THREADS) copyin(copied)
    {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 100; i++) {
#pragma omp atomic
            sums[0] += i;
        }
#pragma omp for schedule(guided, 2) lastprivate(last)
        for (int i = 0; i < 100; i++) {
            last = i;
        }
#pragma omp for schedule(runtime)
        for (unsigned long long i = 0; i < 100; i++) {
#pragma omp critical
            sums[1] += (long)i;
        }
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 20; i++) {
#pragma omp ordered
            sums[2] = sums[2] * 3 % 1000003 + i;
        }
#pragma omp for ordered(1)
        for (int i = 1; i < 20; i++) {
#pragma omp ordered depend(sink : i - 1)
#pragma omp critical(named)
            sums[3] = sums[3] * 5 % 1000003 + i;
#pragma omp ordered depend(source)
        }
#pragma omp for collapse(2) schedule(monotonic : dynamic, 5)
        for (int i = 0; i < 10; i++) {
            for (int j = 0; j < 10; j++) {
#pragma omp atomic
                sums[4] += i * j;
            }
        }
#pragma omp sections
        {
#pragma omp section
            sums[5] += 3;
#pragma omp section
            sums[6] += 4;
        }
#pragma omp single copyprivate(copied)
        copied = 9;
#pragma omp atomic
        sums[7] += copied;
    }
    simd_loop();
    for (int i = 0; i < 8; i++) {
        (void)printf("%ld ", sums[i]);
    }
    (void)printf("%d %d\n", last, shared);
    return 9;
}

static int locks(void)
{
    omp_nest_lock_t nest;
    omp_lock_t lock;
    int sum = 0, nested_sum = 0, tries = 0;

    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < 500; i++) {
        omp_set_lock(&lock);
        sum++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        nested_sum += omp_test_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        while (!omp_test_lock(&lock)) {
        }
        tries++;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    (void)printf("%d %d %d\n", sum, nested_sum, tries);
    return 10;
}

/* By a thread that is not the first. */
static int exits_inside(void)
{
    work();
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp barrier
        if (omp_get_thread_num() == THREADS - 1) {
            (void)puts("last");
            exit(11);
        }
        for (;;) {
            (void)usleep(1000);
        }
    }
    return 1;
}

static int dies_inside(void)
{
    static const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
    work();
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 1) {
            (void)raise(SIGILL);
        }
        for (;;) {
            (void)usleep(1000);
        }
    }
    return 1;
}

static void *pool(void *state)
{
    int *sum = state;

    for (int i = 0; i < 20; i++) {
        *sum += sum_of(3);
    }
    return NULL;
}

/* Teams of threads that the runtime did not make, and that end. */
static int pools(void)
{
    pthread_t threads[THREADS];
    int sums[THREADS] = {0};
    int sum = 0;

    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < THREADS; i++) {
            (void)pthread_create(&threads[i], NULL, pool, &sums[i]);
        }
        for (int i = 0; i < THREADS; i++) {
            (void)pthread_join(threads[i], NULL);
            sum += sums[i];
        }
    }
    (void)printf("%d\n", sum);
    return 12;
}

/* Out of a call of the region's code, within it. */
static int jumps(void)
{
    int sum = 0;

#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
        jmp_buf place;

        if (setjmp(place) == 0) {
            longjmp(place, 1);
        }
        sum++;
    }
    (void)printf("%d\n", sum);
    return 13;
}

static volatile sig_atomic_t ticks;

static void tick(int number)
{
    ticks += number > 0;
}

/* A timer interrupts the threads where they are. */
static int ticking(void)
{
    static const struct itimerval each = {{0, 500}, {0, 500}}, none;
    long sum = 0;

    (void)signal(SIGALRM, tick);
    (void)setitimer(ITIMER_REAL, &each, NULL);
    for (int turn = 0; turn < 300 || ticks < 20; turn++) {
        long of_turn = 0;

#pragma omp parallel num_threads(THREADS)
        {
#pragma omp critical
            of_turn++;
#pragma omp barrier
        }
        sum += of_turn == THREADS ? 0 : 1;
    }
    (void)setitimer(ITIMER_REAL, &none, NULL);
    (void)printf("%ld\n", sum);
    return 14;
}

/* The runtime's own figures, and a host in place of a device. */
static int figures(void)
{
    int on_host = 0, teams = 0, sum = 0;

    work();
#pragma omp target map(from : on_host)
    on_host = omp_is_initial_device();
#pragma omp target teams distribute parallel for num_teams(2) map(tofrom : sum) reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
        sum += i;
    }
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    teams = omp_get_num_threads();
    (void)printf("%d %d %d %d %d %d\n", on_host, teams, sum, omp_in_parallel(),
                 omp_get_level(), omp_get_thread_limit() > 0);
    return 15;
}

/* Threads that come and go with the size of the team. */
static int sizes(void)
{
    int sum = 0;

    for (int i = 0; i < 60; i++) {
        sum += sum_of(1 + i * 7 % 13);
    }
    (void)printf("%d\n", sum);
    return 16;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } kinds[] = {
        {"cancels", cancels},
        {"dies-inside", dies_inside},
        {"exits-inside", exits_inside},
        {"figures", figures},
        {"forks-before", forks_before},
        {"forks-inside", forks_inside},
        {"jumps", jumps},
        {"locks", locks},
        {"loops", loops},
        {"nested", nested},
        {"pools", pools},
        {"sizes", sizes},
        {"tasks", tasks},
        {"ticking", ticking},
    };

    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            return kinds[i].run();
        }
    }
    return 99;
}
#endif

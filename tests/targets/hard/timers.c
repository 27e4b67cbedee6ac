/* timers.c - signals and timers of a program's own, all of their kinds
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The argument chooses one; what it prints and how it ends is the same each
 * time. Each counts what reaches it, not how long that takes.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMES 5
#define MILLISECOND 1000000

static volatile sig_atomic_t seen;
static sem_t posted;

static void count(int number)
{
    (void)number;
    seen++;
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = flags;
    (void)sigaction(number, &action, NULL);
}

static void timer_begin(timer_t timer)
{
    const struct itimerspec each = {{0, MILLISECOND}, {0, MILLISECOND}};

    (void)timer_settime(timer, 0, &each, NULL);
}

/* Each real-time signal by a timer of its own: its handler runs. */
static int timers(void)
{
    int good = 0;

    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        struct sigevent event;
        timer_t timer;

        memset(&event, 0, sizeof(event));
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = number;
        handle(number, count, SA_RESTART);
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
            return 1;
        }
        seen = 0;
        timer_begin(timer);
        while (seen < TIMES) {
            (void)usleep(100);
        }
        good += timer_delete(timer) == 0;
    }
    return printf("%d\n", good) > 0 ? 3 : 1;
}

/* All that is queued comes, in its order, with its value. */
static int queued(void)
{
    sigset_t set;
    siginfo_t info;

    (void)sigemptyset(&set);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        (void)sigaddset(&set, number);
    }
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 60; i++) {
        union sigval value = {.sival_int = i};

        (void)sigqueue(getpid(), SIGRTMIN + i % 7, value);
    }
    for (int i = 0; i < 60; i++) {
        int number = sigwaitinfo(&set, &info);

        (void)printf("%d:%d ", number - SIGRTMIN, info.si_value.sival_int);
    }
    return puts("") > 0 ? 4 : 1;
}

/* A timer's signals read from a descriptor. */
static int by_descriptor(void)
{
    struct signalfd_siginfo info = {0};
    struct sigevent event;
    sigset_t set;
    timer_t timer;
    int fd;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGRTMIN + 3);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC);
    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN + 3;
    event.sigev_value.sival_int = 77;
    (void)timer_create(CLOCK_REALTIME, &event, &timer);
    timer_begin(timer);
    for (int i = 0; i < TIMES; i++) {
        if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
            return 1;
        }
        (void)printf("%d %d %d\n", (int)info.ssi_signo - SIGRTMIN, info.ssi_int,
                     info.ssi_code == SI_TIMER);
    }
    return 5;
}

static void called(union sigval value)
{
    (void)value;
    (void)sem_post(&posted);
}

/* libc's own thread, with its own signal, calls a function. */
static int by_thread(void)
{
    struct sigevent event;
    timer_t timer;

    (void)sem_init(&posted, 0, 0);
    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = called;
    (void)timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_begin(timer);
    for (int i = 0; i < TIMES; i++) {
        (void)sem_wait(&posted);
    }
    return timer_delete(timer) == 0 && puts("called") > 0 ? 6 : 1;
}

static void *tick(void *unused)
{
    struct sigevent event;
    timer_t timer;

    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD_ID;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    event.sigev_signo = SIGRTMIN + 9;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) {
        return NULL;
    }
    timer_begin(timer);
    while (seen < TIMES) {
    }
    (void)timer_delete(timer);
    return unused;
}

/* A thread's own CPU time, its signal to that thread alone; and the three
 * timers of a process. */
static int profiled(void)
{
    static const int which[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    static const int numbers[] = {SIGALRM, SIGVTALRM, SIGPROF};
    pthread_t thread;
    void *result = NULL;

    handle(SIGRTMIN + 9, count, SA_RESTART);
    (void)pthread_create(&thread, NULL, tick, &posted);
    (void)pthread_join(thread, &result);
    for (int i = 0; i < 3; i++) {
        const struct itimerval each = {{0, 2000}, {0, 2000}};
        const struct itimerval none = {{0, 0}, {0, 0}};

        handle(numbers[i], count, SA_RESTART);
        seen = 0;
        (void)setitimer((__itimer_which_t)which[i], &each, NULL);
        while (seen < TIMES) {
        }
        (void)setitimer((__itimer_which_t)which[i], &none, NULL);
    }
    return printf("%d\n", result == &posted) > 0 ? 7 : 1;
}

static void *wait_unlocked(void *lock)
{
    struct timespec until = {.tv_sec = 0};

    return (void *)(intptr_t)(pthread_mutex_timedlock(lock, &until) ==
                              ETIMEDOUT);
}

/* A call that a handler interrupts fails with EINTR, or goes on, as it was
 * asked for. */
static int interrupted(void)
{
    const struct itimerval once = {{0, 20000}, {0, 20000}};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct timespec long_time = {100, 0}, left = {0, 0};
    struct pollfd item = {.events = POLLIN};
    pthread_t thread;
    void *is_late = NULL;
    int ends[2];
    char byte;

    (void)!pipe(ends);
    item.fd = ends[0];
    handle(SIGALRM, count, 0);
    (void)sem_init(&posted, 0, 0);
    for (int i = 0; i < 6; i++) {
        int rc = 0;

        (void)setitimer(ITIMER_REAL, &once, NULL);
        errno = 0;
        switch (i) {
        case 0:
            rc = nanosleep(&long_time, &left);
            break;
        case 1:
            rc = (int)read(ends[0], &byte, 1);
            break;
        case 2:
            rc = poll(&item, 1, -1);
            break;
        case 3:
            rc = select(0, NULL, NULL, NULL, NULL);
            break;
        case 4:
            rc = sem_wait(&posted);
            break;
        default:
            rc = (int)wait(NULL) == -1 && errno == ECHILD ? pause() : 9;
            break;
        }
        (void)printf("%d %d\n", rc, errno == EINTR);
    }
    (void)pthread_mutex_lock(&lock);
    (void)pthread_create(&thread, NULL, wait_unlocked, &lock);
    (void)pthread_join(thread, &is_late);
    return printf("%d %d\n", left.tv_sec > 90, is_late != NULL) > 0 ? 8 : 1;
}

static sigjmp_buf back;

static void jump(int number)
{
    siglongjmp(back, number);
}

/* Faults that a handler mends, on a stack of its own; jumps out of calls. */
static int mended(void)
{
    static char other[65536];
    const stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};
    const struct itimerval once = {{0, 0}, {0, 2000}};
    volatile int sum = 0;

    (void)sigaltstack(&stack, NULL);
    handle(SIGSEGV, jump, SA_ONSTACK);
    handle(SIGALRM, jump, SA_ONSTACK);
    for (volatile int i = 0; i < 50; i++) {
        int number = sigsetjmp(back, 1);

        if (number == 0 && i % 2 == 0) {
            *(volatile int *)(uintptr_t)(i * 8) = 1;
        } else if (number == 0) {
            (void)setitimer(ITIMER_REAL, &once, NULL);
            (void)usleep(100000000);
        }
        sum += number;
    }
    return printf("%d\n", sum) > 0 ? 9 : 1;
}

/* What a program finds at its start: nothing blocked, nothing handled. */
static int untouched(void)
{
    struct sigaction action;
    sigset_t blocked, pending;

    (void)sigprocmask(SIG_BLOCK, NULL, &blocked);
    (void)sigpending(&pending);
    for (int number = 1; number <= SIGRTMAX; number++) {
        memset(&action, 0, sizeof(action));
        (void)sigaction(number, NULL, &action);
        (void)printf("%d%d%d%d ", sigismember(&blocked, number) == 1,
                     sigismember(&pending, number) == 1,
                     action.sa_handler == SIG_DFL,
                     action.sa_handler == SIG_IGN);
    }
    return puts("") > 0 ? 10 : 1;
}

/* Timers as descriptors, in epoll with a pipe. */
static int in_epoll(void)
{
    const struct itimerspec each = {{0, MILLISECOND}, {0, MILLISECOND}};
    struct epoll_event event = {.events = EPOLLIN};
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    int set = epoll_create1(EPOLL_CLOEXEC);
    uint64_t ticks;
    int sum = 0;

    (void)epoll_ctl(set, EPOLL_CTL_ADD, timer, &event);
    (void)timerfd_settime(timer, 0, &each, NULL);
    for (int i = 0; i < TIMES; i++) {
        sum += epoll_pwait(set, &event, 1, -1, NULL);
        (void)!read(timer, &ticks, sizeof(ticks));
    }
    return printf("%d\n", sum) > 0 ? 11 : 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } kinds[] = {
        {"timers", timers},
        {"queued", queued},
        {"descriptor", by_descriptor},
        {"thread", by_thread},
        {"profiled", profiled},
        {"interrupted", interrupted},
        {"mended", mended},
        {"untouched", untouched},
        {"epoll", in_epoll},
    };

    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            return kinds[i].run();
        }
    }
    return 99;
}

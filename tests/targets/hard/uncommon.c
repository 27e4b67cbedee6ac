/* uncommon.c - what programs rely on without a thought: addresses that are
 * none, arithmetic, errno, what /proc has of them, wrong uses of locks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The argument chooses one; what it prints and how it ends is the same each
 * time.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 40
#define MAPS_BYTES (1 << 20)

extern char **environ;

static int early_calls; /* before main() */
static bool has_late_work;
static volatile int signals;

/* Work that a tracer may want to record. */
static void work(void)
{
    for (int i = 0; i < 5; i++) {
        (void)usleep(30000);
        (void)!write(-1, "", 0);
    }
}

static void *thread(void *unused)
{
    work();
    return unused;
}

static void threads(int count)
{
    pthread_t made[THREADS_MAX];

    for (int i = 0; i < count; i++) {
        (void)pthread_create(&made[i], NULL, thread, NULL);
    }
    for (int i = 0; i < count; i++) {
        (void)pthread_join(made[i], NULL);
    }
}

static int status_of(pid_t child)
{
    int status = -1;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void child_works(void)
{
    pid_t child = fork();

    if (child == 0) {
        work();
        _exit(9);
    }
    (void)printf("child %d\n", status_of(child));
}

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/* ---- addresses that are none -------------------------------------------- */

#define SHOW(call)                                                             \
    do {                                                                       \
        errno = 0;                                                             \
        long rc_ = (long)(call);                                               \
        (void)printf("%s %ld %d\n", #call, rc_, errno);                        \
    } while (0)

static void bad_files(void *bad, const int ends[2])
{
    struct iovec part = {bad, 3};
    int file = open("/tmp", O_TMPFILE | O_RDWR, 0640);

    SHOW(open(bad, O_RDONLY));
    SHOW(open64(bad, O_RDWR | O_CREAT, 0600));
    SHOW(openat(AT_FDCWD, bad, O_RDONLY));
    SHOW(creat(bad, 0600));
    (void)!write(ends[1], "abc", 3);
    SHOW(read(ends[0], bad, 3));
    SHOW(write(ends[1], bad, 3));
    SHOW(readv(ends[0], bad, 1));
    SHOW(readv(ends[0], &part, 1));
    SHOW(writev(ends[1], &part, 1));
    SHOW(pread(file, bad, 3, 0));
    SHOW(pwrite(file, bad, 3, 0));
    SHOW(msync(bad, 4096, MS_SYNC));
    SHOW(close(-1));
    SHOW(close(1000000));
    SHOW(read(0x7fffffff, bad, 1));
    SHOW(close(file));
}

static void bad_sockets(void *bad)
{
    int pair[2], inet = socket(AF_INET, SOCK_STREAM, 0);
    int local = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    (void)!write(pair[0], "abc", 3);
    SHOW(recv(pair[1], bad, 3, 0));
    SHOW(recvfrom(pair[1], bad, 3, 0, NULL, NULL));
    SHOW(recvmsg(pair[1], bad, 0));
    SHOW(send(pair[1], bad, 3, 0));
    SHOW(sendmsg(pair[1], bad, 0));
    SHOW(connect(inet, bad, 16));
    SHOW(connect(local, bad, 110));
    SHOW(accept(local, bad, bad));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, bad));
}

static void bad_waits(void *bad)
{
    struct timespec none = {0, 1000};
    int poller = epoll_create1(0);

    SHOW(poll(bad, 1, 0));
    SHOW(ppoll(bad, 1, NULL, NULL));
    SHOW(select(1, bad, NULL, NULL, NULL));
    SHOW(epoll_wait(poller, bad, 1, 0));
    SHOW(nanosleep(bad, NULL));
    SHOW(nanosleep(&none, bad));
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, bad, NULL));
    SHOW(close(poller));
}

static void bad_programs(void *bad)
{
    char *words[] = {"true", NULL};
    char *mixed[] = {"A=1", bad, NULL};

    SHOW(execve(bad, words, words));
    SHOW(execve("/bin/true", bad, environ));
    SHOW(execve("/bin/true", words, bad));
    SHOW(execve("/bin/true", words, mixed));
    SHOW(execve("/bin/true", mixed, environ));
    SHOW(execvpe("true", words, bad));
}

static int bad_addresses(void)
{
    void *closed =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *bad[] = {(void *)-1, (void *)1, closed};
    int ends[2];

    work();
    (void)!pipe(ends);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bad_files(bad[i], ends);
        bad_sockets(bad[i]);
        bad_waits(bad[i]);
        bad_programs(bad[i]);
    }
    return 3;
}

/* ---- arithmetic, errno --------------------------------------------------- */

/* Each inexact result would end the program. */
static int number_traps(void)
{
    FILE *file = tmpfile();

    (void)feclearexcept(FE_ALL_EXCEPT);
    (void)feenableexcept(FE_ALL_EXCEPT);
    work();
    threads(4);
    for (int i = 0; i < 3000; i++) {
        (void)fwrite("abcdefgh", 8, 1, file);
    }
    (void)fclose(file);
    child_works();
    (void)printf("%d\n", fetestexcept(FE_ALL_EXCEPT));
    return 4;
}

static int number_modes(void)
{
    (void)fesetround(FE_UPWARD);
    (void)feclearexcept(FE_ALL_EXCEPT);
    work();
    threads(3);
    (void)printf("%d %d\n", fegetround() == FE_UPWARD,
                 fetestexcept(FE_ALL_EXCEPT));
    return 5;
}

static void succeed(const int ends[2])
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec none = {0, 20000};
    int file, pair[2];
    char byte;

    (void)!write(ends[1], "x", 1);
    (void)!read(ends[0], &byte, 1);
    (void)pthread_mutex_lock(&mutex);
    (void)pthread_mutex_unlock(&mutex);
    (void)usleep(300);
    (void)poll(NULL, 0, 1);
    (void)nanosleep(&none, NULL);
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &none, NULL);
    file = open("/dev/null", O_RDWR);
    (void)close(file);
    (void)socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    (void)send(pair[0], "a", 1, 0);
    (void)recv(pair[1], &byte, 1, 0);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static int keeps_errno(void)
{
    pthread_t made;
    int ends[2];

    (void)!pipe(ends);
    work();
    errno = 1234;
    for (int i = 0; i < 50; i++) {
        succeed(ends);
    }
    (void)printf("%d\n", errno);
    (void)pthread_create(&made, NULL, thread, NULL);
    errno = 77;
    (void)pthread_join(made, NULL);
    (void)printf("%d\n", errno);
    return 6;
}

/* ---- what is seen of the process ----------------------------------------- */

/* Those lines of a file that begin with one of the words, or all. */
static void file_show(const char *path, const char *const *words)
{
    FILE *file = fopen(path, "r");
    char line[512];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        bool is_shown = words == NULL;

        for (size_t i = 0; !is_shown && words[i] != NULL; i++) {
            is_shown = strncmp(line, words[i], strlen(words[i])) == 0;
        }
        if (is_shown) {
            (void)fputs(line, stdout);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void files_show(void)
{
    static const char *const words[] = {
        "Umask",   "State",       "Threads", "SigPnd", "ShdPnd",
        "SigBlk",  "SigIgn",      "SigCgt",  "Cap",    "NoNewPrivs",
        "Seccomp", "TracerPid",   "Uid",     "Gid",    "Groups",
        "Cpus_",   "CoreDumping", "Mems_",   NULL};
    static const char *const files[] = {"limits",          "oom_score_adj",
                                        "coredump_filter", "timerslack_ns",
                                        "cgroup",          "personality"};
    char path[64];

    file_show("/proc/self/status", words);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(path, sizeof(path), "/proc/self/%s", files[i]);
        file_show(path, NULL);
    }
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    file_show(path, NULL);
}

static int what_is_seen(void)
{
    struct sigaction action;
    struct rusage usage;
    stack_t stack;
    int parent = -1, reaper = -1;

    files_show();
    (void)prctl(PR_GET_PDEATHSIG, &parent);
    (void)prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    (void)printf("%d %d %d %d\n", parent, reaper, prctl(PR_GET_DUMPABLE),
                 prctl(PR_GET_TIMERSLACK));
    (void)printf("%d %d\n", getpriority(PRIO_PROCESS, 0),
                 sched_getscheduler(0));
    (void)printf("%s %lu\n", (char *)getauxval(AT_EXECFN),
                 getauxval(AT_SECURE));
    SHOW(waitpid(-1, NULL, WNOHANG));
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    (void)printf("%ld\n", usage.ru_maxrss);
    for (int i = 1; i < NSIG; i++) {
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL) {
            (void)printf("signal %d\n", i);
        }
    }
    (void)sigaltstack(NULL, &stack);
    (void)printf("%d %d\n", stack.ss_flags, getpgrp() == getpid());
    return 7;
}

/* Numbers of descriptors, before and after all of them are in use. */
static int descriptors(void)
{
    for (int i = 0; i < 5; i++) {
        (void)printf("%d %d\n", open("/dev/null", O_RDONLY), dup(0));
    }
    work();
    threads(3);
    for (int i = 3; i < 400; i++) {
        (void)dup2(0, i);
    }
    work();
    threads(3);
    child_works();
    for (int i = 3; i < 400; i++) {
        (void)close(i);
    }
    work();
    (void)printf("%d\n", open("/dev/null", O_RDONLY));
    return 8;
}

/* Reads all that it has mapped for reading, as a collector of garbage does. */
static int all_memory(void)
{
    static char text[MAPS_BYTES];
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long start, end, pages = 0;
    char rights[5];

    work();
    (void)!fread(text, 1, sizeof(text) - 1, maps);
    (void)fclose(maps);
    for (char *line = strtok(text, "\n"); line != NULL;
         line = strtok(NULL, "\n")) {
        if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) != 3 ||
            rights[0] != 'r' || strstr(line, "[v") != NULL) {
            continue;
        }
        for (; start < end; start += 4096) {
            (void)*(volatile char *)start;
            pages++;
        }
    }
    (void)printf("%d\n", pages > 100);
    work();
    return 9;
}

/* ---- threads, locks, signals --------------------------------------------- */

static void end_signal(union sigval value)
{
    *(volatile int *)value.sival_ptr = 1;
}

static int asynchronous(void)
{
    volatile int is_done = 0;
    char text[] = "hello";
    struct aiocb block = {.aio_fildes = fileno(tmpfile()),
                          .aio_buf = text,
                          .aio_nbytes = 5,
                          .aio_sigevent = {.sigev_notify = SIGEV_THREAD}};

    block.aio_sigevent.sigev_notify_function = end_signal;
    block.aio_sigevent.sigev_value.sival_ptr = (void *)(uintptr_t)&is_done;
    work();
    (void)aio_write(&block);
    while (!is_done) {
        (void)usleep(1000);
    }
    (void)printf("%d %zd\n", aio_error(&block), aio_return(&block));
    return 10;
}

static void *without_end(void *type)
{
    struct timespec none = {0, 50000};
    int ends[2];
    char byte;

    (void)pthread_setcanceltype(*(int *)type, NULL);
    (void)!pipe(ends);
    for (;;) {
        (void)nanosleep(&none, NULL);
        (void)!write(ends[1], "a", 1);
        (void)!read(ends[0], &byte, 1);
    }
    return NULL;
}

/* Threads that are ended within a call, at any instruction half of them. */
static int cancelled(void)
{
    int ended = 0;

    work();
    for (int i = 0; i < 200; i++) {
        int type =
            i % 2 == 0 ? PTHREAD_CANCEL_DEFERRED : PTHREAD_CANCEL_ASYNCHRONOUS;
        pthread_t made;
        void *result;

        (void)pthread_create(&made, NULL, without_end, &type);
        (void)usleep((useconds_t)(i * 7 % 900));
        (void)pthread_cancel(made);
        (void)pthread_join(made, &result);
        ended += result == PTHREAD_CANCELED;
    }
    (void)printf("%d\n", ended);
    return 11;
}

static void *owner_dies(void *mutex)
{
    (void)pthread_mutex_lock(mutex);
    return NULL;
}

static void locks_of_kinds(void)
{
    pthread_mutexattr_t kind;
    pthread_mutex_t checked, counted, robust;
    pthread_t made;

    (void)pthread_mutexattr_init(&kind);
    (void)pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    (void)pthread_mutex_init(&checked, &kind);
    SHOW(pthread_mutex_lock(&checked));
    SHOW(pthread_mutex_lock(&checked));
    SHOW(pthread_mutex_unlock(&checked));
    SHOW(pthread_mutex_unlock(&checked));
    (void)pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    (void)pthread_mutex_init(&counted, &kind);
    SHOW(pthread_mutex_lock(&counted));
    SHOW(pthread_mutex_lock(&counted));
    (void)pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_NORMAL);
    (void)pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    (void)pthread_mutex_init(&robust, &kind);
    (void)pthread_create(&made, NULL, owner_dies, &robust);
    (void)pthread_join(made, NULL);
    SHOW(pthread_mutex_lock(&robust));
    SHOW(pthread_mutex_consistent(&robust));
}

static void locks_too_late(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec when;
    sem_t semaphore;

    (void)sem_init(&semaphore, 0, 0);
    (void)clock_gettime(CLOCK_REALTIME, &when);
    (void)pthread_mutex_lock(&mutex);
    SHOW(pthread_mutex_timedlock(&mutex, &when));
    SHOW(pthread_cond_timedwait(&condition, &mutex, &when));
    SHOW(sem_timedwait(&semaphore, &when));
    when.tv_nsec = -1;
    SHOW(pthread_cond_timedwait(&condition, &mutex, &when));
    SHOW(sem_timedwait(&semaphore, &when));
    (void)pthread_rwlock_wrlock(&shared);
    SHOW(pthread_rwlock_wrlock(&shared));
    SHOW(pthread_rwlock_rdlock(&shared));
}

static int locks(void)
{
    work();
    locks_of_kinds();
    locks_too_late();
    return 12;
}

/* Each wait ends with the signal, and with what is left of it. */
static int interrupted(void)
{
    struct sigaction action = {.sa_handler = count_signal};
    struct itimerval soon = {{0, 30000}, {0, 30000}};
    struct timespec most = {500, 0}, rest = {0, 0};
    sem_t semaphore;
    int ends[2];
    char byte;

    (void)sem_init(&semaphore, 0, 0);
    (void)!pipe(ends);
    work();
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(read(ends[0], &byte, 1));
    SHOW(nanosleep(&most, &rest));
    (void)printf("%d\n", rest.tv_sec > 400);
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, &most, &rest));
    (void)printf("%d\n", sleep(500) > 400);
    SHOW(sem_wait(&semaphore));
    SHOW(poll(NULL, 0, 500000));
    return 13;
}

/* Signals each 50 us, in the middle of what is recorded. */
static int many_signals(void)
{
    struct sigaction action = {.sa_handler = count_signal,
                               .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    long done = 0;
    int ends[2];
    char byte;

    (void)!pipe(ends);
    work();
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 20000 || signals < 10; i++) {
        done += write(ends[1], "a", 1) != 1 || read(ends[0], &byte, 1) != 1;
    }
    (void)setitimer(ITIMER_REAL, &never, NULL);
    (void)printf("%ld\n", done);
    return 14;
}

/* ---- processes ----------------------------------------------------------- */

static void spawn_one(posix_spawn_file_actions_t *actions, short flags)
{
    char *words[] = {"sh", "-c", "sleep 0.2; exec sh -c 'exit 23'", NULL};
    posix_spawnattr_t attributes;
    sigset_t all;
    pid_t child;

    (void)sigfillset(&all);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &all);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setflags(&attributes, flags);
    if (posix_spawn(&child, "/bin/sh", actions, &attributes, words, environ) ==
        0) {
        (void)printf("%d\n", status_of(child));
    }
}

static int spawned(void)
{
    posix_spawn_file_actions_t none, closing;

    (void)posix_spawn_file_actions_init(&none);
    (void)posix_spawn_file_actions_init(&closing);
    for (int i = 0; i < 3; i++) {
        (void)posix_spawn_file_actions_addclose(&closing, i);
    }
    work();
    spawn_one(&closing, 0);
    spawn_one(&none, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                         POSIX_SPAWN_SETPGROUP);
    spawn_one(&closing, POSIX_SPAWN_SETSID | POSIX_SPAWN_RESETIDS);
    return 15;
}

static void limit_set(int what, rlim_t most)
{
    struct rlimit limit = {most, most};

    (void)setrlimit((__rlimit_resource_t)what, &limit);
}

/* It takes from itself what a tracer would like to have. */
static int limited(void)
{
    limit_set(RLIMIT_DATA, 256 << 20);
    limit_set(RLIMIT_SIGPENDING, 0);
    limit_set(RLIMIT_MEMLOCK, 0);
    limit_set(RLIMIT_NOFILE, 5);
    work();
    threads(20);
    child_works();
    limit_set(RLIMIT_NOFILE, 0);
    limit_set(RLIMIT_NPROC, 0);
    work();
    return 16;
}

/* No further memory can be mapped. */
static int no_more_maps(void)
{
    long most = 0, made = 0;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");

    if (file == NULL || fscanf(file, "%ld", &most) != 1 || most > 100000) {
        (void)puts("not tried");
        return 17;
    }
    (void)fclose(file);
    work();
    while (made < most &&
           mmap(NULL, 4096, made % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
        made++;
    }
    (void)printf("%d\n", made > 1000 && made < most);
    work();
    return 17;
}

/* The first process of its space, with orphans to wait for. */
static int pid_space(void)
{
    pid_t first;
    int ended = 0;

    work();
    if (unshare(CLONE_NEWPID) != 0) {
        (void)puts("not permitted");
        return 18;
    }
    first = fork();
    if (first != 0) {
        return status_of(first);
    }
    for (int i = 0; i < 5; i++) {
        if (fork() == 0) {
            (void)!fork();
            work();
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
        ended++;
    }
    _exit(100 + ended);
}

static int user_space(void)
{
    pid_t child;

    work();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC) != 0) {
        (void)puts("not permitted");
        return 19;
    }
    work();
    child = fork();
    if (child == 0) {
        (void)execlp("sh", "sh", "-c", "id -u; exit 5", NULL);
        _exit(1);
    }
    (void)printf("%d\n", status_of(child));
    return 19;
}

/* Children whose ends cannot be waited for. */
static int not_waited_for(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 30; i++) {
        if (fork() == 0) {
            if (i % 2 == 0) {
                work();
            }
            _exit(1);
        }
    }
    SHOW(waitpid(-1, NULL, 0));
    return 20;
}

static int forks_among_threads(void)
{
    pthread_t made[8];
    int bad = 0;

    work();
    for (int i = 0; i < 8; i++) {
        (void)pthread_create(&made[i], NULL, thread, NULL);
    }
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();

        if (child == 0) {
            threads(2);
            _exit(3);
        }
        bad += status_of(child) != 3;
    }
    (void)printf("%d\n", bad);
    return 21;
}

static void before_all(void)
{
    struct timespec some = {0, 20000000};
    int file = open("/dev/null", O_RDWR);

    (void)nanosleep(&some, NULL);
    (void)!write(file, "a", 1);
    (void)close(file);
    early_calls++;
}

__attribute__((section(".preinit_array"),
               used)) static void (*const first)(void) = before_all;

__attribute__((constructor(101))) static void before_main(void)
{
    (void)usleep(10000);
    early_calls++;
}

__attribute__((destructor(101))) static void behind_main(void)
{
    if (has_late_work) {
        threads(1);
        child_works();
    }
}

static int around_main(void)
{
    (void)printf("%d\n", early_calls);
    has_late_work = true;
    return 22;
}

static int quick(void)
{
    work();
    (void)at_quick_exit(work);
    quick_exit(23);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } kinds[] = {
        {"all-memory", all_memory},
        {"around-main", around_main},
        {"asynchronous", asynchronous},
        {"bad-addresses", bad_addresses},
        {"cancelled", cancelled},
        {"descriptors", descriptors},
        {"errno", keeps_errno},
        {"forks-among-threads", forks_among_threads},
        {"interrupted", interrupted},
        {"limited", limited},
        {"locks", locks},
        {"many-signals", many_signals},
        {"no-more-maps", no_more_maps},
        {"not-waited-for", not_waited_for},
        {"number-modes", number_modes},
        {"number-traps", number_traps},
        {"pid-space", pid_space},
        {"quick", quick},
        {"seen", what_is_seen},
        {"spawned", spawned},
        {"user-space", user_space},
    };

    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            return kinds[i].run();
        }
    }
    return 99;
}

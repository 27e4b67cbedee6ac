/* posix_target.c - calls of libc whose number and length are known
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     posix_target CASE
 *
 * The clock of a case begins when the process is old enough to be recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AGE_US 130000
#define HOLD_US 100000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int pipes[2];
static volatile int is_cleaned;

static void pause_us(long us)
{
    struct timespec ts = {.tv_sec = us / 1000000,
                          .tv_nsec = us % 1000000 * 1000};

    (void)syscall(SYS_nanosleep, &ts, NULL); /* past ckposix */
}

/* By its task: in /proc/self/stat of an emulator each process runs. */
static bool is_main_asleep(void)
{
    char text[256], path[64];
    long got, pid = syscall(SYS_getpid);
    const char *name_end;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/stat", pid, pid);
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    got = syscall(SYS_read, fd, text, sizeof(text) - 1);
    (void)syscall(SYS_close, fd);
    text[got > 0 ? got : 0] = '\0';
    name_end = strrchr(text, ')');
    return name_end != NULL && name_end[2] == 'S';
}

/* The main thread sleeps for so long in the call that waits for this thread: on
 * a busy machine it may come there late, and sleep for a moment on the way. */
static void hold(void)
{
    long slept = 0;

    while (slept < HOLD_US) {
        pause_us(1000);
        slept = is_main_asleep() ? slept + 1000 : 0;
    }
}

static void fail(const char *what)
{
    printf("failed: %s\n", what);
    exit(1);
}

static void check(int is_true, const char *what)
{
    if (!is_true) {
        fail(what);
    }
}

/* Hold everything for a while; print the holder. */
static void *holder(void *unused)
{
    (void)unused;
    (void)pthread_mutex_lock(&mutex);
    (void)pthread_rwlock_wrlock(&rwlock);
    printf("holder %ld\n", (long)syscall(SYS_gettid));
    (void)pthread_barrier_wait(&barrier);
    hold();
    (void)pthread_mutex_unlock(&mutex);
    hold();
    (void)pthread_rwlock_unlock(&rwlock);
    hold();
    (void)sem_post(&semaphore);
    hold();
    (void)pthread_mutex_lock(&mutex);
    (void)pthread_cond_signal(&condition);
    (void)pthread_mutex_unlock(&mutex);
    return NULL;
}

static void case_locks(void)
{
    pthread_t thread;

    (void)pthread_barrier_init(&barrier, NULL, 2);
    (void)sem_init(&semaphore, 0, 0);
    (void)pthread_create(&thread, NULL, holder, NULL);
    (void)pthread_barrier_wait(&barrier);
    errno = 77;
    check(pthread_mutex_lock(&mutex) == 0, "lock");
    check(errno == 77, "errno of a lock");
    check(pthread_rwlock_rdlock(&rwlock) == 0, "rdlock");
    check(sem_wait(&semaphore) == 0, "sem_wait");
    check(pthread_cond_wait(&condition, &mutex) == 0, "cond_wait");
    (void)pthread_mutex_unlock(&mutex);
    (void)pthread_rwlock_unlock(&rwlock);
    (void)pthread_join(thread, NULL);
}

/* 1000 free locks of each kind: counted, none recorded. */
static void case_free(void)
{
    struct timespec late = {.tv_sec = 1};
    pthread_mutexattr_t attr;
    pthread_mutex_t other;

    (void)sem_init(&semaphore, 0, 1000);
    for (int i = 0; i < 1000; i++) {
        check(pthread_mutex_lock(&mutex) == 0, "lock");
        (void)pthread_mutex_unlock(&mutex);
        check(pthread_rwlock_rdlock(&rwlock) == 0, "rdlock");
        (void)pthread_rwlock_unlock(&rwlock);
        check(pthread_rwlock_wrlock(&rwlock) == 0, "wrlock");
        (void)pthread_rwlock_unlock(&rwlock);
        check(sem_wait(&semaphore) == 0, "sem_wait");
    }
    (void)pthread_mutexattr_init(&attr);
    (void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    (void)pthread_mutex_init(&other, &attr);
    check(pthread_mutex_lock(&other) == 0, "lock");
    check(pthread_mutex_lock(&other) == EDEADLK, "a second lock");
    (void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    (void)pthread_mutex_init(&other, &attr);
    check(pthread_mutex_lock(&other) == 0, "lock");
    check(pthread_mutex_lock(&other) == 0, "a recursive lock");
    check(pthread_mutex_timedlock(&mutex, &late) == 0, "timedlock");
    check(pthread_rwlock_wrlock(&rwlock) == 0, "wrlock");
    check(pthread_rwlock_wrlock(&rwlock) == EDEADLK, "a second wrlock");
    check(sem_timedwait(&semaphore, &late) == -1 && errno == ETIMEDOUT,
          "sem_timedwait");
}

static void *writer(void *unused)
{
    (void)unused;
    hold();
    (void)!write(pipes[1], "12345", 5);
    hold();
    (void)!write(pipes[1], "6", 1);
    return NULL;
}

static void case_files(void)
{
    char path[] = "posix-target-file";
    struct pollfd item;
    pthread_t thread;
    char bytes[4096] = "";
    FILE *stream;
    int fd;

    check(pipe(pipes) == 0, "pipe");
    (void)pthread_create(&thread, NULL, writer, NULL);
    check(read(pipes[0], bytes, sizeof(bytes)) == 5, "read of a pipe");
    item = (struct pollfd){.fd = pipes[0], .events = POLLIN};
    check(poll(&item, 1, -1) == 1, "poll");
    (void)pthread_join(thread, NULL);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    check(fd >= 0, "open");
    for (int i = 0; i < 256; i++) {
        check(write(fd, bytes, sizeof(bytes)) == sizeof(bytes), "write");
    }
    check(fsync(fd) == 0, "fsync");
    check(pread(fd, bytes, 100, 50) == 100, "pread");
    (void)close(fd);
    errno = 0;
    check(open("no/such/file", O_RDONLY) == -1 && errno == ENOENT, "errno");
    check(read(-1, bytes, 1) == -1 && errno == EBADF, "errno of read");
    stream = fopen(path, "r");
    check(stream != NULL, "fopen");
    for (int i = 0; i < 1000; i++) {
        check(fread(bytes, 1, 10, stream) == 10, "fread");
    }
    (void)fclose(stream);
    (void)unlink(path);
    (void)usleep(5000);
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0,
                          &(struct timespec){.tv_nsec = 3000000}, NULL);
}

static void cleaned(void *unused)
{
    (void)unused;
    is_cleaned++;
}

static void *cancelled_in_read(void *unused)
{
    char byte;

    pthread_cleanup_push(cleaned, NULL);
    (void)!read(pipes[0], &byte, 1);
    pthread_cleanup_pop(0);
    return unused;
}

static void *cancelled_in_cond(void *unused)
{
    (void)pthread_mutex_lock(&mutex);
    pthread_cleanup_push(cleaned, NULL);
    (void)pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
    return unused;
}

/* Never blocks, and is cancelled all the same: sem_wait() looks. */
static void *cancelled_in_sem(void *unused)
{
    pthread_cleanup_push(cleaned, NULL);
    for (;;) {
        (void)sem_post(&semaphore);
        (void)sem_wait(&semaphore);
    }
    pthread_cleanup_pop(0);
    return unused;
}

static void case_cancel(void)
{
    void *(*const mains[])(void *) = {cancelled_in_read, cancelled_in_cond,
                                      cancelled_in_sem};

    check(pipe(pipes) == 0, "pipe");
    (void)sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *result;

        (void)pthread_create(&thread, NULL, mains[i], NULL);
        pause_us(HOLD_US);
        (void)pthread_cancel(thread);
        (void)pthread_join(thread, &result);
        check(result == PTHREAD_CANCELED, "cancellation");
    }
    check(is_cleaned == 3, "cleanup handlers");
    (void)usleep(1000);
}

static void on_alarm(int number)
{
    struct timespec ts = {.tv_nsec = 100000};

    (void)number;
    (void)!write(pipes[1], "x", 1);
    (void)nanosleep(&ts, NULL);
}

/* A handler that calls while its thread sleeps, locks and writes. */
static void case_signals(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerspec each = {.it_value = {.tv_nsec = 500000},
                              .it_interval = {.tv_nsec = 500000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = SIGUSR1};
    timer_t timer;
    char bytes[4096];

    check(pipe2(pipes, O_NONBLOCK) == 0, "pipe");
    check(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
    check(timer_settime(timer, 0, &each, NULL) == 0, "timer_settime");
    for (int i = 0; i < 20000; i++) {
        (void)pthread_mutex_lock(&mutex);
        (void)pthread_mutex_unlock(&mutex);
        (void)!read(pipes[0], bytes, sizeof(bytes));
    }
    (void)usleep(20000);
    (void)timer_delete(timer);
}

static void *brief(void *unused)
{
    (void)pthread_mutex_lock(&mutex);
    (void)pthread_mutex_unlock(&mutex);
    return unused;
}

/* 600 short threads: none takes a slot, each is counted. */
static void case_threads(void)
{
    for (int i = 0; i < 600; i++) {
        pthread_t thread;

        (void)pthread_create(&thread, NULL, brief, NULL);
        (void)pthread_join(thread, NULL);
    }
    (void)usleep(1000);
}

static void case_fork(void)
{
    pid_t pid;
    int status;

    (void)usleep(2000);
    pid = fork();
    if (pid == 0) {
        pause_us(AGE_US);
        (void)usleep(4000);
        exit(0);
    }
    check(waitpid(pid, &status, 0) == pid && status == 0, "child");
}

static void sendpolicy(int in, int out)
{
    char byte = 0;

    check(write(out, &byte, 1) == 1, "write");
    check(read(in, &byte, 1) == 1, "read");
}

static struct sockaddr_un links_place(void)
{
    return (struct sockaddr_un){.sun_family = AF_UNIX,
                                .sun_path = "posix-target-place"};
}

static void links_child(int end)
{
    struct sockaddr_un place = links_place();
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), in, out;

    pause_us(AGE_US);
    (void)usleep(1000);
    sendpolicy(dup(end), end);
    check(connect(fd, (struct sockaddr *)&place, sizeof(place)) == 0,
          "connect");
    sendpolicy(fd, fd);
    out = open("posix-target-fifo.0", O_WRONLY);
    in = open("posix-target-fifo.1", O_RDONLY);
    check(in >= 0 && out >= 0, "open of a fifo");
    sendpolicy(in, out);
    exit(0);
}

/* A pair of sockets, connected ones, and pipes with names. */
static void case_links(void)
{
    struct sockaddr_un place = links_place();
    int ends[2], server = socket(AF_UNIX, SOCK_STREAM, 0), in, out, status;
    pid_t pid;

    check(bind(server, (struct sockaddr *)&place, sizeof(place)) == 0 &&
              listen(server, 1) == 0,
          "listen");
    check(mkfifo("posix-target-fifo.0", 0600) == 0 &&
              mkfifo("posix-target-fifo.1", 0600) == 0,
          "mkfifo");
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    pid = fork();
    if (pid == 0) {
        links_child(ends[1]);
    }
    pause_us(AGE_US);
    (void)usleep(1000);
    sendpolicy(ends[0], ends[0]);
    in = accept(server, NULL, NULL);
    sendpolicy(in, in);
    in = open("posix-target-fifo.0", O_RDONLY);
    out = open("posix-target-fifo.1", O_WRONLY);
    check(in >= 0 && out >= 0, "open of a fifo");
    sendpolicy(in, out);
    check(waitpid(pid, &status, 0) == pid && status == 0, "child");
    printf("pids %d %d\n", (int)getpid(), (int)pid);
}

/* Children that count behind their last record, and leave past exit(). The
 * last one shares the memory of its parent, which goes on. */
static void case_leave(void)
{
    void (*const leave[])(int) = {_exit, _Exit, quick_exit};
    pid_t pid;
    int status;

    for (size_t i = 0; i < sizeof(leave) / sizeof(leave[0]); i++) {
        pid = fork();
        if (pid == 0) {
            pause_us(AGE_US);
            (void)usleep(2000);
            for (int lock = 0; lock < 1000; lock++) {
                (void)pthread_mutex_lock(&mutex);
                (void)pthread_mutex_unlock(&mutex);
            }
            leave[i](7);
        }
        check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
                  WEXITSTATUS(status) == 7,
              "status of a child");
    }
    (void)usleep(2000);
    pid = vfork();
    if (pid == 0) {
        _exit(0);
    }
    check(waitpid(pid, &status, 0) == pid && status == 0, "vfork");
    (void)usleep(2000);
}

/* A short program takes no entry of the ring. */
static void case_short(void)
{
    (void)usleep(20000);
    exit(0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"locks", case_locks},     {"free", case_free},
        {"files", case_files},     {"cancel", case_cancel},
        {"signals", case_signals}, {"threads", case_threads},
        {"links", case_links},     {"fork", case_fork},
        {"leave", case_leave},
    };

    if (argc != 2) {
        return 2;
    }
    if (strcmp(argv[1], "short") == 0) {
        case_short();
    }
    pause_us(AGE_US);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            printf("done\n");
            return 0;
        }
    }
    return 2;
}

/* strange.c - what a program may ask the kernel for, and few do
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The argument chooses one; what it prints and how it ends is the same each
 * time. What this kernel does not have, or forbids, prints so: with a tracer,
 * too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096
#define THREADS 20
#define MEBIBYTE (1 << 20)

extern char **environ;

static const char *self; /* this program */

/* Work that a tracer may want to record. */
static void work(void)
{
    for (int i = 0; i < 5; i++) {
        (void)usleep(30000);
        (void)!write(-1, "", 0);
    }
}

static int status_of(pid_t child)
{
    int status = -1;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A program without a name. */
static int memory_file(void)
{
    char *const words[] = {"echo", "in", NULL};
    int file = open("/bin/echo", O_RDONLY | O_CLOEXEC);
    int memory = memfd_create("program", MFD_CLOEXEC);
    struct stat st;

    (void)fstat(file, &st);
    (void)sendfile(memory, file, NULL, (size_t)st.st_size);
    (void)fexecve(memory, words, environ);
    return 1;
}

/* By a descriptor that is only a path; its variables are none. */
static int by_descriptor(void)
{
    char *const words[] = {"env", NULL};
    char *const none[] = {NULL};
    int file = open("/usr/bin/env", O_PATH | O_CLOEXEC);

    work();
    (void)syscall(SYS_execveat, file, "", words, none, AT_EMPTY_PATH);
    return 1;
}

static int no_variables(void)
{
    char *const words[] = {"env", NULL};
    char *const none[] = {NULL};

    work();
    (void)execve("/usr/bin/env", words, none);
    return 1;
}

/* More of them than any program has, one of them long; and none at all. */
static int many_variables(void)
{
    char *const words[] = {"sh", "-c", "env | grep -c ^V; echo ${#LONG}", NULL};
    char name[32];
    char *text = malloc(60000);

    memset(text, 'x', 59999);
    text[59999] = '\0';
    (void)setenv("LONG", text, 1);
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof(name), "V%d", i);
        (void)setenv(name, "v", 1);
    }
    (void)execve("/bin/sh", words, environ);
    return 1;
}

static int cleared(void)
{
    work();
    (void)clearenv();
    return WEXITSTATUS(system("echo in; exit 4"));
}

static int spawned(void)
{
    char *const words[] = {"sh", "-c", "echo $((6*7)); exit 5", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all;
    int sum = 0;
    pid_t child;

    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addclose(&actions, 0);
    (void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY,
                                           0);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
    for (int i = 0; i < 20; i++) {
        int rc = i % 2 == 0 ? posix_spawn(&child, "/bin/sh", &actions,
                                          &attributes, words, environ)
                            : posix_spawnp(&child, "sh", &actions, &attributes,
                                           words, environ);

        sum += rc == 0 ? status_of(child) : 1000;
    }
    sum += posix_spawn(&child, "/no/such", NULL, NULL, words, environ);
    return sum;
}

/* All but the first three numbers, and then those. */
static int closed(void)
{
    closefrom(3);
    work();
    (void)printf("%d\n", open("/dev/null", O_RDONLY));
    (void)syscall(SYS_close_range, 3u, ~0u, 0u);
    (void)printf("%d\n", open("/dev/null", O_RDONLY));
    work();
    (void)fflush(stdout);
    (void)syscall(SYS_close_range, 0u, ~0u, 0u);
    work();
    return open("/dev/null", O_RDONLY) == 0 ? 6 : 1;
}

static void *asleep(void *unused)
{
    for (;;) {
        (void)usleep(1000);
    }
    return unused;
}

static void *at_work(void *unused)
{
    volatile unsigned sum = 0;

    for (;;) {
        sum++;
        (void)!write(-1, "", 0);
    }
    return unused;
}

/* The program ends while its threads are in calls, and out of them. */
static int threads_left(void)
{
    pthread_t thread;

    for (int i = 0; i < THREADS; i++) {
        (void)pthread_create(&thread, NULL, i % 5 == 0 ? at_work : asleep,
                             NULL);
    }
    work();
    return puts("in") > 0 ? 7 : 1;
}

static void *last_of_all(void *unused)
{
    work();
    (void)puts("last");
    exit(8);
    return unused;
}

/* The first thread ends, another ends the program. */
static int first_ends(void)
{
    pthread_t thread;

    (void)pthread_create(&thread, NULL, last_of_all, NULL);
    pthread_exit(NULL);
}

/* A daemon by libc; what it writes comes by a pipe. */
static int daemon_begins(void)
{
    char text[8] = "";
    int ends[2];
    pid_t child;

    (void)!pipe(ends);
    child = fork();
    if (child == 0) {
        (void)!daemon(0, 0);
        work();
        (void)!write(ends[1], getsid(0) == getppid() ? "same" : "own", 4);
        _exit(0);
    }
    (void)close(ends[1]);
    (void)status_of(child);
    (void)!read(ends[0], text, sizeof(text) - 1);
    return puts(text) > 0 ? 9 : 1;
}

/* MPI's library comes and goes, before and behind others. */
static int mpi_comes_and_goes(void)
{
    static const char *const names[] = {"libmpi.so.40", "libmpich.so.12",
                                        "libmpi.so.12"};
    int found = 0;

    for (int i = 0; i < 15; i++) {
        void *mpi = dlopen(names[i % 3], i % 2 ? RTLD_NOW | RTLD_GLOBAL
                                               : RTLD_LAZY | RTLD_LOCAL);
        int (*is_begun)(int *) = NULL;
        int flag = 2;

        if (mpi == NULL) {
            continue;
        }
        *(void **)&is_begun = dlsym(mpi, "MPI_Initialized");
        if (is_begun != NULL && is_begun(&flag) == 0 && flag == 0) {
            found |= 1 << i % 3;
        }
        (void)dlclose(mpi);
    }
    work();
    return printf("%d\n", found) > 0 ? 10 : 1;
}

static void *vfork_again(void *sum)
{
    for (int i = 0; i < 10; i++) {
        pid_t child = vfork();

        if (child == 0) {
            (void)execl("/bin/sh", "sh", "-c", "exit 1", (char *)NULL);
            _exit(100);
        }
        (void)__atomic_fetch_add((int *)sum, status_of(child),
                                 __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Several threads give their memory to a child at once. */
static int vforks(void)
{
    pthread_t threads[8];
    int sum = 0;

    for (int i = 0; i < 8; i++) {
        (void)pthread_create(&threads[i], NULL, vfork_again, &sum);
    }
    for (int i = 0; i < 8; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return sum;
}

/* A read by the kernel's own queue of calls. */
static int uring(void)
{
    struct io_uring_params params = {0};
    int fd = (int)syscall(SYS_io_uring_setup, 8, &params);
    int file = open("/proc/self/comm", O_RDONLY);
    char text[32] = "";
    struct io_uring_sqe *entries;
    uint8_t *rings;
    unsigned tail;

    if (fd < 0) {
        return printf("%d\n", errno) > 0 ? 2 : 1;
    }
    rings = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                 IORING_OFF_SQ_RING);
    entries = mmap(NULL, 8 * sizeof(*entries), PROT_READ | PROT_WRITE,
                   MAP_SHARED, fd, IORING_OFF_SQES);
    if (rings == MAP_FAILED || entries == MAP_FAILED) {
        return 1;
    }
    entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                       .fd = file,
                                       .addr = (uint64_t)(uintptr_t)text,
                                       .len = sizeof(text) - 1,
                                       .user_data = 1};
    tail = *(unsigned *)(rings + params.sq_off.tail);
    ((unsigned *)(rings + params.sq_off.array))[0] = 0;
    __atomic_store_n((unsigned *)(rings + params.sq_off.tail), tail + 1,
                     __ATOMIC_RELEASE);
    (void)syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL,
                  0);
    work();
    return printf("%s", text) > 0 ? 11 : 1;
}

/* A page that a thread of the program's own makes when it is touched. */
struct fault {
    int fd;
    char *page;
};

static void *fault_answer(void *context)
{
    const struct fault *fault = context;
    static char filled[PAGE] __attribute__((aligned(PAGE))) = "filled";
    struct uffd_msg message;
    struct uffdio_copy copy = {
        .dst = (uintptr_t)fault->page, .src = (uintptr_t)filled, .len = PAGE};

    if (read(fault->fd, &message, sizeof(message)) == sizeof(message)) {
        (void)ioctl(fault->fd, UFFDIO_COPY, &copy);
    }
    return NULL;
}

static int faults(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
    struct fault fault = {.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1)};
    pthread_t thread;

    if (fault.fd < 0 || ioctl(fault.fd, UFFDIO_API, &api) != 0) {
        return printf("%d\n", errno) > 0 ? 2 : 1;
    }
    fault.page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    range.range.start = (uintptr_t)fault.page;
    range.range.len = PAGE;
    (void)ioctl(fault.fd, UFFDIO_REGISTER, &range);
    (void)pthread_create(&thread, NULL, fault_answer, &fault);
    work();
    (void)puts(fault.page);
    (void)pthread_join(thread, NULL);
    return 12;
}

/* Traced by its own parent, from its exec to its exit. */
static int traced(void)
{
    pid_t child = fork();
    int stops = 0;
    int status;

    if (child == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        (void)execl(self, self, "abort", (char *)NULL);
        _exit(100);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        int number = WSTOPSIG(status);

        (void)printf("stopped by %d\n", number);
        stops++;
        (void)ptrace(PTRACE_CONT, child, NULL,
                     (void *)(intptr_t)(number == SIGTRAP ? 0 : number));
    }
    return WIFSIGNALED(status) ? WTERMSIG(status) + stops : 1;
}

static int aborted(void)
{
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
    work();
    (void)raise(SIGUSR1);
    abort();
}

/* Addresses that are the same each time, memory that may be executed. */
static int persona(void)
{
    if (getenv("AGAIN") == NULL) {
        (void)personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC |
                          MMAP_PAGE_ZERO);
        (void)setenv("AGAIN", "1", 1);
        (void)execl(self, self, "personality", (char *)NULL);
    }
    work();
    return printf("%x\n", (unsigned)personality(0xffffffff)) > 0 ? 13 : 1;
}

/* Name spaces that it makes for itself while it runs, and goes into again. */
static int spaces(void)
{
    int flags = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
    int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    int before = (int)getuid();
    pid_t child;

    work();
    if (unshare(flags) != 0 && unshare(flags | CLONE_NEWUSER) != 0) {
        return printf("%d\n", errno) > 0 ? 2 : 1;
    }
    (void)unshare(CLONE_NEWPID);
    child = fork();
    if (child == 0) {
        work();
        _exit(getpid() == 1 ? 14 : 1);
    }
    (void)printf("%d\n", status_of(child));
    (void)setns(own, CLONE_NEWNS);
    work();
    return printf("%d\n", before == (int)getuid()) > 0 ? 14 : 1;
}

static int locked(void)
{
    const struct rlimit some = {64 * MEBIBYTE, 64 * MEBIBYTE};
    char *memory;
    int rc;

    work();
    (void)setrlimit(RLIMIT_MEMLOCK, &some);
    rc = mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
    memory = malloc(MEBIBYTE);
    memset(memory, 1, MEBIBYTE);
    work();
    free(memory);
    return printf("%d\n", rc) > 0 ? 15 : 1;
}

/* Files of 4 KiB at most, and no signal of it is missed. */
static int file_limit(void)
{
    const struct rlimit few = {PAGE, PAGE};
    const struct rlimit none = {0, 0};
    int file = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    char page[PAGE] = "";

    work();
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_FSIZE, &few);
    (void)printf("%zd\n", write(file, page, sizeof(page)));
    (void)fflush(stdout);
    work();
    return (int)write(file, page, sizeof(page));
}

static int processor_limit(void)
{
    const struct rlimit second = {1, 2};
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_CPU, &second);
    for (;;) {
    }
    return 1;
}

/* No mapping may become executable from here on. */
static int no_new_code(void)
{
    void *page;

    work();
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)printf("%d\n", prctl(65 /* PR_SET_MDWE */, 1UL, 0UL, 0UL, 0UL));
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)printf("%d\n", page == MAP_FAILED);
    work();
    return 16;
}

/* A program may forbid itself the processor's counter. */
static void counter_fault(int number)
{
    (void)number;
    (void)!write(1, "no counter\n", 11);
    _exit(17);
}

static void *asks_for_memory(void *unused)
{
    for (size_t bytes = 1; bytes < MEBIBYTE; bytes *= 2) {
        free(malloc(bytes));
    }
    return unused;
}

static int no_counter(void)
{
    pthread_t thread;
    unsigned low, high;
    int status;

    work();
    (void)signal(SIGSEGV, counter_fault);
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) {
        return 2;
    }
    work();
    /* A thread begins without it. */
    if (pthread_create(&thread, NULL, asks_for_memory, NULL) == 0) {
        (void)pthread_join(thread, NULL);
    }
    (void)!write(1, "on\n", 3);
    (void)wait(fork() > 0 ? &status : NULL);
    work();
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return 1;
}

/* Its system calls go to a handler of its own, but those of one stretch of
 * code: as emulators have it. */
static volatile char selector;
static volatile sig_atomic_t dispatched;

static void dispatch(int number)
{
    (void)number;
    selector = 0; /* the kernel takes the call again */
    dispatched++;
}

static int dispatching(void)
{
    work();
    (void)signal(SIGSYS, dispatch);
    if (prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1UL, 0UL, 0UL,
              &selector) != 0) {
        return printf("%d\n", errno) > 0 ? 2 : 1;
    }
    selector = 1;
    (void)syscall(SYS_getpid);
    work();
    return printf("%d\n", dispatched) > 0 ? 22 : 1;
}

/* Every number for a descriptor is in use. */
static int all_numbers(void)
{
    const struct rlimit few = {200, 200};
    pthread_t thread;
    int count = 0;

    (void)setrlimit(RLIMIT_NOFILE, &few);
    work();
    while (open("/dev/null", O_RDONLY) >= 0) {
        count++;
    }
    (void)printf("%d\n", count);
    (void)fflush(stdout);
    (void)pthread_create(&thread, NULL, last_of_all, NULL);
    (void)pthread_join(thread, NULL);
    return 1;
}

/* It has a name that no terminal likes; its program and folder are gone. */
static int unnamed(void)
{
    (void)!mkdir("gone", 0700);
    (void)!chdir("gone");
    (void)!rmdir("../gone");
    (void)prctl(PR_SET_NAME, "\033[31m\"\n\377\\", 0, 0, 0);
    work();
    return getcwd(NULL, 0) == NULL && puts("in") > 0 ? 23 : 1;
}

#define FORKS 100

static volatile sig_atomic_t forked;

/* Once: where a fork takes longer than a period, a program that is interrupted
 * again and again would come no farther. */
static void alarm_set(void)
{
    const struct itimerval once = {.it_value = {0, 3000}};

    (void)setitimer(ITIMER_REAL, &once, NULL);
}

static void fork_again(int number)
{
    int status = 0;
    pid_t child = fork();

    (void)number;
    if (child == 0) {
        (void)usleep(1000);
        _exit(2);
    }
    (void)waitpid(child, &status, 0);
    forked += WEXITSTATUS(status);
    if (forked < FORKS) {
        alarm_set();
    }
}

/* A handler forks within whatever call there is. */
static int forks_in_handler(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = fork_again;
    action.sa_flags = SA_RESTART;
    (void)sigaction(SIGALRM, &action, NULL);
    alarm_set();
    while (forked < FORKS) {
        (void)usleep(500);
        (void)!write(-1, "", 0);
        free(malloc(1000));
    }
    return printf("%d\n", forked >= FORKS) > 0 ? 24 : 1;
}

/* Another libc beside the first one. */
static int second_libc(void)
{
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    ssize_t (*second_write)(int, const void *, size_t) = NULL;
    int (*second_usleep)(useconds_t) = NULL;

    work();
    if (libc == NULL) {
        return puts(dlerror()) > 0 ? 2 : 1;
    }
    *(void **)&second_write = dlsym(libc, "write");
    *(void **)&second_usleep = dlsym(libc, "usleep");
    (void)second_usleep(20000);
    return second_write(1, "in\n", 3) == 3 && dlclose(libc) == 0 ? 25 : 1;
}

static void exit_now(int number)
{
    (void)number;
    exit(26);
}

static void farewell(void)
{
    work();
    (void)!write(1, "bye\n", 4);
}

/* exit() in a handler, with handlers of that end. */
static int exits_in_handler(void)
{
    const struct itimerval once = {{0, 0}, {0, 200000}};

    (void)atexit(farewell);
    (void)signal(SIGALRM, exit_now);
    (void)setitimer(ITIMER_REAL, &once, NULL);
    for (;;) {
        work();
    }
    return 1;
}

/* Stacks that it changes by itself, in and out of calls. */
static ucontext_t first_context, second_context;

static void second_run(void)
{
    for (int i = 0; i < 100; i++) {
        (void)usleep(1000);
        (void)swapcontext(&second_context, &first_context);
    }
}

static int contexts(void)
{
    char *stack = malloc(4 * PTHREAD_STACK_MIN);
    int sum = 0;

    (void)getcontext(&second_context);
    second_context.uc_stack.ss_sp = stack;
    second_context.uc_stack.ss_size = 4 * (size_t)PTHREAD_STACK_MIN;
    second_context.uc_link = &first_context;
    makecontext(&second_context, second_run, 0);
    for (int i = 0; i < 100; i++) {
        (void)swapcontext(&first_context, &second_context);
        (void)usleep(500);
        sum++;
    }
    return sum;
}

/* Stacks of a program's own, as small as it needs them, with nothing below. */
static char *small_stack(size_t bytes)
{
    char *all =
        mmap(NULL, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)mprotect(all + PAGE, bytes, PROT_READ | PROT_WRITE);
    return all + PAGE;
}

static void long_call(int number)
{
    (void)number;
    (void)usleep(2000);
    (void)!write(1, "handled\n", 8);
}

/* The first call that is long enough to be recorded is a handler's. */
static int handler_stack(void)
{
    const stack_t stack = {.ss_sp = small_stack(2 * (size_t)PAGE),
                           .ss_size = 2 * (size_t)PAGE};
    struct sigaction action;
    volatile unsigned sum = 0;

    memset(&action, 0, sizeof(action));
    action.sa_handler = long_call;
    action.sa_flags = SA_ONSTACK;
    (void)sigaltstack(&stack, NULL);
    (void)sigaction(SIGUSR1, &action, NULL);
    while (clock() < CLOCKS_PER_SEC / 5) {
        sum++;
    }
    (void)raise(SIGUSR1);
    return 20;
}

static int exec_small(void *environment)
{
    char *const words[] = {"sh", "-c", "echo in; exit 21", NULL};

    (void)execve("/bin/sh", words, environment);
    return 1;
}

static int clone_stack(void)
{
    char *stack = small_stack(PAGE);
    pid_t child;

    work();
    child = clone(exec_small, stack + PAGE, CLONE_VM | CLONE_VFORK | SIGCHLD,
                  environ);
    return status_of(child);
}

/* Who is left without a parent comes to it; who dies with it. */
static int adopted(void)
{
    int sum = 0;
    int status;

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    for (int i = 0; i < 5; i++) {
        if (fork() == 0) {
            if (fork() == 0) {
                work();
                _exit(3);
            }
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            _exit(1);
        }
    }
    while (wait(&status) > 0) {
        sum += WEXITSTATUS(status);
    }
    return sum;
}

/* Its arguments and variables are the room for a title. */
static int titled(char **argv)
{
    size_t length = 0;

    work();
    for (int i = 0; environ[i] != NULL; i++) {
        length = (size_t)(environ[i] + strlen(environ[i]) - argv[0]);
    }
    memset(argv[0], 't', length);
    work();
    environ = NULL;
    work();
    (void)execl("/bin/sh", "sh", "-c", "echo in; exit 18", (char *)NULL);
    return 1;
}

/* A group that stops and goes on, all by its own signals. */
static int stopped(void)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        (void)setpgid(0, 0);
        work();
        (void)kill(0, SIGSTOP);
        work();
        _exit(19);
    }
    (void)waitpid(child, &status, WUNTRACED);
    (void)printf("%d\n", WIFSTOPPED(status));
    (void)kill(child, SIGCONT);
    (void)waitpid(child, &status, WCONTINUED);
    (void)printf("%d\n", WIFCONTINUED(status));
    return status_of(child);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } kinds[] = {
        {"abort", aborted},
        {"adopted", adopted},
        {"all-numbers", all_numbers},
        {"cleared", cleared},
        {"clone-stack", clone_stack},
        {"closed", closed},
        {"contexts", contexts},
        {"cpu-limit", processor_limit},
        {"daemon", daemon_begins},
        {"descriptor", by_descriptor},
        {"dispatch", dispatching},
        {"exits-in-handler", exits_in_handler},
        {"faults", faults},
        {"file-limit", file_limit},
        {"first-ends", first_ends},
        {"forks-in-handler", forks_in_handler},
        {"handler-stack", handler_stack},
        {"locked", locked},
        {"many-variables", many_variables},
        {"memory-file", memory_file},
        {"mpi-comes-and-goes", mpi_comes_and_goes},
        {"no-counter", no_counter},
        {"no-new-code", no_new_code},
        {"no-variables", no_variables},
        {"personality", persona},
        {"second-libc", second_libc},
        {"spaces", spaces},
        {"spawned", spawned},
        {"stopped", stopped},
        {"threads-left", threads_left},
        {"traced", traced},
        {"unnamed", unnamed},
        {"uring", uring},
        {"vforks", vforks},
    };

    self = argv[0];
    if (argc > 1 && strcmp(argv[1], "titled") == 0) {
        return titled(argv);
    }
    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            return kinds[i].run();
        }
    }
    return 99;
}

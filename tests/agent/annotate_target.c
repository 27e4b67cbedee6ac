/* annotate_target.c - a program that uses ck.h, one scenario a run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * C11 and pedantic: it shows that ck.h is.
 */
#include <agent/inject/ck.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 300
#define THREADS_AT_ONCE 10
#define MARKS 20
#define SIGNALS 20000
/* Signals that are waited for, and what is recorded meanwhile. */
#define SIGNALS_ALONE 100
#define MADE_ALONE 500

static int nested(void)
{
    ck_step_begin(7);
    ck_range_push("outer");
    ck_range_push("inner");
    ck_mark("point", 42);
    ck_value("loss", -3);
    ck_range_pop();
    ck_range_pop();
    ck_step_end();
    ck_range_pop(); /* one too many: ignored */
    return 0;
}

/* The step ends before the range in it. */
static int crossed(void)
{
    ck_step_begin(1);
    ck_range_push("crossing");
    ck_step_end();
    raise(SIGKILL);
    return 1;
}

static int reused(void)
{
    char name[64] = "first";

    ck_mark(name, 1);
    strcpy(name, "second");
    ck_mark(name, 2);
    strcpy(name, "first");
    ck_mark(name, 3);
    strcpy(name, "a name that is longer than two words");
    ck_mark(name, 4);
    strcpy(name, "a name that is longer than two");
    ck_mark(name, 5);
    ck_mark("", 6);
    ck_mark(NULL, 7);
    return 0;
}

static int deep(void)
{
    for (int i = 0; i < 70; i++) {
        ck_range_push("level");
    }
    for (int i = 0; i < 70; i++) {
        ck_range_pop();
    }
    ck_mark("after", 0);
    return 0;
}

static int forked(void)
{
    int status;
    pid_t pid;

    ck_range_push("around");
    ck_mark("parent", 1);
    pid = fork();
    if (pid == 0) {
        ck_mark("child", 2);
        ck_range_push("own");
        ck_range_pop();
        ck_range_pop(); /* the parent's */
        ck_mark("parent", 3);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        return 1;
    }
    ck_range_pop();
    return status;
}

static int replaced(char **argv)
{
    char next[] = "nested";

    ck_mark("before", 1);
    argv[1] = next;
    execv("/proc/self/exe", argv);
    return 1;
}

static void *thread_marks(void *unused)
{
    (void)unused;
    for (int i = 0; i < MARKS; i++) {
        ck_mark("thread", i);
    }
    return NULL;
}

static int threads(void)
{
    pthread_t ids[THREADS_AT_ONCE];

    for (int i = 0; i < THREADS; i += THREADS_AT_ONCE) {
        for (int k = 0; k < THREADS_AT_ONCE; k++) {
            if (pthread_create(&ids[k], NULL, thread_marks, NULL) != 0) {
                return 1;
            }
        }
        for (int k = 0; k < THREADS_AT_ONCE; k++) {
            pthread_join(ids[k], NULL);
        }
    }
    return 0;
}

static volatile sig_atomic_t handled;

static void handler(int number)
{
    (void)number;
    ck_range_push("handler-range");
    ck_mark("handler", ++handled);
    ck_range_pop();
}

/* The first ones one by one, so that none is merged with another. */
static void *thread_signals(void *main_thread)
{
    for (int i = 0; i < SIGNALS_ALONE; i++) {
        sig_atomic_t before = handled;

        pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
        while (handled == before) {
            sched_yield();
        }
    }
    for (int i = 0; i < SIGNALS; i++) {
        pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
    }
    return NULL;
}

static int interrupted(void)
{
    struct sigaction action;
    pthread_t self = pthread_self();
    pthread_t sender;
    int64_t made = 0;

    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, NULL);
    /* Each name is recorded while there is room: one that is dropped is
     * counted as lost and recorded again later, however late the sender is. */
    ck_range_push("range");
    ck_mark("main", ++made);
    ck_range_pop();
    raise(SIGUSR1);
    if (pthread_create(&sender, NULL, thread_signals, &self) != 0) {
        return 1;
    }
    while (handled < 1 + SIGNALS_ALONE) {
        /* Bounded, so that there is room for all records of the handler. */
        if (made < MADE_ALONE) {
            ck_range_push("range");
            ck_mark("main", ++made);
            ck_range_pop();
        }
    }
    while (handled < 500 || made < 100000) {
        ck_range_push("range");
        ck_mark("main", ++made);
        ck_range_pop();
        if (pthread_kill(sender, 0) != 0 || made > 3000000) {
            break;
        }
    }
    pthread_join(sender, NULL);
    signal(SIGUSR1, SIG_IGN);
    printf("%lld %lld\n", (long long)made, (long long)handled);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } scenarios[] = {
        {"nested", nested},           {"crossed", crossed},
        {"reused", reused},           {"deep", deep},
        {"forked", forked},           {"threads", threads},
        {"interrupted", interrupted},
    };

    if (argc == 2 && strcmp(argv[1], "replaced") == 0) {
        return replaced(argv);
    }
    for (size_t i = 0;
         argc == 2 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            return scenarios[i].run();
        }
    }
    fprintf(stderr, "annotate_target: no scenario\n");
    return 2;
}

/* front.c - the process in front: starts the target, waits, ends as it ended
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Order at the start: signals blocked, target forked and held before its
 * exec, counters opened on it, collector forked, which maps the kernel's rings,
 * target let go. So nothing of ours is between the launcher and the program but
 * this process.
 */
#include "agent/front/front.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/collector/restart.h"
#include "agent/front/target.h"
#include "agent/perf/counters.h"
#include "agent/perf/sampler.h"
#include "agent/process/frontpipe.h"
#include "agent/process/signals.h"
#include "agent/ring/ringfile.h"
#include "launch/child.h"
#include "launch/cli.h"
#include "launch/log.h"
#include "schema/fd.h"
#include "schema/time.h"

#define FRONT_AS_TARGET (-1) /* end as it ended */
#define REPORT_WAIT (60 * CK_TIME_S)
/* A run whose report is not shown: so long until it is final. */
#define FINAL_WAIT (2 * CK_TIME_S)
/* Another rank starts ckagg when rank 0 has not after 2 s. */
#define LEAD_WAIT (3 * CK_TIME_S)
/* --strict: so long an aggregator may take to answer. */
#define READY_WAIT (10 * CK_TIME_S)
/* So long a collector may take to its first steps. */
#define RINGS_WAIT (2 * CK_TIME_S)
/* The news of the target's end waits so long for room in the channel. */
#define ROOM_WAIT_MS 1000

struct front {
    struct front_wish *wish; /* borrowed */
    struct target target;
    struct signals signals;
    struct counters *counters;
    struct sampler *sampler;
    struct ck_err counters_err; /* why there are none */
    struct ck_err sampler_err;
    pid_t collector; /* 0 = none */
    int channel;     /* -1 = none */
    struct restart restart;
    bool is_ended; /* the target */
    int status;
    bool is_done;    /* the collector reported so */
    bool is_holding; /* the target waits for an aggregator */
    bool is_ready;   /* which answered */
    bool is_watched; /* records of the target's start have rings */
    char *report;    /* what is to be shown of it; NULL = nothing came */
    size_t report_bytes;
    bool has_promised;  /* the place of the report was logged */
    ck_time_t patience; /* until when the report is waited for */
    char why[512];      /* there is none; "" = not known */
    struct frontpipe_end end;
    char place[4096]; /* where the run, or the spool, is */
};

/* Fork a collector on a channel of its own. 0 or -1. */
static int collector_start(struct front *front)
{
    struct agent_config *config = &front->wish->config;
    int ends[2];
    pid_t pid;

    if (frontpipe_open(ends) != 0) {
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        (void)close(front->signals.fd);
        ck_fd_close(front->signals.watch.hold);
        ck_fd_close(front->channel);
        ck_fd_close(front->target.go);
        ck_fd_close(front->target.result);
        config->channel = ends[1];
        _exit(collector_run(config));
    }
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return -1;
    }
    ck_fd_close(front->channel);
    /* A collector that is stopped reads nothing: the front never waits for
     * it, or the target would never be reaped. */
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    front->channel = ends[0];
    front->collector = pid;
    restart_born(&front->restart, ck_time_raw());
    return 0;
}

/* A collector that was stopped (by the target?) goes on for that. */
static void end_tell(struct front *front)
{
    struct pollfd room = {.fd = front->channel, .events = POLLOUT};

    if (front->channel >= 0) {
        if (front->collector > 0) {
            (void)kill(front->collector, SIGCONT);
        }
        (void)poll(&room, 1, ROOM_WAIT_MS);
        (void)frontpipe_send(front->channel, FRONTPIPE_ENDED, &front->end,
                             sizeof(front->end));
    }
}

/* A message of the collector that is no text to keep. */
static void word_take(struct front *front,
                      const struct frontpipe_message *message)
{
    int length = (int)message->length;

    if (message->type == FRONTPIPE_WARN && !front->is_holding &&
        !restart_is_vain(&front->restart)) {
        ck_warn("%.*s", length, message->u.text);
    } else if (message->type == FRONTPIPE_FACT) {
        ck_log_plain("ckagent: %.*s", length, message->u.text);
    } else if (message->type == FRONTPIPE_ALONE && front->why[0] == '\0') {
        (void)snprintf(front->why, sizeof(front->why), "%.*s", length,
                       message->u.text);
    } else if (message->type == FRONTPIPE_READY) {
        front->is_ready = true;
    } else if (message->type == FRONTPIPE_WATCHES) {
        front->is_watched = true;
    } else if (message->type == FRONTPIPE_LEAD) {
        front->wish->is_speaker = true;
    } else if (message->type == FRONTPIPE_DONE) {
        front->is_done = true;
    }
}

/* Kept until the end: who reads our stderr may be slow, or never do it. */
static void report_keep(struct front *front, const char *text, size_t length)
{
    char *more = realloc(front->report, front->report_bytes + length);

    if (more != NULL) {
        memcpy(more + front->report_bytes, text, length);
        front->report = more;
        front->report_bytes += length;
    }
}

static void channel_step(struct front *front)
{
    struct frontpipe_message message;
    int rc = 0;

    while (front->channel >= 0 &&
           (rc = frontpipe_receive(front->channel, &message)) == 1) {
        size_t length = message.length;

        if (message.type == FRONTPIPE_REPORT &&
            front->wish->report == FRONT_REPORT_NOW) {
            report_keep(front, message.u.text, length);
        } else if (message.type == FRONTPIPE_PLACE) {
            (void)snprintf(front->place, sizeof(front->place), "%.*s",
                           (int)length, message.u.text);
        } else {
            word_take(front, &message);
        }
    }
    if (rc < 0) {
        ck_fd_close(front->channel);
        front->channel = -1;
    }
}

/* The next one, if it is time; once the target has ended, at once. */
static void collector_follow(struct front *front)
{
    ck_time_t now = ck_time_raw();

    if (front->is_done) {
        front->restart.due = 0;
    }
    if (front->restart.due == 0 ||
        (now < front->restart.due && !front->is_ended)) {
        return;
    }
    if (collector_start(front) != 0) {
        restart_failed(&front->restart, now);
        front->is_done = front->is_ended;
    } else if (front->is_ended) {
        end_tell(front);
    }
}

/* The collector is gone. Another one follows, unless its last message was that
 * its work is done. None works where several died at once: waiting for one is
 * in vain. */
static void collector_died(struct front *front, int status)
{
    char how[CK_CHILD_ENDED];

    front->collector = 0;
    channel_step(front);
    if (front->is_done) {
        return;
    }
    ck_child_ended(status, how, sizeof(how));
    restart_died(&front->restart, ck_time_raw());
    if (!restart_is_vain(&front->restart)) {
        ck_warn("the collector ended (%s); another one goes on", how);
    } else if (front->is_ended || front->is_holding) {
        ck_error("the collector ended again (%s): what it did not store is "
                 "left in memory; ckmerge moves it to the run",
                 how);
        front->is_done = true;
    } else if (front->restart.young == RESTART_QUICK + 1) {
        ck_error("the collector ended again (%s): another one is tried each "
                 "second; what finds no room meanwhile is counted",
                 how);
    }
    collector_follow(front);
}

/* The target was stopped: so are we, that whoever started us sees it. SIGCONT,
 * to the group or to us, wakes the target too; who wakes just the target wakes
 * us by the collector. Without one nothing would, and a SIGSTOP is not
 * followed.
 */
static void stop_follow(struct front *front, int number)
{
    int32_t self = getpid();
    bool is_watched = front->collector > 0 && front->channel >= 0 &&
                      frontpipe_send(front->channel, FRONTPIPE_STOPS, &self,
                                     sizeof(self)) == 0;

    if (is_watched || number != SIGSTOP) {
        signals_stop(number);
    }
    if (is_watched) {
        (void)frontpipe_send(front->channel, FRONTPIPE_WOKEN, NULL, 0);
    }
}

static void children_reap(struct front *front)
{
    struct rusage usage;
    int status;
    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0) {
        if (pid == front->target.pid && WIFSTOPPED(status)) {
            stop_follow(front, WSTOPSIG(status));
        } else if (pid == front->target.pid) {
            front->is_ended = true;
            front->status = status;
            frontpipe_end_fill(&front->end, front->status, &usage);
            end_tell(front);
            collector_follow(front);
        } else if (pid == front->collector && !WIFSTOPPED(status)) {
            collector_died(front, status);
        } else if (!WIFSTOPPED(status)) {
            (void)groupwatch_reaped(&front->signals.watch, pid);
        }
    }
}

/* The end is near, and whoever reads this may not see the report itself: a
 * launcher that ends a job ends us within a second. */
static void report_promise(struct front *front)
{
    const struct agent_config *config = &front->wish->config;
    const char *dir;

    if (front->place[0] != '\0') {
        dir = front->place;
    } else if (config->aggregator == NULL) {
        dir = config->dir;
    } else {
        dir = NULL;
    }

    if (front->wish->is_speaker && front->channel >= 0 && !front->is_done &&
        !front->has_promised && front->wish->report != FRONT_REPORT_NONE &&
        dir != NULL) {
        ck_log_plain("ckagent: the report of what was recorded will be in "
                     "%s/report.txt",
                     dir);
        front->has_promised = true;
    }
}

/* Asked to end when the target has ended already: by a launcher, which kills
 * after a second (MPICH, Open MPI), or by a person. */
static void hurry(struct front *front, int number)
{
    ck_time_t until = ck_time_raw() + (number == SIGTERM ? CK_TIME_S : 0);

    if (until < front->patience) {
        front->patience = until;
    }
    report_promise(front);
}

static void signal_take(struct front *front,
                        const struct signalfd_siginfo *info)
{
    int32_t number = (int32_t)info->ssi_signo;
    bool is_ending = signals_is_ending(&front->signals, number);

    if (number == SIGCONT && front->collector > 0 &&
        (pid_t)info->ssi_pid == front->collector) {
        return; /* the target goes on already */
    }
    /* A target that had ended was not asked to. */
    if (number == SIGCHLD || is_ending) {
        children_reap(front);
    }
    /* The collector learns what may end us, and that we go on after a stop. */
    if ((is_ending || number == SIGCONT) && front->channel >= 0) {
        (void)frontpipe_send(front->channel, FRONTPIPE_FLUSH, &number,
                             sizeof(number));
    }
    if (front->is_ended && is_ending) {
        hurry(front, number);
    } else if (number == SIGTERM && is_ending && front->wish->config.is_begun) {
        report_promise(front);
    }
    if (front->is_ended) {
        signals_forget(&front->signals, info);
    } else {
        signals_hand_on(&front->signals, info, front->target.pid);
    }
}

static void signals_step(struct front *front)
{
    struct signalfd_siginfo info;

    while (signals_read(&front->signals, &info)) {
        signal_take(front, &info);
    }
}

/* Wait for signals and for messages of the collector, at most so long (-1: for
 * ever). */
static void front_wait(struct front *front, int64_t limit_ms)
{
    struct pollfd items[2] = {
        {.fd = front->signals.fd, .events = POLLIN},
        {.fd = front->channel, .events = POLLIN},
    };

    limit_ms = restart_wait(&front->restart, ck_time_raw(), limit_ms);
    (void)poll(items, 2, (int)limit_ms);
    signals_step(front);
    channel_step(front);
    collector_follow(front);
}

/* Without rank 0 we may have to show the report: that is known when an
 * aggregator answers, or when we have started one. */
static void lead_wait(struct front *front)
{
    ck_time_t until = ck_time_raw() + LEAD_WAIT;

    while (front->wish->config.is_leader && !front->wish->is_speaker &&
           !front->is_ready && !front->is_done && front->why[0] == '\0') {
        ck_time_t left = until - ck_time_raw();

        if (left <= 0) {
            break;
        }
        front_wait(front, left / CK_TIME_MS + 1);
    }
}

/* Wait until the collector reports that its work is done, at most so long. */
static void done_wait(struct front *front, ck_time_t until)
{
    while (!front->is_done) {
        ck_time_t now = ck_time_raw();
        ck_time_t last = until < front->patience ? until : front->patience;

        if (now >= last) {
            break;
        }
        front_wait(front, (last - now) / CK_TIME_MS + 1);
    }
}

/* As much of the report as is read within our patience: a pipe that no one
 * reads must not keep the program from having ended. A pipe that has room takes
 * a piece at once. */
static void report_show(struct front *front)
{
    struct pollfd items[2] = {
        {.fd = front->signals.fd, .events = POLLIN},
        {.fd = STDERR_FILENO, .events = POLLOUT},
    };
    size_t shown = 0;

    while (shown < front->report_bytes) {
        ck_time_t left = front->patience - ck_time_raw();
        size_t piece = front->report_bytes - shown;
        ssize_t n = 0;

        (void)poll(items, 2, left > 0 ? (int)(left / CK_TIME_MS + 1) : 0);
        signals_step(front);
        if (items[1].revents == 0 && left <= 0) {
            break;
        }
        if (items[1].revents != 0) {
            n = write(STDERR_FILENO, front->report + shown,
                      piece < PIPE_BUF ? piece : PIPE_BUF);
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            break;
        }
        shown += n > 0 ? (size_t)n : 0;
    }
}

static void report_tell(struct front *front)
{
    if (front->report != NULL) {
        report_show(front);
    } else if (front->place[0] != '\0') {
        ck_log_plain("ckagent: the run is in %s, its report will be report.txt "
                     "there",
                     front->place);
    } else if (!front->is_done && !front->has_promised) {
        ck_warn("no report after %d s; it will be in %s/report.txt",
                (int)(REPORT_WAIT / CK_TIME_S), front->wish->config.dir);
    }
}

/* A normal end of the reporting rank: the report, or where it will be. Who
 * does not want it shown finds the run final all the same, if that is soon. */
static void report_wait(struct front *front)
{
    front->patience = ck_time_raw() + REPORT_WAIT;
    if (!WIFEXITED(front->status)) {
        report_promise(front);
        return;
    }
    lead_wait(front);
    if (!front->wish->is_speaker) {
        return;
    }
    if (front->wish->report == FRONT_REPORT_NOW) {
        done_wait(front, front->patience);
    } else if (front->wish->config.is_closer) {
        done_wait(front, ck_time_raw() + FINAL_WAIT);
    }
    if (front->wish->report == FRONT_REPORT_NONE) {
        return;
    }
    while (!front->is_done && front->place[0] == '\0' &&
           ck_time_raw() < front->patience) {
        front_wait(front, (front->patience - ck_time_raw()) / CK_TIME_MS + 1);
    }
    report_tell(front);
}

static void never_tell(struct front *front, const struct rusage *usage)
{
    frontpipe_end_fill(&front->end, front->status, usage);
    if (front->channel >= 0) {
        (void)frontpipe_send(front->channel, FRONTPIPE_NEVER, &front->end,
                             sizeof(front->end));
    }
}

/* --strict: the target is held until an aggregator answers. True when it
 * may run. */
static bool ready_wait(struct front *front)
{
    ck_time_t until = ck_time_raw() + READY_WAIT;

    if (!front->wish->is_waiting) {
        return true;
    }
    front->is_holding = true;
    if (front->channel >= 0) {
        (void)frontpipe_send(front->channel, FRONTPIPE_MEET, NULL, 0);
    }
    while (!front->is_ready && !front->is_ended && !front->is_done &&
           front->why[0] == '\0') {
        ck_time_t left = until - ck_time_raw();

        if (left <= 0) {
            (void)snprintf(front->why, sizeof(front->why),
                           "no answer from the aggregator%s%.200s in %d s",
                           front->wish->config.aggregator ? " at " : "",
                           front->wish->config.aggregator
                               ? front->wish->config.aggregator
                               : "",
                           (int)(READY_WAIT / CK_TIME_S));
            break;
        }
        front_wait(front, left / CK_TIME_MS + 1);
    }
    front->is_holding = false;
    return front->is_ready;
}

/* The target is held until the collector has rings for what the kernel records
 * of it: a program that ends at once, or begins beside a load, would have no
 * stacks, for what it mapped is not known. Signals come afterwards. */
static void rings_wait(struct front *front)
{
    ck_time_t until = ck_time_raw() + RINGS_WAIT;
    ck_time_t left = RINGS_WAIT;

    while (front->sampler != NULL && !front->is_watched &&
           front->channel >= 0 && left > 0) {
        struct pollfd item = {.fd = front->channel, .events = POLLIN};

        (void)poll(&item, 1, (int)(left / CK_TIME_MS + 1));
        channel_step(front);
        left = until - ck_time_raw();
    }
}

/* --strict, and it cannot be recorded: the target never runs. */
static int refuse(struct front *front)
{
    struct rusage usage;

    memset(&usage, 0, sizeof(usage));
    target_drop(&front->target);
    (void)waitpid(front->target.pid, &front->status, 0);
    never_tell(front, &usage);
    ck_error("%s (--strict: the program was not started)",
             front->why[0] != '\0' ? front->why : "the collector ended");
    return CK_EXIT_AGENT_FAILED;
}

/* The exec failed: the collector and the user learn it. */
static int exec_failed(struct front *front, int failed)
{
    struct rusage usage;

    memset(&usage, 0, sizeof(usage));
    (void)waitpid(front->target.pid, &front->status, 0);
    never_tell(front, &usage);
    ck_error("cannot run '%s': %s", front->wish->argv[0], strerror(failed));
    return failed == ENOENT ? CK_EXIT_NOT_FOUND : CK_EXIT_NOT_EXECUTABLE;
}

static void begun_tell(struct front *front)
{
    front->wish->config.is_begun = true;
    (void)frontpipe_send(front->channel, FRONTPIPE_BEGUN, NULL, 0);
}

/* Without a collector the ring would never be emptied. */
static void recording_off(struct front *front, const char *why)
{
    if (front->wish->is_waiting) {
        (void)snprintf(front->why, sizeof(front->why), "%s: %s", why,
                       strerror(errno));
    } else {
        ck_warn("%s: %s; the program runs without recording", why,
                strerror(errno));
    }
    atomic_store(&front->wish->config.ring->header->is_off, 1);
    ringfile_unlink(front->wish->config.ring);
    front->is_done = true;
}

/* What is measured from outside, opened on the target while it is held. */
static void meters_open(struct front *front)
{
    struct agent_config *config = &front->wish->config;

    front->counters = counters_create(front->target.pid, &front->counters_err);
    config->counters = front->counters;
    config->counters_why =
        front->counters == NULL ? front->counters_err.text : NULL;
    if (front->wish->sample_hz > 0) {
        front->sampler =
            sampler_create(front->target.pid,
                           &(struct sampler_wish){
                               .hz = front->wish->sample_hz,
                               .sharers = config->identity->place.local_size,
                               .python = front->wish->python,
                               .stack_bytes = front->wish->stack_bytes,
                               .off_cpu = front->wish->off_cpu},
                           &front->sampler_err);
        config->sampler = front->sampler;
        config->sampler_why =
            front->sampler == NULL ? front->sampler_err.text : NULL;
    }
}

/* From the fork to the end of all. Exit status, or FRONT_AS_TARGET. */
static int front_live(struct front *front)
{
    int failed;

    if (!ready_wait(front)) {
        return front->is_ended ? FRONT_AS_TARGET : refuse(front);
    }
    rings_wait(front);
    failed = target_go(&front->target);
    if (failed != 0) {
        return exec_failed(front, failed);
    }
    begun_tell(front);
    while (!front->is_ended) {
        front_wait(front, -1);
    }
    report_wait(front);
    return FRONT_AS_TARGET;
}

static void front_fini(struct front *front)
{
    signals_close(&front->signals);
    counters_destroy(front->counters);
    sampler_destroy(front->sampler);
    ck_fd_close(front->channel);
    free(front->report);
}

int front_run(struct front_wish *wish)
{
    struct front front = {.wish = wish,
                          .channel = -1,
                          .signals = {.fd = -1, .watch = {.hold = -1}},
                          .target = {.go = -1, .result = -1}};
    int status;

    if (signals_open(&front.signals) != 0 ||
        target_fork(&front.target, wish->argv, wish->env) != 0) {
        return -1;
    }
    meters_open(&front);
    wish->config.target = front.target.pid;
    groupwatch_start(&front.signals.watch);
    if (collector_start(&front) != 0) {
        recording_off(&front, "cannot start the collector");
    }
    status = front_live(&front);
    front_fini(&front);
    return status == FRONT_AS_TARGET ? target_end_as(front.status) : status;
}

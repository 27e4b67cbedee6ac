/* counters.c - CPU time, switches, faults and hardware counters of a target
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel counts anyway is read from /proc and, at the end, taken from
 * wait4(): an event of perf for it would cost 0.3 us at each switch, and 1 us
 * the first. Migrations are counted in the switches that the sampler reads.
 * Hardware counters are events on the held child with inherit and
 * enable_on_exec, so a read of one descriptor gives the sum over all processes
 * and threads since the exec. Events whose quotients are reported are
 * scheduled as one group: when the processor has fewer counters than events,
 * they still count over the same instants.
 *
 *   counter       source
 *   task-clock    /proc, 10 ms steps; wait4()
 *   switches      /proc, seen threads; wait4()
 *   faults        /proc; wait4()
 *   migrations    sampler
 *   hardware      perf; user mode only where the kernel's part is forbidden
 */
#include "agent/perf/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/perf/counterevent.h"
#include "agent/perf/perfcall.h"
#include "agent/perf/sampler.h"
#include "agent/process/cpuload.h"
#include "agent/process/procfile.h"
#include "agent/process/proctree.h"
#include "launch/module.h"
#include "schema/fd.h"

/* Threads whose details are read each time; with n times as many, each n-th
 * time. */
#define THREADS_EACH_TIME 64

/* Where a counter's value comes from. */
enum source {
    SOURCE_PROC_CLOCK,
    SOURCE_PROC_SWITCHES,
    SOURCE_PROC_MINOR,
    SOURCE_PROC_MAJOR,
    SOURCE_SAMPLER,
    SOURCE_PERF,
};

/* Counters of the tree. group: events that are scheduled together. */
static const struct event_plan {
    const char *name; /* in the report */
    enum source source;
    int group;         /* of perf's */
    const char *event; /* of libpfm4; NULL where it is not perf's */
} plans[] = {
    {"task-clock", SOURCE_PROC_CLOCK, 0, NULL},
    {"context-switches", SOURCE_PROC_SWITCHES, 0, NULL},
    {"cpu-migrations", SOURCE_SAMPLER, 0, NULL},
    {"minor-faults", SOURCE_PROC_MINOR, 0, NULL},
    {"major-faults", SOURCE_PROC_MAJOR, 0, NULL},
    {"cycles", SOURCE_PERF, 1, "perf::cycles"},
    {"instructions", SOURCE_PERF, 1, "perf::instructions"},
    {"cache-references", SOURCE_PERF, 2, "perf::cache-references"},
    {"cache-misses", SOURCE_PERF, 2, "perf::cache-misses"},
    {"branches", SOURCE_PERF, 3, "perf::branches"},
    {"branch-misses", SOURCE_PERF, 3, "perf::branch-misses"},
    {"dTLB-loads", SOURCE_PERF, 4, "perf::dTLB-loads"},
    {"dTLB-load-misses", SOURCE_PERF, 4, "perf::dTLB-load-misses"},
    {"iTLB-load-misses", SOURCE_PERF, 5, "perf::iTLB-load-misses"},
};
#define PLANS (sizeof(plans) / sizeof(plans[0]))
#define MIGRATIONS 2
_Static_assert(PLANS > MIGRATIONS, "the place of cpu-migrations");

/* Counters of a thread, from /proc. */
enum thread_counter {
    THREAD_CPU,
    THREAD_WAIT,
    THREAD_VOLUNTARY,
    THREAD_INVOLUNTARY,
    THREAD_MINOR,
    THREAD_MAJOR,
    THREAD_COUNTERS
};
static const char *const thread_names[THREAD_COUNTERS] = {
    "thread-cpu-time",      "run-queue-wait",      "voluntary-switches",
    "involuntary-switches", "thread-minor-faults", "thread-major-faults",
};

struct event {
    int fd;            /* of perf's; -1 = not open */
    char why_not[160]; /* it is not counted; "" = it is */
};

struct counters {
    struct event events[PLANS];
    struct proctree *tree;
    struct cpuload *load;       /* NULL = no memory for it */
    struct proctree_total last; /* of wait4(); of a child that lives, 0 */
    ck_time_t started;
    bool is_user_only;
    bool is_introduced; /* names and notes were written */
    unsigned until_threads;
};

/* What events are opened with. */
struct event_opening {
    counterevent_f *find;
    pid_t pid;
    int leader; /* of the group; -1 = it is the first */
};

static int paranoid_level(void)
{
    char text[32];

    return procfile_read(text, sizeof(text),
                         "/proc/sys/kernel/perf_event_paranoid") > 0
               ? atoi(text)
               : -1;
}

/* errno of perf_event_open() in the reader's terms. */
static void why_not_set(struct event *event, int error)
{
    static const char *const no_counter = "this machine has no such counter";
    const char *words = strerror(error);

    switch (error) {
    case EACCES:
    case EPERM:
        (void)snprintf(event->why_not, sizeof(event->why_not),
                       "perf_event is not permitted here "
                       "(kernel.perf_event_paranoid is %d, or a container "
                       "filters it)",
                       paranoid_level());
        return;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        words = no_counter;
        break;
    case ENOSYS:
        words = "this kernel has no perf_event, or a container filters it";
        break;
    case EMFILE:
    case ENFILE:
        words = "too many open files";
        break;
    case EBUSY:
        words = "another tool holds the counters";
        break;
    case EINVAL:
        words = "this kernel is too old for it";
        break;
    default:
        break;
    }
    (void)snprintf(event->why_not, sizeof(event->why_not), "%s", words);
}

static int attr_open(struct perf_event_attr *attr, pid_t pid, int leader)
{
    bool is_leader = leader < 0;

    attr->disabled = is_leader;
    attr->enable_on_exec = is_leader;
    return perfcall_open(attr, pid, -1, leader);
}

/* With the kernel's share where allowed; in the group where possible. */
static int attr_try(struct counters *counters,
                    struct perf_event_attr *attr,
                    pid_t pid,
                    int leader)
{
    int fd = attr_open(attr, pid, leader);

    if (fd < 0 && (errno == EACCES || errno == EPERM) &&
        !attr->exclude_kernel) {
        attr->exclude_kernel = 1;
        attr->exclude_hv = 1;
        fd = attr_open(attr, pid, leader);
        counters->is_user_only = counters->is_user_only || fd >= 0;
    }
    if (fd < 0 && leader >= 0 && errno == EINVAL) {
        fd = attr_open(attr, pid, -1);
    }
    return fd;
}

static void perfevent_open(struct counters *counters,
                           size_t number,
                           const struct event_opening *of)
{
    struct event *event = &counters->events[number];
    struct perf_event_attr attr = {.size = sizeof(attr)};
    const char *why_not = of->find(plans[number].event, &attr);

    if (why_not != NULL) {
        (void)snprintf(event->why_not, sizeof(event->why_not),
                       "libpfm4 does not know it: %s", why_not);
        return;
    }
    attr.inherit = 1;
    attr.exclude_kernel = counters->is_user_only;
    attr.exclude_hv = counters->is_user_only;
    attr.read_format =
        PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    event->fd = attr_try(counters, &attr, of->pid, of->leader);
    if (event->fd < 0) {
        why_not_set(event, errno);
    }
}

/* errno where the kernel has neither of the two counters that each processor
 * has; else 0. libpfm4 would look at the processor for milliseconds, and its
 * tables have some hundred pages. */
static int missing_why(pid_t pid)
{
    static const uint64_t basic[] = {PERF_COUNT_HW_CPU_CYCLES,
                                     PERF_COUNT_HW_INSTRUCTIONS};
    int why = 0;

    for (size_t i = 0; i < sizeof(basic) / sizeof(basic[0]); i++) {
        struct perf_event_attr attr = {
            .type = PERF_TYPE_HARDWARE,
            .size = sizeof(attr),
            .config = basic[i],
            .disabled = 1,
            .exclude_kernel = 1,
            .exclude_hv = 1,
        };
        int fd = perfcall_open(&attr, pid, -1, -1);

        why = errno;
        if (fd >= 0) {
            ck_fd_close(fd);
        }
        if (fd >= 0 || (why != ENOENT && why != ENODEV && why != EOPNOTSUPP)) {
            return 0;
        }
    }
    return why;
}

static void events_open(struct counters *counters, pid_t pid)
{
    struct event_opening of = {.pid = pid};
    struct ck_err err = {""};
    int why = missing_why(pid);

    if (why == 0) {
        of.find = (counterevent_f *)ck_module_symbol(COUNTEREVENT_MODULE,
                                                     COUNTEREVENT_FIND, &err);
    }
    for (size_t i = 0; i < PLANS; i++) {
        struct event *event = &counters->events[i];

        if (plans[i].source != SOURCE_PERF) {
            continue;
        }
        if (plans[i].group != plans[i - 1].group) {
            of.leader = -1;
        }
        if (why != 0) {
            why_not_set(event, why);
        } else if (of.find == NULL) {
            (void)snprintf(event->why_not, sizeof(event->why_not), "%s",
                           err.text);
        } else {
            perfevent_open(counters, i, &of);
        }
        if (of.leader < 0) {
            of.leader = event->fd;
        }
    }
}

struct counters *counters_create(pid_t held_child, struct ck_err *why_not)
{
    struct counters *counters = calloc(1, sizeof(*counters));

    if (counters != NULL) {
        for (size_t i = 0; i < PLANS; i++) {
            counters->events[i].fd = -1;
        }
        counters->tree = proctree_create(held_child);
        counters->load = cpuload_create(held_child, counters->tree);
    }
    if (counters == NULL || counters->tree == NULL) {
        counters_destroy(counters);
        return ck_err_null(why_not, "no memory for counters");
    }
    counters->started = ck_time_raw();
    events_open(counters, held_child);
    return counters;
}

void counters_destroy(struct counters *counters)
{
    int saved = errno;

    if (counters == NULL) {
        return;
    }
    for (size_t i = 0; i < PLANS; i++) {
        ck_fd_close(counters->events[i].fd);
    }
    cpuload_destroy(counters->load);
    proctree_destroy(counters->tree);
    free(counters);
    errno = saved;
}

static int
name_say(struct selfstream *selfstream, uint32_t id, const char *name)
{
    struct ck_text head = {.e = {.kind = CK_KIND_NAME, .name = id}};

    return selfstream_text(selfstream, head, name, strlen(name));
}

/* One note for all counters that are missing for the same reason. */
static void missing_say(const struct counters *counters,
                        struct selfstream *selfstream,
                        size_t first)
{
    const char *why_not = counters->events[first].why_not;
    char names[400] = "";
    size_t used = 0;

    for (size_t i = 0; i < PLANS; i++) {
        const struct event *event = &counters->events[i];

        if (strcmp(event->why_not, why_not) != 0) {
            continue;
        }
        if (i < first) {
            return; /* noted with that one */
        }
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 used > 0 ? ", " : "", plans[i].name);
    }
    selfstream_note(selfstream, "counters not supported: %s: %s", names,
                    why_not);
}

static int introduce(struct counters *counters, struct selfstream *selfstream)
{
    int rc = 0;

    for (size_t i = 0; i < PLANS; i++) {
        if (counters->events[i].why_not[0] != '\0') {
            missing_say(counters, selfstream, i);
        } else {
            rc |= name_say(selfstream, (uint32_t)i + 1, plans[i].name);
        }
    }
    for (uint32_t i = 0; i < THREAD_COUNTERS; i++) {
        rc |= name_say(selfstream, (uint32_t)PLANS + 1 + i, thread_names[i]);
    }
    if (counters->is_user_only) {
        selfstream_note(selfstream,
                        "hardware counters count user mode only "
                        "(kernel.perf_event_paranoid is %d)",
                        paranoid_level());
    }
    counters->is_introduced = rc == 0;
    return rc == 0 ? 0 : -1;
}

static int value_say(struct selfstream *selfstream,
                     uint32_t id,
                     const int64_t values[3],
                     uint32_t tid)
{
    struct ck_counter record = {
        .e = {.kind = CK_KIND_COUNTER,
              .units = sizeof(record) / CK_UNIT_BYTES,
              .name = id},
        .value = values[0],
        .enabled = values[1],
        .running = values[2],
        .tid = tid,
    };

    return selfstream_put(selfstream, &record.e);
}

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t outside_value(const struct counters *counters,
                             enum source source,
                             const struct sampler *sampler)
{
    const struct proctree_total *total = proctree_total(counters->tree);
    const struct proctree_total *last = &counters->last;

    switch (source) {
    case SOURCE_PROC_CLOCK:
        return higher(total->cpu_ns, last->cpu_ns);
    case SOURCE_PROC_SWITCHES:
        return higher(total->switches, last->switches);
    case SOURCE_PROC_MINOR:
        return higher(total->minor_faults, last->minor_faults);
    case SOURCE_PROC_MAJOR:
        return higher(total->major_faults, last->major_faults);
    default:
        return (int64_t)sampler_migrations(sampler);
    }
}

/* A program has faults before it does anything: without one, /proc was not read
 * in time, and who would have waited for its end is gone. */
static bool is_seen(const struct counters *counters, enum source source)
{
    return source == SOURCE_SAMPLER ||
           proctree_total(counters->tree)->minor_faults > 0 ||
           counters->last.minor_faults > 0;
}

static int totals_say(struct counters *counters,
                      struct selfstream *selfstream,
                      const struct sampler *sampler)
{
    int64_t since = ck_time_raw() - counters->started;
    int rc = 0;

    for (size_t i = 0; i < PLANS; i++) {
        const struct event *event = &counters->events[i];
        int64_t values[3] = {0, since, since};

        if (event->why_not[0] != '\0') {
            continue;
        }
        if (event->fd < 0 && !is_seen(counters, plans[i].source)) {
            continue;
        }
        if (event->fd < 0) {
            values[0] = outside_value(counters, plans[i].source, sampler);
        } else if (read(event->fd, values, sizeof(values)) !=
                   (ssize_t)sizeof(values)) {
            continue;
        }
        rc |= value_say(selfstream, (uint32_t)i + 1, values, 0);
    }
    return rc;
}

static int thread_say(struct selfstream *selfstream,
                      const struct proctree_thread *thread,
                      int64_t since)
{
    const int64_t values[THREAD_COUNTERS] = {
        [THREAD_CPU] = thread->cpu_ns,
        [THREAD_WAIT] = thread->wait_ns,
        [THREAD_VOLUNTARY] = thread->voluntary,
        [THREAD_INVOLUNTARY] = thread->involuntary,
        [THREAD_MINOR] = thread->minor_faults,
        [THREAD_MAJOR] = thread->major_faults,
    };
    int rc = 0;

    for (uint32_t i = 0; i < THREAD_COUNTERS; i++) {
        int64_t said[3] = {values[i], since, since};

        rc |= value_say(selfstream, (uint32_t)PLANS + 1 + i, said, thread->tid);
    }
    return rc;
}

static int threads_say(struct counters *counters, struct selfstream *selfstream)
{
    int64_t since = ck_time_raw() - counters->started;
    const struct proctree_thread *threads;
    size_t count;
    int rc = 0;

    counters->until_threads =
        (unsigned)(proctree_read(counters->tree) / THREADS_EACH_TIME);
    if (counters->load != NULL) {
        cpuload_read(counters->load, ck_time_raw());
    }
    threads = proctree_threads(counters->tree, &count);
    for (size_t i = 0; i < count; i++) {
        if (threads[i].is_changed) {
            rc |= thread_say(selfstream, &threads[i], since);
        }
    }
    return rc;
}

void counters_end(struct counters *counters, const struct frontpipe_end *end)
{
    counters->last = (struct proctree_total){
        .cpu_ns = end->user_ns + end->system_ns,
        .minor_faults = end->minor_faults,
        .major_faults = end->major_faults,
        .switches = end->voluntary + end->preempted,
    };
}

int counters_read(struct counters *counters,
                  struct selfstream *selfstream,
                  const struct sampler *sampler)
{
    int rc = 0;

    if (!counters->is_introduced) {
        if (sampler == NULL) {
            (void)snprintf(counters->events[MIGRATIONS].why_not,
                           sizeof(counters->events[MIGRATIONS].why_not),
                           "it is counted with samples (--sample)");
        }
        rc |= introduce(counters, selfstream);
    }
    if (counters->until_threads > 0) {
        counters->until_threads--;
    } else {
        rc |= threads_say(counters, selfstream);
    }
    rc |= totals_say(counters, selfstream, sampler);
    if (rc != 0) {
        errno = ENOSPC;
        return -1;
    }
    return 0;
}

const struct cpuload *counters_load(const struct counters *counters)
{
    return counters == NULL ? NULL : counters->load;
}

uint64_t counters_left_out(const struct counters *counters)
{
    return counters->tree == NULL ? 0 : proctree_left_out(counters->tree);
}

/* counters.c - CPU time, switches, faults and hardware counters of a target
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Events are opened on the held child with inherit and enable_on_exec, so a
 * read of one descriptor gives the sum over all processes and threads since
 * the exec. Events whose quotients are reported are scheduled as one group:
 * when the processor has fewer counters than events, they still count over
 * the same instants. Where perf_event gives nothing, /proc does.
 *
 *   counter       perf    user only            forbidden
 *   task-clock    yes     yes                  /proc, 10 ms steps
 *   switches      yes     /proc, seen threads  /proc, seen threads
 *   migrations    yes     -                    -
 *   faults        yes     yes                  /proc
 *   hardware      yes     yes (user mode)      -
 */
#include "agent/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <perfmon/pfmlib_perf_event.h>

#include "agent/proctree.h"

/* Threads whose details are read each time; with n times as many, each n-th
 * time. */
#define THREADS_EACH_TIME 64

/* Counters of the tree. group: events that are scheduled together. */
static const struct event_plan {
    const char *name;  /* in the report */
    const char *event; /* of libpfm4 */
    int group;
    bool needs_kernel; /* counted in kernel mode only */
} plans[] = {
    {"task-clock", "perf::task-clock", 0, false},
    {"context-switches", "perf::context-switches", 0, true},
    {"cpu-migrations", "perf::cpu-migrations", 0, true},
    {"minor-faults", "perf::minor-faults", 0, false},
    {"major-faults", "perf::major-faults", 0, false},
    {"cycles", "perf::cycles", 1, false},
    {"instructions", "perf::instructions", 1, false},
    {"cache-references", "perf::cache-references", 2, false},
    {"cache-misses", "perf::cache-misses", 2, false},
    {"branches", "perf::branches", 3, false},
    {"branch-misses", "perf::branch-misses", 3, false},
    {"dTLB-loads", "perf::dTLB-loads", 4, false},
    {"dTLB-load-misses", "perf::dTLB-load-misses", 4, false},
    {"iTLB-load-misses", "perf::iTLB-load-misses", 5, false},
};
#define PLANS (sizeof(plans) / sizeof(plans[0]))

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

/* Where a counter's value comes from. */
enum event_source { SOURCE_NONE, SOURCE_PERF, SOURCE_PROC };

struct event {
    int fd; /* -1 = not open */
    enum event_source source;
    char why_not[160]; /* no perf_event for it; "" = there is */
};

struct counters {
    struct event events[PLANS];
    struct proctree *tree;
    ck_time_t started;
    bool is_user_only;
    bool is_introduced; /* names and notes were said */
    unsigned until_threads;
};

static int paranoid_level(void)
{
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    int level = -1;

    if (file != NULL) {
        if (fscanf(file, "%d", &level) != 1) {
            level = -1;
        }
        (void)fclose(file);
    }
    return level;
}

/* errno of perf_event_open() in words of the reader's world. */
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
    return (int)syscall(SYS_perf_event_open, attr, pid, -1, leader,
                        PERF_FLAG_FD_CLOEXEC);
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

static void
event_open(struct counters *counters, size_t number, pid_t pid, int leader)
{
    struct event *event = &counters->events[number];
    struct perf_event_attr attr = {.size = sizeof(attr)};
    pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
    int rc = pfm_get_os_event_encoding(plans[number].event, PFM_PLM3 | PFM_PLM0,
                                       PFM_OS_PERF_EVENT_EXT, &arg);

    if (rc != PFM_SUCCESS) {
        (void)snprintf(event->why_not, sizeof(event->why_not),
                       "libpfm4 does not know it: %s", pfm_strerror(rc));
        return;
    }
    attr.inherit = 1;
    attr.exclude_kernel = counters->is_user_only;
    attr.exclude_hv = counters->is_user_only;
    attr.read_format =
        PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    event->fd = attr_try(counters, &attr, pid, leader);
    if (event->fd < 0) {
        why_not_set(event, errno);
    } else if (counters->is_user_only && plans[number].needs_kernel) {
        (void)close(event->fd);
        event->fd = -1;
        why_not_set(event, EACCES);
    } else {
        event->source = SOURCE_PERF;
    }
}

/* A counter that /proc has as well. */
static bool is_in_proc(size_t number)
{
    static const char *const names[] = {"task-clock", "context-switches",
                                        "minor-faults", "major-faults"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(plans[number].name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void events_open(struct counters *counters, pid_t pid)
{
    int leader = -1;
    int rc = pfm_initialize();

    for (size_t i = 0; i < PLANS; i++) {
        struct event *event = &counters->events[i];

        if (i == 0 || plans[i].group != plans[i - 1].group) {
            leader = -1;
        }
        if (rc != PFM_SUCCESS) {
            (void)snprintf(event->why_not, sizeof(event->why_not),
                           "libpfm4 did not start: %s", pfm_strerror(rc));
        } else {
            event_open(counters, i, pid, leader);
        }
        if (leader < 0) {
            leader = event->fd;
        }
        if (event->fd < 0 && is_in_proc(i)) {
            event->source = SOURCE_PROC;
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
    }
    if (counters == NULL || counters->tree == NULL) {
        counters_destroy(counters);
        (void)ck_err_set(why_not, "no memory for counters");
        return NULL;
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
        if (counters->events[i].fd >= 0) {
            (void)close(counters->events[i].fd);
        }
    }
    proctree_destroy(counters->tree);
    free(counters);
    errno = saved;
}

static int name_say(struct own *own, uint32_t id, const char *name)
{
    struct ck_text head = {.e = {.kind = CK_KIND_NAME, .name = id}};

    return own_text(own, head, name, strlen(name));
}

/* One note for all counters that are missing for the same reason. */
static void
missing_say(const struct counters *counters, struct own *own, size_t first)
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
            return; /* said with that one */
        }
        used += (size_t)snprintf(
            names + used, sizeof(names) - used, "%s%s%s", used > 0 ? ", " : "",
            plans[i].name, event->source == SOURCE_PROC ? " (from /proc)" : "");
    }
    own_note(own, "counters not supported: %s: %s", names, why_not);
}

static int introduce(struct counters *counters, struct own *own)
{
    int rc = 0;

    for (size_t i = 0; i < PLANS; i++) {
        if (counters->events[i].source != SOURCE_NONE) {
            rc |= name_say(own, (uint32_t)i + 1, plans[i].name);
        }
        if (counters->events[i].why_not[0] != '\0') {
            missing_say(counters, own, i);
        }
    }
    for (uint32_t i = 0; i < THREAD_COUNTERS; i++) {
        rc |= name_say(own, (uint32_t)PLANS + 1 + i, thread_names[i]);
    }
    if (counters->is_user_only) {
        own_note(own,
                 "hardware counters count user mode only "
                 "(kernel.perf_event_paranoid is %d)",
                 paranoid_level());
    }
    counters->is_introduced = rc == 0;
    return rc == 0 ? 0 : -1;
}

static int
value_say(struct own *own, uint32_t id, const int64_t values[3], uint32_t tid)
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

    return own_put(own, &record.e);
}

static int64_t proc_value(const struct counters *counters, size_t number)
{
    const struct proctree_total *total = proctree_total(counters->tree);
    const char *name = plans[number].name;

    if (strcmp(name, "task-clock") == 0) {
        return total->cpu_ns;
    }
    if (strcmp(name, "context-switches") == 0) {
        return total->switches;
    }
    return strcmp(name, "minor-faults") == 0 ? total->minor_faults
                                             : total->major_faults;
}

static int totals_say(struct counters *counters, struct own *own)
{
    int64_t since = ck_time_raw() - counters->started;
    int rc = 0;

    for (size_t i = 0; i < PLANS; i++) {
        const struct event *event = &counters->events[i];
        int64_t values[3] = {0, since, since};

        if (event->source == SOURCE_PERF) {
            if (read(event->fd, values, sizeof(values)) !=
                (ssize_t)sizeof(values)) {
                continue;
            }
        } else if (event->source == SOURCE_PROC) {
            values[0] = proc_value(counters, i);
        } else {
            continue;
        }
        rc |= value_say(own, (uint32_t)i + 1, values, 0);
    }
    return rc;
}

static int
thread_say(struct own *own, const struct proctree_thread *thread, int64_t since)
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

        rc |= value_say(own, (uint32_t)PLANS + 1 + i, said, thread->tid);
    }
    return rc;
}

static int threads_say(struct counters *counters, struct own *own)
{
    int64_t since = ck_time_raw() - counters->started;
    const struct proctree_thread *threads;
    size_t count;
    int rc = 0;

    counters->until_threads =
        (unsigned)(proctree_read(counters->tree) / THREADS_EACH_TIME);
    threads = proctree_threads(counters->tree, &count);
    for (size_t i = 0; i < count; i++) {
        if (threads[i].is_changed) {
            rc |= thread_say(own, &threads[i], since);
        }
    }
    return rc;
}

int counters_read(struct counters *counters, struct own *own)
{
    int rc = 0;

    if (!counters->is_introduced) {
        rc |= introduce(counters, own);
    }
    if (counters->until_threads > 0) {
        counters->until_threads--;
    } else {
        rc |= threads_say(counters, own);
    }
    rc |= totals_say(counters, own);
    if (rc != 0) {
        errno = ENOSPC;
        return -1;
    }
    return 0;
}

uint64_t counters_left_out(const struct counters *counters)
{
    return counters->tree == NULL ? 0 : proctree_left_out(counters->tree);
}

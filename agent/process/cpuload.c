/* cpuload.c - the CPUs that a target may use, and who else used them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Between two readings a thread used a CPU for c and was ready without one for
 * w: so c + w of the time it wanted one. The sum over the target's threads, by
 * the time between the readings, is how many wanted one at a time. Readings
 * count by how long threads waited in them: when no thread waited, it does not
 * matter how many there were.
 */
#include "agent/process/cpuload.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/process/cgroup.h"
#include "schema/store/run.h"

/* Threads whose affinity is looked at in a reading. */
#define THREADS_LOOKED_AT 256
#define LIST_BYTES 512
/* On a host of many CPUs /proc/stat takes a millisecond to read, and each of
 * its agents does so: they look again when an n-th more time has passed, but
 * after so long at most. */
#define LOOK_PART 8
#define LOOK_MOST (8 * CK_TIME_S)

/* Work of the host's CPUs, running totals. */
struct busy {
    int64_t all;
    int64_t cpus[CPU_SETSIZE];
};

struct cpuload {
    pid_t root;
    const struct proctree *tree; /* borrowed */
    int64_t ns_per_tick;
    ck_time_t first; /* reading; 0 = none */
    ck_time_t asked; /* for a reading, last */
    ck_time_t last;  /* reading that saw threads */
    ck_time_t seen;  /* the last one that looked at the host, and then: */
    struct busy busy_first, busy_last;
    struct cgroup_quota quota_first, quota_last;
    int64_t own_first, own_last; /* CPU time of the tree */
    int64_t agent_first, agent_last;
    int64_t waited_seen;
    double ready_seen;
    int64_t waited;     /* of threads, ready without a CPU, so far */
    double ready;       /* threads that wanted a CPU, times waited */
    int64_t waited_top; /* the most of a reading: */
    cpu_set_t cpus;     /* allowed to those that wanted one in it */
};

struct cpuload *cpuload_create(pid_t root, const struct proctree *tree)
{
    struct cpuload *load = calloc(1, sizeof(*load));
    long ticks = sysconf(_SC_CLK_TCK);

    if (load != NULL) {
        load->root = root;
        load->tree = tree;
        load->ns_per_tick = CK_TIME_S / (ticks > 0 ? ticks : 100);
        load->waited_top = -1;
    }
    return load;
}

void cpuload_destroy(struct cpuload *load)
{
    int saved = errno;

    free(load);
    errno = saved;
}

/* "cpu3 user nice system idle iowait irq softirq steal ...": what was worked;
 * the time that another machine had the CPU is not. */
static int64_t line_busy(const char *line)
{
    long long t[7] = {0};

    if (sscanf(line, "%*s %lld %lld %lld %lld %lld %lld %lld", &t[0], &t[1],
               &t[2], &t[3], &t[4], &t[5], &t[6]) < 4) {
        return 0;
    }
    return t[0] + t[1] + t[2] + t[5] + t[6];
}

static void busy_read(const struct cpuload *load, struct busy *busy)
{
    FILE *file = fopen("/proc/stat", "re");
    char line[512];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL &&
           strncmp(line, "cpu", 3) == 0) {
        int64_t ns = line_busy(line) * load->ns_per_tick;
        long cpu = strtol(line + 3, NULL, 10);

        if (line[3] == ' ') { /* all of them; its times follow */
            busy->all = ns;
        } else if (cpu >= 0 && cpu < CPU_SETSIZE) {
            busy->cpus[cpu] = ns;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* What the threads wanted since the reading before. True when any lives. */
static bool threads_take(struct cpuload *load, ck_time_t passed)
{
    int64_t wanted = 0, waited = 0;
    size_t count, looked = 0;
    const struct proctree_thread *threads =
        proctree_threads(load->tree, &count);
    cpu_set_t cpus, selfstream;

    CPU_ZERO(&cpus);
    for (size_t i = 0; i < count; i++) {
        int64_t cpu = threads[i].cpu_ns - threads[i].cpu_before;
        int64_t wait = threads[i].wait_ns - threads[i].wait_before;

        wanted += cpu + wait;
        waited += wait;
        if (cpu + wait > 0 && looked++ < THREADS_LOOKED_AT &&
            sched_getaffinity((pid_t)threads[i].tid, sizeof(selfstream),
                              &selfstream) == 0) {
            CPU_OR(&cpus, &cpus, &selfstream);
        }
    }
    load->waited += waited;
    load->ready += (double)wanted / (double)passed * (double)waited;
    if (CPU_COUNT(&cpus) > 0 && waited >= load->waited_top) {
        load->waited_top = waited;
        load->cpus = cpus;
    }
    return count > 0;
}

static bool is_due(const struct cpuload *load)
{
    ck_time_t pause = (load->last - load->first) / LOOK_PART;

    return load->last - load->seen >= (pause < LOOK_MOST ? pause : LOOK_MOST);
}

void cpuload_read(struct cpuload *load, ck_time_t now)
{
    if (load->first == 0) {
        load->first = load->asked = load->last = load->seen = now;
        busy_read(load, &load->busy_first);
        cgroup_read(load->root, &load->quota_first);
        load->own_first = proctree_total(load->tree)->cpu_ns;
        load->agent_first = ck_time_of(CLOCK_PROCESS_CPUTIME_ID);
        return;
    }
    load->asked = now > load->asked ? now : load->asked;
    if (now <= load->last || !threads_take(load, now - load->last)) {
        return;
    }
    load->last = now;
    if (!is_due(load)) {
        return;
    }
    load->seen = now;
    load->waited_seen = load->waited;
    load->ready_seen = load->ready;
    busy_read(load, &load->busy_last);
    cgroup_read(load->root, &load->quota_last);
    load->own_last = proctree_total(load->tree)->cpu_ns;
    load->agent_last = ck_time_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* "0-3,8": as much of it as has room. */
static void list_put(const cpu_set_t *cpus, char text[LIST_BYTES])
{
    size_t used = 0;

    text[0] = '\0';
    for (int cpu = 0; cpu < CPU_SETSIZE && used < LIST_BYTES - 16; cpu++) {
        int first = cpu;

        if (!CPU_ISSET(cpu, cpus)) {
            continue;
        }
        while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, cpus)) {
            cpu++;
        }
        used += (size_t)snprintf(text + used, LIST_BYTES - used,
                                 cpu > first ? "%s%d-%d" : "%s%d",
                                 used > 0 ? "," : "", first, cpu);
    }
}

static int64_t busy_on(const struct cpuload *load)
{
    int64_t sum = 0;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &load->cpus)) {
            sum += load->busy_last.cpus[cpu] - load->busy_first.cpus[cpu];
        }
    }
    return sum;
}

/* In thousandths. */
static int64_t ready_milli(const struct cpuload *load)
{
    return load->waited_seen > 0
               ? (int64_t)(load->ready_seen * 1000 / (double)load->waited_seen)
               : 0;
}

static void numbers_put(const struct cpuload *load, struct ck_lines *lines)
{
    const struct cgroup_quota *first = &load->quota_first;
    const struct cgroup_quota *last = &load->quota_last;
    const struct {
        const char *key;
        int64_t value;
    } rows[] = {
        {"load_ns", load->seen - load->first},
        {"load_life_ns", load->asked - load->first},
        {"load_tick_ns", load->ns_per_tick},
        {"load_online", sysconf(_SC_NPROCESSORS_ONLN)},
        {"load_busy_ns", busy_on(load)},
        {"load_host_ns", load->busy_last.all - load->busy_first.all},
        {"load_own_ns", load->own_last - load->own_first},
        {"load_agent_ns", load->agent_last - load->agent_first},
        {"load_waited_ns", load->waited_seen},
        {"load_ready_milli", ready_milli(load)},
        {"load_quota_milli", last->cpus_milli},
        {"load_periods", last->periods - first->periods},
        {"load_throttled", last->throttled - first->throttled},
        {"load_throttled_ns", last->throttled_ns - first->throttled_ns},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_lines_put_number(lines, rows[i].key, rows[i].value);
    }
}

void cpuload_lines(const struct cpuload *load, struct ck_lines *lines)
{
    char list[LIST_BYTES];

    if (load == NULL || load->seen == load->first) {
        return;
    }
    list_put(&load->cpus, list);
    ck_lines_put(lines, "load_cpus", list);
    ck_lines_put(lines, "load_cgroup", load->quota_last.folder);
    numbers_put(load, lines);
}

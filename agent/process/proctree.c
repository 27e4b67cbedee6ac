/* proctree.c - what /proc has of the threads of a process and its children
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that used no CPU since the last reading costs one small file
 * (schedstat); only the others have their stat and status read.
 */
#include "agent/process/proctree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/process/procfile.h"
#include "schema/order.h"

struct proctree {
    pid_t root;
    struct proctree_thread *threads; /* sorted by tid */
    size_t count;
    uint64_t left_out;     /* at most, of one reading */
    uint64_t left_now;     /* of this one */
    int64_t gone_switches; /* of threads that have ended */
    struct proctree_total total;
    int64_t ns_per_tick;
    uint32_t processes[PROCTREE_PROCESSES_MAX]; /* of this reading */
    size_t process_count;
};

struct proctree *proctree_create(pid_t root)
{
    struct proctree *tree = calloc(1, sizeof(*tree));
    long ticks = sysconf(_SC_CLK_TCK);

    if (tree == NULL) {
        return NULL;
    }
    tree->root = root;
    tree->ns_per_tick = 1000000000 / (ticks > 0 ? ticks : 100);
    tree->threads = calloc(PROCTREE_THREADS_MAX, sizeof(*tree->threads));
    if (tree->threads == NULL) {
        free(tree);
        return NULL;
    }
    return tree;
}

void proctree_destroy(struct proctree *tree)
{
    int saved = errno;

    if (tree != NULL) {
        free(tree->threads);
        free(tree);
    }
    errno = saved;
}

/* The file's text, cut at `room`. 0, or -1. */
static int file_read(int dir, const char *name, char *text, size_t room)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

    return procfile_take(text, room, fd) < 0 ? -1 : 0;
}

CK_BEFORE(threads_before, struct proctree_thread, uint32_t, a->tid < key)

/* The entry of a thread, made if it is new; NULL when the table is full. */
static struct proctree_thread *
thread_find(struct proctree *tree, uint32_t pid, uint32_t tid)
{
    size_t low = threads_before(tree->threads, tree->count, tid);
    struct proctree_thread *entry = &tree->threads[low];

    if (low < tree->count && entry->tid == tid) {
        return entry;
    }
    if (tree->count == PROCTREE_THREADS_MAX) {
        tree->left_now++;
        if (tree->left_now > tree->left_out) {
            tree->left_out = tree->left_now;
        }
        return NULL;
    }
    memmove(entry + 1, entry, (tree->count - low) * sizeof(*entry));
    memset(entry, 0, sizeof(*entry));
    entry->tid = tid;
    entry->pid = pid;
    entry->is_changed = true;
    tree->count++;
    return entry;
}

static void thread_detail(const struct proctree *tree,
                          struct proctree_thread *thread,
                          int dir,
                          bool has_schedstat)
{
    int64_t fields[PROCFILE_STAT];
    char text[4096];
    char name[32];

    (void)snprintf(name, sizeof(name), "%" PRIu32 "/stat", thread->tid);
    if (file_read(dir, name, text, sizeof(text)) == 0 &&
        procfile_stat(text, fields) == 0) {
        thread->minor_faults = fields[10];
        thread->major_faults = fields[12];
        if (!has_schedstat) {
            thread->cpu_ns = (fields[14] + fields[15]) * tree->ns_per_tick;
        }
    }
    (void)snprintf(name, sizeof(name), "%" PRIu32 "/status", thread->tid);
    if (file_read(dir, name, text, sizeof(text)) == 0) {
        thread->voluntary =
            procfile_number(text, "\nvoluntary_ctxt_switches:", 0);
        thread->involuntary =
            procfile_number(text, "\nnonvoluntary_ctxt_switches:", 0);
    }
}

static void
thread_read(struct proctree *tree, uint32_t pid, uint32_t tid, int dir)
{
    struct proctree_thread *thread = thread_find(tree, pid, tid);
    int64_t cpu_ns = 0, wait_ns = 0, before;
    bool has_schedstat;
    char text[128];
    char name[32];

    if (thread == NULL) {
        return;
    }
    (void)snprintf(name, sizeof(name), "%" PRIu32 "/schedstat", tid);
    has_schedstat = file_read(dir, name, text, sizeof(text)) == 0 &&
                    procfile_schedstat(text, &cpu_ns, &wait_ns) == 0;
    before = thread->cpu_ns;
    thread->cpu_before = before;
    thread->wait_before = thread->wait_ns;
    thread->is_seen = true;
    if (has_schedstat) {
        thread->is_changed = before == 0 || cpu_ns != before;
        thread->cpu_ns = cpu_ns;
        thread->wait_ns = wait_ns;
    } else {
        thread->is_changed = true;
    }
    if (thread->is_changed) {
        thread_detail(tree, thread, dir, has_schedstat);
    }
}

static void children_add(struct proctree *tree, int dir, uint32_t tid)
{
    char text[4096];
    char name[32];
    char *at = text;

    (void)snprintf(name, sizeof(name), "%" PRIu32 "/children", tid);
    if (file_read(dir, name, text, sizeof(text)) != 0) {
        return;
    }
    while (tree->process_count < PROCTREE_PROCESSES_MAX) {
        char *end;
        unsigned long pid = strtoul(at, &end, 10);

        if (end == at || pid == 0) {
            return;
        }
        tree->processes[tree->process_count++] = (uint32_t)pid;
        at = end;
    }
}

static void threads_read(struct proctree *tree, uint32_t pid)
{
    char path[64];
    struct dirent *entry;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
    dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

            thread_read(tree, pid, tid, dirfd(dir));
            children_add(tree, dirfd(dir), tid);
        }
    }
    (void)closedir(dir);
}

/* Add the process and the children that it has waited for. */
static void process_sum(const struct proctree *tree,
                        uint32_t pid,
                        struct proctree_total *sum)
{
    int64_t fields[PROCFILE_STAT];
    char text[4096];

    if (procfile_read(text, sizeof(text), "/proc/%" PRIu32 "/stat", pid) < 0 ||
        procfile_stat(text, fields) != 0) {
        return;
    }
    sum->minor_faults += fields[10] + fields[11];
    sum->major_faults += fields[12] + fields[13];
    sum->cpu_ns +=
        (fields[14] + fields[15] + fields[16] + fields[17]) * tree->ns_per_tick;
}

/* Drop threads that this reading did not see, and sum up the others. */
static size_t threads_settle(struct proctree *tree, int64_t *switches)
{
    size_t kept = 0;

    for (size_t i = 0; i < tree->count; i++) {
        struct proctree_thread thread = tree->threads[i];

        if (!thread.is_seen) {
            tree->gone_switches += thread.voluntary + thread.involuntary;
            continue;
        }
        *switches += thread.voluntary + thread.involuntary;
        tree->threads[kept++] = thread;
    }
    tree->count = kept;
    return kept;
}

static void raise_to(int64_t *total, int64_t now)
{
    if (now > *total) {
        *total = now;
    }
}

size_t proctree_read(struct proctree *tree)
{
    struct proctree_total sum = {0};
    size_t live;

    tree->left_now = 0;
    for (size_t i = 0; i < tree->count; i++) {
        tree->threads[i].is_seen = false;
    }
    tree->processes[0] = (uint32_t)tree->root;
    tree->process_count = 1;
    /* Children found on the way are added at the end of the list. */
    for (size_t i = 0; i < tree->process_count; i++) {
        process_sum(tree, tree->processes[i], &sum);
        threads_read(tree, tree->processes[i]);
    }
    live = threads_settle(tree, &sum.switches);
    raise_to(&tree->total.cpu_ns, sum.cpu_ns);
    raise_to(&tree->total.minor_faults, sum.minor_faults);
    raise_to(&tree->total.major_faults, sum.major_faults);
    raise_to(&tree->total.switches, sum.switches + tree->gone_switches);
    return live;
}

const struct proctree_thread *proctree_threads(const struct proctree *tree,
                                               size_t *count)
{
    *count = tree->count;
    return tree->threads;
}

const struct proctree_total *proctree_total(const struct proctree *tree)
{
    return &tree->total;
}

uint64_t proctree_left_out(const struct proctree *tree)
{
    return tree->left_out;
}

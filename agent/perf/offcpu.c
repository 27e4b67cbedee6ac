/* offcpu.c - the stacks of threads as they leave the CPU to wait
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/perf/offcpu.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "agent/perf/perfcall.h"
#include "agent/perf/perfring.h"
#include "agent/perf/tracepoint.h"
#include "agent/process/detach.h"
#include "schema/fd.h"

#define EVENT "sched/sched_switch"
/* Asleep, with or without signals; who is preempted is neither. Where CPUs are
 * looked at, a collector would see itself each time that it sleeps, by name:
 * process ids are not those of its namespace. */
#define FILTER "(prev_state==1||prev_state==2)&&prev_comm!=\"" DETACH_NAME "\""
#define CPUS_MAX 1024
/* With more CPUs there would be too many rings. */
#define CPUS_FEW 16
/* Pages of a ring, and of those of all agents on a CPU. */
#define PAGES 256
#define PAGES_UNLOCKED 16
#define PAGES_LEAST 8
#define PAGES_ALL 512
/* A collector that wakes anyhow takes what fills an n-th of a ring; one that
 * sleeps is woken when another one is full. Each time that it is woken costs
 * the program its CPU. */
#define TAKE_PART 8
#define WAKE_PART 2
/* Chains that have continued no stack for so many windows are left out for so
 * many, or until one would be continued again. */
#define CHAIN_TRY 20
#define CHAIN_REST 300

struct offcpu {
    struct perfring *rings; /* by CPU */
    int *chained; /* by CPU: the same event with chains, into that ring; -1 =
                     not open */
    size_t count;
    bool is_chained;     /* those are the ones that count */
    unsigned chain_idle; /* windows since a chain was of use */
    unsigned chain_rest; /* windows until a cut stack asks for them again */
    size_t pages;
    bool is_paused;
    ck_time_t window; /* when it began */
    uint64_t before;  /* records until then */
};

/* What is opened on each CPU. */
struct opening {
    pid_t pid;
    const struct offcpu_wish *wish;
    bool is_tracepoint;
    uint64_t number; /* its */
    size_t pages;
};

/* A stack that was copied needs no chain of frame pointers along with it, but
 * where it is deeper than the copy. Where code has none the chain ends in a
 * page fault, which may cost more than all else of the sample. So the event
 * without chains counts from the start, the other one does not. */
static int event_open(const struct opening *of, int cpu, bool is_chained)
{
    struct perf_event_attr attr = {
        .type = of->is_tracepoint ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config =
            of->is_tracepoint ? of->number : PERF_COUNT_SW_CONTEXT_SWITCHES,
        .sample_period = 1, /* the kernel's choice for a rate is far off */
        .sample_type = PERFEVENT_STACKS,
        .sample_regs_user = PERFEVENT_REGISTERS_MASK,
        .sample_stack_user = of->wish->stack_bytes,
        .disabled = is_chained || !of->wish->is_wide,
        .inherit = !of->wish->is_wide,
        .enable_on_exec = !is_chained && !of->wish->is_wide,
        .exclude_callchain_user = !is_chained,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW,
        .watermark = 1,
        .wakeup_watermark =
            (uint32_t)(of->pages * (size_t)sysconf(_SC_PAGESIZE) / WAKE_PART),
    };
    int fd = perfcall_open(&attr, of->wish->is_wide ? -1 : of->pid, cpu, -1);

    if (fd >= 0 && of->is_tracepoint &&
        ioctl(fd, PERF_EVENT_IOC_SET_FILTER, FILTER) != 0) {
        ck_fd_close(fd);
        return -1;
    }
    return fd;
}

static void rings_close(struct offcpu *offcpu)
{
    for (size_t i = 0; i < offcpu->count; i++) {
        ck_fd_close(offcpu->chained[i]);
        perfring_fini(&offcpu->rings[i]);
    }
    offcpu->count = 0;
}

/* 0, or -1 with errno, and none is open. */
static int
rings_open(struct offcpu *offcpu, const struct opening *of, const cpu_set_t *on)
{
    for (int cpu = 0; cpu < CPU_SETSIZE && cpu < CPUS_MAX; cpu++) {
        int fd, saved;

        if (!CPU_ISSET(cpu, on)) {
            continue;
        }
        fd = event_open(of, cpu, false);
        if (fd < 0) {
            saved = errno;
            rings_close(offcpu);
            errno = saved;
            return -1;
        }
        offcpu->chained[offcpu->count] = event_open(of, cpu, true);
        offcpu->rings[offcpu->count++] = (struct perfring){.fd = fd};
    }
    return 0;
}

static size_t pages_of(const struct offcpu_wish *wish)
{
    size_t sharers = wish->sharers > 1 ? (size_t)wish->sharers : 1;
    size_t pages = wish->may_lock ? PAGES : PAGES_UNLOCKED;

    while (pages > PAGES_LEAST && pages * sharers > PAGES_ALL) {
        pages /= 2;
    }
    return pages;
}

static int events_open(struct offcpu *offcpu,
                       pid_t pid,
                       const struct offcpu_wish *wish,
                       struct ck_err *why_not)
{
    struct opening of = {.pid = pid, .wish = wish, .pages = offcpu->pages};
    cpu_set_t cpus;

    if (sched_getaffinity(pid, sizeof(cpus), &cpus) != 0) {
        return ck_err_set(why_not, "%s", perfevent_why(errno));
    }
    if (CPU_COUNT(&cpus) > CPUS_FEW) {
        return ck_err_set(why_not,
                          "the program may run on more than %d CPUs, and each "
                          "would need an event more",
                          CPUS_FEW);
    }
    offcpu->rings =
        calloc((size_t)CPU_COUNT(&cpus) + 1, sizeof(*offcpu->rings));
    offcpu->chained =
        calloc((size_t)CPU_COUNT(&cpus) + 1, sizeof(*offcpu->chained));
    if (offcpu->rings == NULL || offcpu->chained == NULL) {
        return ck_err_set(why_not, "out of memory");
    }
    of.is_tracepoint = tracepoint_number(EVENT, &of.number);
    if (of.is_tracepoint && rings_open(offcpu, &of, &cpus) == 0) {
        return 0;
    }
    of.is_tracepoint = false;
    if (rings_open(offcpu, &of, &cpus) != 0) {
        return ck_err_set(why_not, "%s", perfevent_why(errno));
    }
    return 0;
}

struct offcpu *offcpu_create(pid_t held_child,
                             const struct offcpu_wish *wish,
                             struct ck_err *why_not)
{
    struct offcpu *offcpu;

    if (wish->stack_bytes == 0) {
        return ck_err_null(why_not, "no stacks are copied");
    }
    offcpu = calloc(1, sizeof(*offcpu));
    if (offcpu == NULL) {
        return ck_err_null(why_not, "out of memory");
    }
    offcpu->pages = pages_of(wish);
    if (events_open(offcpu, held_child, wish, why_not) != 0) {
        offcpu_destroy(offcpu);
        return NULL;
    }
    return offcpu;
}

void offcpu_destroy(struct offcpu *offcpu)
{
    int saved = errno;

    if (offcpu != NULL) {
        rings_close(offcpu);
        free(offcpu->rings);
        free(offcpu->chained);
        free(offcpu);
    }
    errno = saved;
}

void offcpu_map(struct offcpu *offcpu, int filled_fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};

    for (size_t i = 0; offcpu != NULL && i < offcpu->count; i++) {
        struct perfring *ring = &offcpu->rings[i];

        perfring_map(ring, offcpu->pages);
        if (ring->page == NULL) { /* its records would go nowhere */
            ck_fd_close(ring->fd);
            ring->fd = -1;
        } else if (filled_fd >= 0) {
            (void)epoll_ctl(filled_fd, EPOLL_CTL_ADD, ring->fd, &event);
        }
        if (ring->fd < 0 || offcpu->chained[i] < 0 ||
            ioctl(offcpu->chained[i], PERF_EVENT_IOC_SET_OUTPUT, ring->fd) !=
                0) {
            ck_fd_close(offcpu->chained[i]);
            offcpu->chained[i] = -1;
        }
    }
}

void offcpu_mark(struct offcpu *offcpu)
{
    for (size_t i = 0; offcpu != NULL && i < offcpu->count; i++) {
        perfring_mark(&offcpu->rings[i]);
    }
}

/* What a step works with. */
struct step {
    offcpu_take_f take;
    void *state;
};

static void record_take(void *state, const struct perf_event_header *header)
{
    const struct step *step = state;

    if (header->type == PERF_RECORD_SAMPLE &&
        header->size >= sizeof(struct perfevent_sample)) {
        step->take(step->state, (const struct perfevent_sample *)header);
    }
}

void offcpu_step(struct offcpu *offcpu, offcpu_take_f take, void *state)
{
    struct step step = {take, state};

    if (offcpu == NULL) {
        return;
    }
    for (size_t i = 0; i < offcpu->count; i++) {
        perfring_drain_marked(&offcpu->rings[i], record_take, &step);
    }
}

bool offcpu_is_filling(const struct offcpu *offcpu)
{
    for (size_t i = 0; offcpu != NULL && i < offcpu->count; i++) {
        if (perfring_used(&offcpu->rings[i]) >
            offcpu->rings[i].bytes / TAKE_PART) {
            return true;
        }
    }
    return false;
}

static uint64_t records_of(const struct offcpu *offcpu)
{
    uint64_t records = 0;

    for (size_t i = 0; i < offcpu->count; i++) {
        records += offcpu->rings[i].tally.taken + offcpu->rings[i].tally.lost;
    }
    return records;
}

/* Let those that count now count, or not. */
static void events_set(const struct offcpu *offcpu, unsigned long how)
{
    for (size_t i = 0; i < offcpu->count; i++) {
        bool is_chained = offcpu->is_chained && offcpu->chained[i] >= 0;

        (void)ioctl(is_chained ? offcpu->chained[i] : offcpu->rings[i].fd, how,
                    0);
    }
}

static void pause_set(struct offcpu *offcpu, bool is_paused)
{
    if (is_paused != offcpu->is_paused) {
        events_set(offcpu,
                   is_paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE);
    }
    offcpu->is_paused = is_paused;
}

static void chain_set(struct offcpu *offcpu, bool is_chained)
{
    bool was_paused = offcpu->is_paused;

    pause_set(offcpu, true);
    offcpu->is_chained = is_chained;
    offcpu->chain_idle = 0;
    pause_set(offcpu, was_paused);
}

void offcpu_depth(struct offcpu *offcpu, bool is_cut, bool is_continued)
{
    if (offcpu == NULL) {
        return;
    }
    if (is_continued) {
        offcpu->chain_idle = 0;
    }
    if (!offcpu->is_chained &&
        (is_continued || (is_cut && offcpu->chain_rest == 0))) {
        chain_set(offcpu, true);
    }
}

/* Another window begins. */
static void chain_pace(struct offcpu *offcpu)
{
    if (offcpu->is_chained && ++offcpu->chain_idle > CHAIN_TRY) {
        chain_set(offcpu, false);
        offcpu->chain_rest = CHAIN_REST;
    } else if (offcpu->chain_rest > 0) {
        offcpu->chain_rest--;
    }
}

void offcpu_pace(struct offcpu *offcpu, ck_time_t now)
{
    uint64_t records, most;

    if (offcpu == NULL) {
        return;
    }
    records = records_of(offcpu);
    most = offcpu->count * (OFFCPU_HZ * OFFCPU_WINDOW / CK_TIME_S);
    if (now - offcpu->window >= OFFCPU_WINDOW) {
        offcpu->window = now;
        offcpu->before = records;
        pause_set(offcpu, false);
        chain_pace(offcpu);
    } else if (records - offcpu->before > most) {
        pause_set(offcpu, true);
    }
}

uint64_t offcpu_lost(const struct offcpu *offcpu)
{
    uint64_t lost = 0;

    for (size_t i = 0; offcpu != NULL && i < offcpu->count; i++) {
        lost += offcpu->rings[i].tally.lost;
    }
    return lost;
}

struct offcpu_cpus offcpu_cpus(const struct offcpu *offcpu)
{
    struct offcpu_cpus cpus = {0};

    for (size_t i = 0; offcpu != NULL && i < offcpu->count; i++) {
        cpus.count++;
        cpus.unmapped += offcpu->rings[i].fd < 0;
    }
    return cpus;
}

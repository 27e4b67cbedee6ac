/* sampler.c - samples and switches from the kernel's rings
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An event that children inherit can only be mapped for one CPU, so there is
 * an event and a ring for each CPU that the target may run on, one pair for
 * samples and one for switches. What a thread does on different CPUs is in
 * different rings: switches of one step are put in order by their times, and a
 * switch in that is seen before its switch out waits for it.
 *
 * Events of a task are taken off the CPU and put on it at each switch: 1 to 3
 * us each time. Events of a CPU stay: 0.6 us for the two records. Where the
 * kernel permits them (CAP_PERFMON, or perf_event_paranoid 0) and the CPUs are
 * few and not shared with many other agents, they are used, and records of
 * other programs are dropped. Those that yield in a loop fill such a ring
 * within milliseconds: it is made larger where that is permitted, and what is
 * lost in it are switches and no samples.
 */
#include "agent/perf/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/perf/deaths.h"
#include "agent/perf/exits.h"
#include "agent/perf/offcpu.h"
#include "agent/perf/perfevent.h"
#include "agent/perf/perfring.h"
#include "agent/perf/sampleframes.h"
#include "agent/perf/stacks.h"
#include "agent/perf/switches.h"
#include "agent/perf/unowned.h"
#include "agent/process/descendants.h"
#include "agent/python/pythonfind.h"
#include "agent/python/pythons.h"
#include "agent/symbols/symbols.h"
#include "agent/unwind/codemaps.h"
#include "schema/clock/domain.h"
#include "schema/fd.h"
#include "schema/store/run.h"

#define CPUS_MAX 1024
/* A ring is to be looked at when an n-th of it is full: what comes meanwhile
 * has the rest. */
#define WAKE_PART 4
#define CPUS_FEW 16 /* with more of them, no events of CPUs */
/* So many agents may look at one CPU. */
#define WIDE_SHARERS 2
/* Of the stack of a page fault. */
#define FAULT_STACK_BYTES 8192
/* Rings of waits are mapped so long after the start. */
#define WAITS_AFTER (20 * CK_TIME_MS)
/* Of a thread that leaves the CPU. */
#define OFF_STACK_BYTES 8192
/* Python frames are read only so soon behind one. */
#define FAULT_FRESH (2 * CK_TIME_MS)
/* Process ids that are looked up at once; a power of two. */
#define IMAGES 256
/* Threads whose newest sample is remembered. */
#define LASTS 512
/* A period is longer by this part of it, so that samples of a CPU do not fall
 * on the scheduler's ticks for ever, when always the same tasks wake up. */
#define PERIOD_ODD 269
#define HASTE CK_TIME_MS
#define DEATH_LINES 256
/* Frames without names that are worth a note. */
#define UNNAMED_MANY 100

/* Of page faults each n-th is sampled, primes: a program that does nothing
 * else has a million minor ones a second, or 10,000 major ones. The kernel's
 * own choice of a period for a rate (freq) is off by a factor of 2 to 10 where
 * they come in bursts. */
static const int64_t every[PERFEVENT_RINGS] = {
    [PERFEVENT_MINOR] = 4001,
    [PERFEVENT_MAJOR] = 17,
};

struct image {
    uint32_t pid;
    uint32_t incarnation; /* 0 = does not record (yet) */
};

/* The newest sample of a thread. */
struct last {
    uint32_t tid;
    uint32_t stack;
    ck_time_t at;
};

struct sampler {
    struct perfring *rings[PERFEVENT_RINGS]; /* by CPU */
    size_t count[PERFEVENT_RINGS];
    struct perfring_pages pages;
    int64_t period; /* ns */
    int filled_fd;  /* epoll on the rings; -1 = they are only looked at */
    bool is_mapped;
    bool is_waits_mapped;
    ck_time_t created;
    bool is_wide;         /* events of CPUs, not of the target */
    bool is_user;         /* without the kernel's part */
    char faults_why[160]; /* they are not sampled; "" = they are */
    struct sampleframes *frames;
    uint32_t stack_bytes; /* that come with a sample */
    struct stacks *stacks;
    struct switches *switches;
    struct descendants *descendants;
    struct unowned *unowned;
    enum sampler_python python;
    struct pythons *pythons; /* NULL = not wanted */
    struct deaths *deaths;   /* NULL = not permitted */
    struct ck_err deaths_why;
    struct offcpu *offcpu;    /* NULL = not wanted, or not permitted */
    struct ck_err offcpu_why; /* "" = not wanted */
    uint64_t owned;           /* samples */
    uint64_t pid_space;       /* that pids are of here */
    struct image images[IMAGES];
    uint32_t images_seen; /* header->incarnations when they were looked up */
    /* Places in the ring's table that were in use then: a script's programs
     * come by the thousand, and few have one. */
    uint16_t used[CK_RING_PROCESSES];
    unsigned used_count;
    uint64_t unmapped;        /* rings of samples */
    uint64_t changes;         /* of code that processes have */
    struct last lasts[LASTS]; /* by tid */
    struct exits exits;
};

/* What a step works with. */
struct step {
    struct sampler *sampler;
    struct selfstream *selfstream;
    struct ck_ring_header *header;
    struct symbols *symbols;
    enum perfevent_ring ring; /* that is drained */
};

/* Are these CPUs few, and not looked at by many agents? */
static bool is_own_ground(const cpu_set_t *cpus, int sharers)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    return CPU_COUNT(cpus) <= CPUS_FEW &&
           (long)sharers * CPU_COUNT(cpus) <= WIDE_SHARERS * online;
}

/* Of a stack, with what comes in that ring. */
static uint32_t stack_bytes(const struct sampler *sampler,
                            enum perfevent_ring ring)
{
    size_t most = perfring_stack(&sampler->pages, ring);

    if (ring == PERFEVENT_SAMPLES || sampler->stack_bytes == 0) {
        return sampler->stack_bytes;
    }
    most = most < FAULT_STACK_BYTES ? most : FAULT_STACK_BYTES;
    return most < sampler->stack_bytes ? (uint32_t)most : sampler->stack_bytes;
}

/* How full a ring is to be when the kernel reports it. */
static uint32_t wake_bytes(const struct sampler *sampler,
                           enum perfevent_ring ring)
{
    if (sampler->python == SAMPLER_PYTHON_PROMPT && ring == PERFEVENT_SAMPLES) {
        return 1; /* each sample: the thread's frames are read at once */
    }
    return (uint32_t)(sampler->pages.of[ring] * (size_t)sysconf(_SC_PAGESIZE) /
                      WAKE_PART);
}

/* An event of a CPU. 0, or -1 with errno. */
static int event_open(struct sampler *sampler,
                      enum perfevent_ring ring,
                      pid_t pid,
                      int cpu,
                      enum reach *reach)
{
    struct perfevent_wish wish = {
        .period = ring < PERFEVENT_NEEDED ? sampler->period : every[ring],
        .ring = ring,
        .reach = *reach,
        .wake_bytes = wake_bytes(sampler, ring),
        .stack_bytes = stack_bytes(sampler, ring),
    };
    int fd = perfevent_open(pid, cpu, &wish);

    while (fd < 0 && (errno == EACCES || errno == EPERM) &&
           *reach != REACH_USER) {
        wish.reach = ++*reach;
        fd = perfevent_open(pid, cpu, &wish);
    }
    if (fd >= 0) {
        sampler->rings[ring][sampler->count[ring]++] =
            (struct perfring){.fd = fd};
    }
    return fd < 0 ? -1 : 0;
}

/* The events of a CPU. 0, or -1 with errno. */
static int
cpu_open(struct sampler *sampler, pid_t pid, int cpu, enum reach *reach)
{
    for (int ring = 0; ring < PERFEVENT_NEEDED; ring++) {
        if (event_open(sampler, (enum perfevent_ring)ring, pid, cpu, reach) !=
            0) {
            return -1;
        }
    }
    for (int ring = PERFEVENT_NEEDED;
         ring < PERFEVENT_RINGS && sampler->faults_why[0] == '\0'; ring++) {
        if (event_open(sampler, (enum perfevent_ring)ring, pid, cpu, reach) !=
            0) {
            (void)snprintf(sampler->faults_why, sizeof(sampler->faults_why),
                           "%s", perfevent_why(errno));
        }
    }
    return 0;
}

/* The rings' pages, and how much of a stack fits into them. */
static void pages_share(struct sampler *sampler, size_t cpus, size_t sharers)
{
    size_t online = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    bool may_lock = perfring_may_lock();
    size_t most;

    sampler->pages = perfring_share(cpus, sharers, may_lock);
    perfring_widen(&sampler->pages, sampler->stack_bytes,
                   (sharers * cpus + online - 1) / online, may_lock);
    most = perfring_stack(&sampler->pages, PERFEVENT_SAMPLES);
    if (sampler->stack_bytes > most) {
        sampler->stack_bytes = (uint32_t)most;
    }
}

static int events_open(struct sampler *sampler, pid_t pid, int sharers)
{
    enum reach reach;
    cpu_set_t cpus;

    if (sched_getaffinity(pid, sizeof(cpus), &cpus) != 0) {
        return -1;
    }
    for (int ring = 0; ring < PERFEVENT_RINGS; ring++) {
        sampler->rings[ring] =
            calloc((size_t)CPU_COUNT(&cpus) + 1, sizeof(**sampler->rings));
        if (sampler->rings[ring] == NULL) {
            return -1;
        }
    }
    if (CPU_COUNT(&cpus) > CPUS_FEW) {
        (void)snprintf(sampler->faults_why, sizeof(sampler->faults_why),
                       "the program may run on more than %d CPUs, and each "
                       "would need two more events",
                       CPUS_FEW);
    }
    pages_share(sampler, (size_t)CPU_COUNT(&cpus), (size_t)sharers);
    reach = is_own_ground(&cpus, sharers) ? REACH_WIDE : REACH_TARGET;
    for (int cpu = 0; cpu < CPU_SETSIZE && cpu < CPUS_MAX; cpu++) {
        if (CPU_ISSET(cpu, &cpus) && cpu_open(sampler, pid, cpu, &reach) != 0) {
            return -1;
        }
    }
    sampler->is_wide = reach == REACH_WIDE;
    sampler->is_user = reach == REACH_USER;
    return 0;
}

/* Stacks of waits. */
static void waits_open(struct sampler *sampler,
                       pid_t pid,
                       const struct sampler_wish *wish,
                       int sharers)
{
    const struct offcpu_wish offcpu = {.is_wide = sampler->is_wide,
                                       .sharers = sharers,
                                       .stack_bytes = sampler->stack_bytes <
                                                              OFF_STACK_BYTES
                                                          ? sampler->stack_bytes
                                                          : OFF_STACK_BYTES,
                                       .may_lock = perfring_may_lock()};

    if (wish->off_cpu > 0) {
        sampler->offcpu = offcpu_create(pid, &offcpu, &sampler->offcpu_why);
    }
    if (sampler->offcpu != NULL) {
        switches_stacks(sampler->switches, wish->off_cpu);
    }
}

struct sampler *sampler_create(pid_t held_child,
                               const struct sampler_wish *wish,
                               struct ck_err *why_not)
{
    struct sampler *sampler = calloc(1, sizeof(*sampler));
    int sharers = wish->sharers > 1 ? wish->sharers : 1;

    if (sampler == NULL) {
        return ck_err_null(why_not, "out of memory");
    }
    sampler->period = CK_TIME_S / wish->hz + CK_TIME_S / wish->hz / PERIOD_ODD;
    sampler->filled_fd = -1;
    sampler->created = ck_time_raw();
    sampler->python = wish->python;
    sampler->stack_bytes = EHFRAME_IS_READ ? wish->stack_bytes / 8 * 8 : 0;
    sampler->frames = sampleframes_create();
    sampler->stacks = stacks_create(0);
    sampler->switches = switches_create();
    if (sampler->frames == NULL || sampler->stacks == NULL ||
        sampler->switches == NULL ||
        events_open(sampler, held_child, sharers) != 0) {
        (void)ck_err_set(why_not, "%s", perfevent_why(errno));
        sampler_destroy(sampler);
        return NULL;
    }
    sampler->descendants = descendants_create(held_child, sampler->is_wide);
    sampler->unowned = unowned_create(held_child, sampler->period);
    if (wish->python != SAMPLER_PYTHON_OFF) {
        sampler->pythons = pythons_create(0);
    }
    if (sampler->descendants == NULL || sampler->unowned == NULL ||
        (sampler->pythons == NULL && wish->python != SAMPLER_PYTHON_OFF)) {
        (void)ck_err_set(why_not, "out of memory");
        sampler_destroy(sampler);
        return NULL;
    }
    sampler->pid_space = ck_ring_pid_space();
    waits_open(sampler, held_child, wish, sharers);
    sampler->deaths = deaths_create(
        held_child,
        &(struct deaths_wish){sampler->is_wide, sharers, sampler->stack_bytes},
        &sampler->deaths_why);
    return sampler;
}

void sampler_destroy(struct sampler *sampler)
{
    int saved = errno;

    if (sampler == NULL) {
        return;
    }
    for (int ring = 0; ring < PERFEVENT_RINGS; ring++) {
        for (size_t i = 0; i < sampler->count[ring]; i++) {
            perfring_fini(&sampler->rings[ring][i]);
        }
        free(sampler->rings[ring]);
    }
    ck_fd_close(sampler->filled_fd);
    sampleframes_destroy(sampler->frames);
    stacks_destroy(sampler->stacks);
    switches_destroy(sampler->switches);
    descendants_destroy(sampler->descendants);
    unowned_destroy(sampler->unowned);
    pythons_destroy(sampler->pythons);
    deaths_destroy(sampler->deaths);
    offcpu_destroy(sampler->offcpu);
    free(sampler);
    errno = saved;
}

/* The kernel reports when a part of a ring is full. Once each: an event whose
 * target has ended would report it for ever. */
static void ring_map(struct sampler *sampler, int ring, size_t i)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    struct perfring *at = &sampler->rings[ring][i];

    perfring_map(at, sampler->pages.of[ring]);
    if (at->page == NULL) {
        sampler->unmapped += ring == PERFEVENT_SAMPLES;
    } else if (sampler->filled_fd >= 0) {
        (void)epoll_ctl(sampler->filled_fd, EPOLL_CTL_ADD, at->fd, &event);
    }
}

/* Those of samples first: where memory is short, they matter more. */
void sampler_begin(struct sampler *sampler)
{
    if (sampler == NULL || sampler->is_mapped) {
        return;
    }
    sampler->is_mapped = true;
    sampler->filled_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int ring = 0; ring < PERFEVENT_RINGS; ring++) {
        for (size_t i = 0; i < sampler->count[ring]; i++) {
            ring_map(sampler, ring, i);
        }
    }
    deaths_map(sampler->deaths);
}

/* Those of waits later: a program that ends at once needs none. */
static void waits_map(struct sampler *sampler)
{
    if (!sampler->is_waits_mapped &&
        ck_time_raw() - sampler->created >= WAITS_AFTER) {
        sampler->is_waits_mapped = true;
        offcpu_map(sampler->offcpu, sampler->filled_fd);
    }
}

bool sampler_is_filling(const struct sampler *sampler)
{
    return sampler != NULL && offcpu_is_filling(sampler->offcpu);
}

int sampler_filled_fd(const struct sampler *sampler)
{
    return sampler == NULL ? -1 : sampler->filled_fd;
}

ck_time_t sampler_haste(const struct sampler *sampler, ck_time_t now)
{
    return sampler != NULL && sampler->python == SAMPLER_PYTHON_ON &&
                   pythons_is_busy(sampler->pythons, now)
               ? HASTE
               : 0;
}

/* Take its reports, or they would come again. */
static void filled_hear(struct sampler *sampler)
{
    struct epoll_event events[CPUS_FEW];

    while (sampler->filled_fd >= 0 &&
           epoll_wait(sampler->filled_fd, events, CPUS_FEW, 0) == CPUS_FEW) {
    }
}

/* Number of the newest image with that process id, 0 = none records. Of one
 * that was entered before the last exec or fork, nothing is left. */
static uint32_t image_search(const struct step *step, uint32_t pid)
{
    struct ck_ring_process *table = ck_ring_processes(step->header);
    ck_time_t since = descendants_since(step->sampler->descendants, pid);
    uint32_t newest = 0;

    for (unsigned i = 0; i < step->sampler->used_count; i++) {
        struct ck_ring_process *entry = &table[step->sampler->used[i]];
        /* acquire: pairs with the release in process_enter() */
        uint32_t number =
            atomic_load_explicit(&entry->incarnation, memory_order_acquire);

        if (number > newest && entry->pid == pid &&
            (entry->started == 0 || entry->started >= since) &&
            (entry->pid_space == 0 ||
             entry->pid_space == step->sampler->pid_space)) {
            newest = number;
        }
    }
    return newest;
}

/* An entry has its key before it is counted, its number after. */
static void used_find(const struct step *step)
{
    struct ck_ring_process *table = ck_ring_processes(step->header);
    struct sampler *sampler = step->sampler;

    sampler->used_count = 0;
    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        if (atomic_load(&table[i].key) != 0) {
            sampler->used[sampler->used_count++] = (uint16_t)i;
        }
    }
}

static uint32_t image_find(const struct step *step, uint32_t pid)
{
    struct sampler *sampler = step->sampler;
    struct image *image = &sampler->images[pid % IMAGES];
    uint32_t given = atomic_load(&step->header->incarnations);

    if (given != sampler->images_seen) {
        memset(sampler->images, 0, sizeof(sampler->images));
        sampler->images_seen = given;
        used_find(step);
    }
    if (image->pid != pid) {
        *image = (struct image){pid, image_search(step, pid)};
    }
    return image->incarnation;
}

/* Names and the number of a stack. */
static uint32_t stack_put(const struct step *step,
                          uint32_t incarnation,
                          const struct unowned_sample *sample)
{
    struct pythons *pythons = step->sampler->pythons;

    for (uint32_t i = 0; i < sample->count; i++) {
        if (pythons != NULL) {
            pythons_name(pythons, step->selfstream, incarnation,
                         sample->frames[i]);
        }
        sampleframes_name(step->sampler->frames, step->selfstream, incarnation,
                          sample->frames[i]);
    }
    return sample->count == 0
               ? 0
               : stacks_number(step->sampler->stacks, step->selfstream,
                               step->symbols,
                               &(struct stack){incarnation, sample->frames,
                                               sample->count});
}

static void sample_put(const struct step *step, struct unowned_sample *sample)
{
    uint32_t incarnation = image_find(step, sample->pid);

    if (incarnation == 0) {
        unowned_drop(step->sampler->unowned, sample);
        return;
    }
    sample->record.e.name = incarnation;
    sample->record.stack = stack_put(step, incarnation, sample);
    if (sample->record.e.kind == CK_KIND_SAMPLE) {
        if (step->symbols != NULL && sample->count > 0 &&
            sample->frames[0] >= CK_SITE_KERNEL) {
            symbols_in_kernel(step->symbols);
        }
        step->sampler->lasts[sample->record.tid % LASTS] =
            (struct last){sample->record.tid, (uint32_t)sample->record.stack,
                          sample->record.e.start};
        step->sampler->owned++;
    }
    (void)selfstream_put(step->selfstream, &sample->record.e);
}

static void held_put(const struct step *step, uint32_t pid)
{
    struct unowned_sample held;

    while (unowned_next(step->sampler->unowned, pid, &held)) {
        sample_put(step, &held);
    }
}

/* Its maps are read at once: it may end any time. */
static void enrolled_put(const struct step *step, uint32_t pid)
{
    if (step->symbols != NULL) {
        symbols_seen_process(step->symbols, image_find(step, pid), (pid_t)pid);
    }
    held_put(step, pid);
}

/* Did every record of mapped code have room? */
static bool is_lossless(const struct sampler *sampler)
{
    const struct perfring *rings = sampler->rings[PERFEVENT_SAMPLES];

    for (size_t i = 0; i < sampler->count[PERFEVENT_SAMPLES]; i++) {
        if (rings[i].tally.lost > 0) {
            return false;
        }
    }
    return true;
}

/* The Python frames of its thread, if it has any, as they are now. */
static void pythons_put(struct sampler *sampler,
                        struct unowned_sample *sample,
                        bool is_unwound)
{
    struct pythons *pythons = sampler->pythons;
    struct pythons_sample python = {.pid = (pid_t)sample->pid,
                                    .tid = sample->record.tid,
                                    .time = sample->record.e.start,
                                    .frames = sample->frames,
                                    .count = sample->count,
                                    .room = SAMPLER_FRAMES_MAX,
                                    .is_unwound = is_unwound};

    if (pythons != NULL) {
        python.has_no_library =
            is_lossless(sampler) &&
            !codemaps_may_have(sampleframes_codemaps(sampler->frames),
                               python.pid, pythonfind_is_named);
        pythons_take(pythons, &python);
        sample->count = (uint32_t)python.count;
    }
}

/* Frames in the kernel, before those that called it; the outermost of these
 * have no room where there are many. */
static void kernel_put(const struct sampleframes_found *found,
                       struct unowned_sample *sample)
{
    uint32_t kernel = (uint32_t)found->kernel_count;
    uint32_t left = SAMPLER_FRAMES_MAX - kernel;
    uint32_t kept = sample->count < left ? sample->count : left;

    memmove(sample->frames + kernel, sample->frames,
            kept * sizeof(*sample->frames));
    memcpy(sample->frames, found->kernel, kernel * sizeof(*sample->frames));
    sample->count = kept + kernel;
}

/* Native frames, and those of Python in their place: as they are now, if it is
 * where it was. */
static void frames_put(struct sampler *sampler,
                       const struct perfevent_sample *seen,
                       struct unowned_sample *sample,
                       bool has_stayed)
{
    struct sampleframes_found found;

    sampleframes_take(sampler->frames, seen, &found);
    offcpu_depth(sampler->offcpu, found.is_cut, found.is_continued);
    if (found.is_faulting && sample->record.e.kind == CK_KIND_SAMPLE) {
        sample->record.e.flags |= CK_FLAG_FAULTING;
    }
    memcpy(sample->frames, found.frames, found.count * sizeof(*found.frames));
    sample->count = (uint32_t)found.count;
    sample->record.ip = found.ip;
    /* The Python frames of a fault are not read in haste. */
    if (has_stayed || sample->record.e.kind == CK_KIND_SAMPLE ||
        ck_time_raw() - sample->record.e.start < FAULT_FRESH) {
        pythons_put(sampler, sample, found.is_unwound);
    }
    kernel_put(&found, sample);
}

/* A process that has left nothing: no entry can be made for it any more, so its
 * frames are not worth the search. A script's programs end before their samples
 * are looked at. */
static bool is_gone(uint32_t pid)
{
    return pid != 0 && pid <= INT32_MAX && kill((pid_t)pid, 0) != 0 &&
           errno == ESRCH;
}

static const uint16_t kinds[PERFEVENT_RINGS] = {
    [PERFEVENT_SAMPLES] = CK_KIND_SAMPLE,
    [PERFEVENT_MINOR] = CK_KIND_FAULT_MINOR,
    [PERFEVENT_MAJOR] = CK_KIND_FAULT_MAJOR,
};

static void sample_take(const struct step *step,
                        const struct perfevent_sample *seen)
{
    struct sampler *sampler = step->sampler;
    struct unowned_sample sample = {
        .record = {.e = {.kind = kinds[step->ring],
                         .units = sizeof(sample.record) / CK_UNIT_BYTES,
                         .flags = CK_FLAG_RAW,
                         .start = ck_domain_raw((ck_time_t)seen->time)},
                   .tid = seen->tid,
                   .cpu = seen->cpu,
                   .weight = step->ring == PERFEVENT_SAMPLES
                                 ? sampler->period
                                 : every[step->ring],
                   .address = seen->address},
        .pid = seen->pid,
    };
    uint32_t incarnation = image_find(step, seen->pid);

    if (incarnation == 0 && !descendants_has(sampler->descendants, seen->pid)) {
        return;
    }
    if (sample.record.e.start <
        descendants_since(sampler->descendants, seen->pid)) {
        unowned_drop(sampler->unowned, &sample); /* of what ran before */
        return;
    }
    if (incarnation == 0 && is_gone(seen->pid)) {
        unowned_drop(sampler->unowned, &sample);
        return;
    }
    frames_put(sampler, seen, &sample, false);
    if (incarnation != 0) {
        held_put(step, seen->pid);
        sample_put(step, &sample);
    } else if (unowned_take(sampler->unowned, step->header, &sample)) {
        enrolled_put(step, seen->pid);
    }
}

/* The trailer is last, whatever comes before it. */
static void switch_take(const struct step *step,
                        const struct perf_event_header *header)
{
    const struct perfevent_id *id =
        (const void *)((const uint8_t *)header + header->size - sizeof(*id));
    uint32_t incarnation;

    if (header->size < sizeof(*header) + sizeof(*id)) {
        return;
    }
    incarnation = image_find(step, id->pid);
    if (incarnation == 0) {
        return;
    }
    switches_add(
        step->sampler->switches, step->selfstream,
        &(struct switch_seen){
            .time = ck_domain_raw((ck_time_t)id->time),
            .tid = id->tid,
            .incarnation = incarnation,
            .cpu = id->cpu,
            .is_out = (header->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0,
            .is_preempted =
                (header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0,
        });
}

/* Code was mapped. The thread that names addresses reads what it was when
 * there is time; the next sample may be in it. */
static void mapping_take(const struct step *step,
                         const struct perfevent_mmap *seen)
{
    uint32_t incarnation = image_find(step, seen->pid);
    size_t room = seen->header.size - sizeof(*seen);

    step->sampler->changes++;
    if (incarnation != 0 && step->symbols != NULL) {
        symbols_mapped(step->symbols, incarnation);
    }
    if (step->sampler->pythons != NULL) {
        pythons_mapped(step->sampler->pythons, (pid_t)seen->pid);
    }
    if (strnlen(seen->path, room) < room) {
        codemaps_mapped(sampleframes_codemaps(step->sampler->frames),
                        (pid_t)seen->pid,
                        &(struct mapping){.start = seen->address,
                                          .end = seen->address + seen->length,
                                          .offset = seen->offset,
                                          .path = seen->path,
                                          .is_code = true});
    }
}

/* Another image runs under that number from then on. */
static void image_begin(const struct step *step, uint32_t pid, ck_time_t since)
{
    step->sampler->changes++;
    step->sampler->images[pid % IMAGES] = (struct image){0};
    if (step->sampler->pythons != NULL) {
        pythons_forget(step->sampler->pythons, (pid_t)pid);
    }
    sampleframes_forget(step->sampler->frames, (pid_t)pid);
    unowned_forget(step->sampler->unowned, pid, since);
    exits_begin(&step->sampler->exits, pid, since);
}

static void fork_take(const struct step *step,
                      const struct perfevent_fork *fork)
{
    ck_time_t since = ck_domain_raw((ck_time_t)fork->time);

    if (fork->pid != fork->parent) { /* not a thread */
        descendants_forked(step->sampler->descendants, fork->pid, fork->parent,
                           since);
        codemaps_forked(sampleframes_codemaps(step->sampler->frames),
                        (pid_t)fork->pid, (pid_t)fork->parent);
        image_begin(step, fork->pid, since);
    }
}

/* Where CPUs are looked at, other programs run on them as well. */
static bool is_own(const struct step *step, uint32_t pid)
{
    return image_find(step, pid) != 0 ||
           descendants_has(step->sampler->descendants, pid);
}

static void exit_take(const struct step *step,
                      const struct perfevent_fork *exit)
{
    if (is_own(step, exit->pid)) {
        exits_add(&step->sampler->exits, exit->pid, exit->tid,
                  ck_domain_raw((ck_time_t)exit->time));
    }
}

static void exec_take(const struct step *step,
                      const struct perf_event_header *header)
{
    uint32_t pid = *(const uint32_t *)(header + 1);
    const struct perfevent_id *id =
        (const void *)((const uint8_t *)header + header->size - sizeof(*id));
    ck_time_t since = ck_domain_raw((ck_time_t)id->time);

    if ((header->misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
        descendants_execed(step->sampler->descendants, pid, since);
        if (descendants_has(step->sampler->descendants, pid)) {
            codemaps_execed(sampleframes_codemaps(step->sampler->frames),
                            (pid_t)pid);
        }
        image_begin(step, pid, since);
    }
}

static void record_take(void *state, const struct perf_event_header *header)
{
    const struct step *step = state;

    switch (header->type) {
    case PERF_RECORD_SAMPLE:
        if (header->size >= sizeof(struct perfevent_sample)) {
            sample_take(step, (const struct perfevent_sample *)header);
        }
        break;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
        switch_take(step, header);
        break;
    case PERF_RECORD_MMAP:
        if (header->size >= sizeof(struct perfevent_mmap)) {
            mapping_take(step, (const struct perfevent_mmap *)header);
        }
        break;
    case PERF_RECORD_FORK:
        if (header->size >= sizeof(struct perfevent_fork)) {
            fork_take(step, (const struct perfevent_fork *)header);
        }
        break;
    case PERF_RECORD_EXIT:
        if (header->size >= sizeof(struct perfevent_fork)) {
            exit_take(step, (const struct perfevent_fork *)header);
        }
        break;
    case PERF_RECORD_COMM:
        if (header->size >= sizeof(*header) + sizeof(struct perfevent_id)) {
            exec_take(step, header);
        }
        break;
    default:
        break;
    }
}

/* A process that dies soon may not have been looked at by who names addresses:
 * its files are known from its mappings. */
static void module_note(const struct step *step, uint32_t pid, uint64_t address)
{
    struct mapping mapping;

    if (step->symbols != NULL &&
        codemaps_mapping(sampleframes_codemaps(step->sampler->frames),
                         (pid_t)pid, address - 1, &mapping)) {
        symbols_seen_mapping(step->symbols, image_find(step, pid), &mapping);
    }
}

static bool death_is_own(void *state, uint32_t pid)
{
    return is_own(state, pid);
}

/* A thread that dies of a signal: where it was is a record of its own. */
static void death_put(void *state, const struct death *death)
{
    const struct step *step = state;
    const struct sampleframes_found *found = death->found;
    uint32_t incarnation = image_find(step, death->pid);
    struct ck_text head = {.e = {.kind = CK_KIND_STANDING,
                                 .flags = CK_FLAG_RAW,
                                 .name = incarnation,
                                 .start = death->at},
                           .object = death->tid};
    char text[DEATH_LINES];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    if (incarnation == 0 || found->count == 0) {
        return;
    }
    for (size_t i = 0; i < found->count; i++) {
        sampleframes_name(step->sampler->frames, step->selfstream, incarnation,
                          found->frames[i]);
        module_note(step, death->pid, found->frames[i]);
    }
    head.extra = stacks_number(
        step->sampler->stacks, step->selfstream, step->symbols,
        &(struct stack){incarnation, found->frames, found->count});
    deaths_lines(death, &lines);
    (void)selfstream_text(step->selfstream, head, text, lines.used);
}

/* A thread left the CPU: its stack is unwound if that was, or is, a long wait.
 * The Python frames of one that goes on are where they were. */
static void wait_take(void *state, const struct perfevent_sample *seen)
{
    const struct step *step = state;
    struct sampler *sampler = step->sampler;
    struct unowned_sample sample = {
        .record = {.e = {.kind = CK_KIND_OFF_CPU,
                         .start = ck_domain_raw((ck_time_t)seen->time)},
                   .tid = seen->tid},
        .pid = seen->pid,
    };
    uint32_t incarnation = image_find(step, seen->pid);
    bool goes_on;

    if (incarnation == 0 ||
        !switches_is_wanted(sampler->switches, seen->tid, sample.record.e.start,
                            &goes_on)) {
        return;
    }
    frames_put(sampler, seen, &sample, goes_on);
    switches_stack(
        sampler->switches,
        &(struct switch_stack){.tid = seen->tid,
                               .time = sample.record.e.start,
                               .ip = sample.record.ip,
                               .stack = stack_put(step, incarnation, &sample)});
}

void sampler_step(struct sampler *sampler,
                  struct selfstream *selfstream,
                  struct ck_ring_header *header,
                  struct symbols *symbols)
{
    struct step step = {.sampler = sampler,
                        .selfstream = selfstream,
                        .header = header,
                        .symbols = symbols};

    if (sampler == NULL) {
        return;
    }
    sampler_begin(sampler);
    filled_hear(sampler);
    waits_map(sampler);
    offcpu_mark(sampler->offcpu);
    for (int ring = 0; ring < PERFEVENT_RINGS; ring++) {
        step.ring = (enum perfevent_ring)ring;
        for (size_t i = 0; i < sampler->count[ring]; i++) {
            perfring_drain(&sampler->rings[ring][i], record_take, &step);
        }
    }
    switches_settle(sampler->switches, selfstream);
    offcpu_step(sampler->offcpu, wait_take, &step);
    offcpu_pace(sampler->offcpu, ck_time_raw());
    switches_put(sampler->switches, selfstream);
    deaths_step(sampler->deaths, sampler->frames,
                &(struct deaths_taker){death_is_own, death_put, &step});
}

static struct perfring_tally tally_sum(const struct sampler *sampler,
                                       enum perfevent_ring ring)
{
    struct perfring_tally sum = {0};

    for (size_t i = 0; i < sampler->count[ring]; i++) {
        sum.taken += sampler->rings[ring][i].tally.taken;
        sum.lost += sampler->rings[ring][i].tally.lost;
    }
    return sum;
}

struct sampler_tally sampler_tally(const struct sampler *sampler)
{
    struct perfring_tally samples, switches, minor, major;
    struct switches_tally waits;

    if (sampler == NULL) {
        return (struct sampler_tally){0};
    }
    samples = tally_sum(sampler, PERFEVENT_SAMPLES);
    switches = tally_sum(sampler, PERFEVENT_SWITCHES);
    minor = tally_sum(sampler, PERFEVENT_MINOR);
    major = tally_sum(sampler, PERFEVENT_MAJOR);
    waits = switches_tally(sampler->switches);
    return (struct sampler_tally){.samples = samples.taken,
                                  .samples_lost = samples.lost,
                                  .switches = switches.taken,
                                  .switches_lost = switches.lost,
                                  .faults = minor.taken + major.taken,
                                  .faults_lost = minor.lost + major.lost,
                                  .waits = waits.waits,
                                  .wait_stacks = waits.stacks};
}

struct sampler_stacks sampler_stacks(const struct sampler *sampler)
{
    return sampler == NULL
               ? (struct sampler_stacks){.bytes = 0}
               : (struct sampler_stacks){sampleframes_tally(sampler->frames),
                                         sampler->stack_bytes};
}

uint32_t
sampler_last(const struct sampler *sampler, uint32_t tid, ck_time_t *at)
{
    const struct last *last;

    if (sampler == NULL) {
        return 0;
    }
    last = &sampler->lasts[tid % LASTS];
    *at = last->at;
    return last->tid == tid ? last->stack : 0;
}

struct unwind *sampler_unwind(struct sampler *sampler)
{
    return sampler == NULL ? NULL : sampleframes_unwind(sampler->frames);
}

uint64_t sampler_changes(const struct sampler *sampler)
{
    uint64_t sum = 1;

    if (sampler == NULL) {
        return 0;
    }
    for (size_t i = 0; i < sampler->count[PERFEVENT_SAMPLES]; i++) {
        sum += sampler->rings[PERFEVENT_SAMPLES][i].tally.lost;
    }
    return sum + sampler->changes;
}

uint64_t sampler_migrations(const struct sampler *sampler)
{
    return sampler == NULL ? 0 : switches_migrations(sampler->switches);
}

ck_time_t
sampler_ended(const struct sampler *sampler, uint32_t pid, ck_time_t alive)
{
    return sampler == NULL
               ? 0
               : exits_find(&sampler->exits, pid, alive,
                            tally_sum(sampler, PERFEVENT_SAMPLES).lost > 0);
}

const char *sampler_deaths_why(const struct sampler *sampler)
{
    if (sampler == NULL) {
        return "no CPU samples are taken";
    }
    return sampler->deaths == NULL ? sampler->deaths_why.text : NULL;
}

bool sampler_is_wide(const struct sampler *sampler)
{
    return sampler->is_wide;
}

bool sampler_has_enrolled(const struct sampler *sampler, uint32_t pid)
{
    return unowned_has_enrolled(sampler->unowned, pid);
}

/* What code compiled at run time has no names, and why. */
static void jits_notes(const struct sampler *sampler,
                       struct selfstream *selfstream)
{
    struct sampleframes_tally tally = sampleframes_tally(sampler->frames);

    if (tally.jits.refused > 0) {
        selfstream_note(selfstream,
                        "%llu map files of code compiled at run time were not "
                        "used: another user's, older than the process, or no "
                        "plain files",
                        (unsigned long long)tally.jits.refused);
    }
    if (tally.jits.wrong > 0) {
        selfstream_note(selfstream,
                        "%llu lines or records of map files of code compiled "
                        "at run time are damaged, and were left out",
                        (unsigned long long)tally.jits.wrong);
    }
    if (tally.jits.unnamed >= UNNAMED_MANY &&
        tally.jits.unnamed > tally.jits.named) {
        selfstream_note(selfstream,
                        "%llu frames in code compiled at run time have no "
                        "names: the program writes no map file (node "
                        "--perf-basic-prof, jcmd PID Compiler.perfmap)",
                        (unsigned long long)tally.jits.unnamed);
    }
}

/* Records that had no room in the kernel's rings. */
static void lost_notes(const struct sampler *sampler,
                       const struct sampler_tally *tally,
                       struct selfstream *selfstream)
{
    if (tally->samples_lost > 0) {
        selfstream_note(
            selfstream,
            "%llu records of CPU samples and mapped code were lost in the "
            "kernel's rings: shares of samples are less exact",
            (unsigned long long)tally->samples_lost);
    }
    if (tally->switches_lost > 0) {
        selfstream_note(
            selfstream,
            "%llu records of scheduler switches%s were lost in the "
            "kernel's rings (no samples): some times without a CPU are "
            "missing",
            (unsigned long long)tally->switches_lost,
            sampler->is_wide ? " of all programs on these CPUs" : "");
    }
    if (tally->faults_lost > 0) {
        selfstream_note(selfstream,
                        "%llu records of sampled page faults were lost in the "
                        "kernel's rings: their places are less exact",
                        (unsigned long long)tally->faults_lost);
    }
}

/* Why stacks of waits are missing. */
static void waits_notes(const struct sampler *sampler,
                        struct selfstream *selfstream)
{
    struct offcpu_cpus cpus = offcpu_cpus(sampler->offcpu);
    uint64_t lost = offcpu_lost(sampler->offcpu);

    if (sampler->offcpu_why.text[0] != '\0') {
        selfstream_note(selfstream,
                        "the stacks of waits without a CPU are not recorded: "
                        "%s",
                        sampler->offcpu_why.text);
    }
    if (cpus.unmapped > 0) {
        selfstream_note(selfstream,
                        "no stacks of waits that began on %zu of %zu CPUs: no "
                        "memory to lock (raise ulimit -l)",
                        cpus.unmapped, cpus.count);
    }
    if (lost > 0) {
        selfstream_note(selfstream,
                        "%llu stacks of switches%s were lost in the kernel's "
                        "rings: waits without a CPU may have none",
                        (unsigned long long)lost,
                        sampler->is_wide ? " of all programs on these CPUs"
                                         : "");
    }
}

void sampler_notes(struct sampler *sampler, struct selfstream *selfstream)
{
    struct sampler_tally tally;

    if (sampler == NULL) {
        return;
    }
    tally = sampler_tally(sampler);
    unowned_notes(sampler->unowned, sampler->owned, selfstream);
    if (sampler->pythons != NULL) {
        pythons_notes(sampler->pythons, selfstream);
    }
    jits_notes(sampler, selfstream);
    if (sampler->is_user) {
        selfstream_note(selfstream, "CPU samples are without the kernel's part "
                                    "(kernel.perf_event_paranoid is above 1)");
    }
    lost_notes(sampler, &tally, selfstream);
    if (sampler->faults_why[0] != '\0') {
        selfstream_note(selfstream,
                        "places of page faults are not recorded: %s",
                        sampler->faults_why);
    }
    waits_notes(sampler, selfstream);
    if (deaths_lost(sampler->deaths) > 0) {
        selfstream_note(selfstream,
                        "the stacks of %llu threads at their end had no room",
                        (unsigned long long)deaths_lost(sampler->deaths));
    }
    if (sampler->unmapped > 0) {
        selfstream_note(
            selfstream,
            "no CPU samples from %llu of %zu CPUs: no memory to lock "
            "(raise ulimit -l)",
            (unsigned long long)sampler->unmapped,
            sampler->count[PERFEVENT_SAMPLES]);
    }
    if (stacks_left_out(sampler->stacks) > 0) {
        selfstream_note(
            selfstream,
            "%llu CPU samples have no stack: more than %d different ones",
            (unsigned long long)stacks_left_out(sampler->stacks),
            SAMPLER_STACKS_MAX);
    }
}

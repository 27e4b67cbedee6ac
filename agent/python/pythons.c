/* pythons.c - the Python frames of sampled threads
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/python/pythons.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/python/pythonfind.h"
#include "agent/python/pythonmemory.h"
#include "agent/python/pythonplace.h"
#include "agent/python/pythonwalk.h"
#include "agent/symbols/pages.h"
#include "agent/symbols/toldsites.h"
#include "schema/event.h"
#include "schema/fnv.h"
#include "schema/ring/ring.h"

/* A process without an interpreter is looked at again when it has mapped code,
 * each time twice as long after the last look. */
#define LOOK_AGAIN (100 * CK_TIME_MS)
#define LOOK_AGAIN_MAX (16 * CK_TIME_S)
/* Places that are known by their instruction; a power of two. */
#define KNOWN 16384
#define LATELY CK_TIME_S
#define LATE_STEPS 40 /* powers of two of ns */
/* Less is not worth a note. */
#define NOTE_SAMPLES 20
#define NOTE_SHARE 50
#define NOTE_LATE (2 * CK_TIME_MS)
/* The libraries in the program number their own places. */
#define SITES (CK_SITE_TOLD + ((uint64_t)CK_LIBRARY_PYTHON << 32))

struct thread {
    uint32_t tid;
    uint64_t state;
};

struct process {
    pid_t pid; /* 0 = unused */
    enum pythonfind found;
    bool is_due;
    ck_time_t looked, pause;
    uint64_t life; /* number of this look: a part of the keys of its places */
    struct pythonprogram program;
    struct thread threads[PYTHONS_THREADS];
};

/* An instruction that was seen. */
struct known {
    uint64_t key;
    uint64_t site;
};

struct pythons {
    struct process processes[PYTHONS_PROCESSES];
    struct toldsites *sites;
    struct known known[KNOWN];
    uint64_t lives;
    ck_time_t read; /* the last time that frames were; 0 = never */
    struct pythons_tally tally;
    uint64_t late[LATE_STEPS];
};

struct pythons *pythons_create(uint32_t before)
{
    struct pythons *pythons = ck_pages_create(1, sizeof(*pythons));

    if (pythons != NULL) {
        pythons->sites = toldsites_create(SITES + before);
        if (pythons->sites == NULL) {
            pythons_destroy(pythons);
            return NULL;
        }
    }
    return pythons;
}

void pythons_destroy(struct pythons *pythons)
{
    int saved = errno;

    if (pythons != NULL) {
        toldsites_destroy(pythons->sites);
        ck_pages_destroy(pythons, 1, sizeof(*pythons));
    }
    errno = saved;
}

static struct process *process_at(struct pythons *pythons, pid_t pid)
{
    return &pythons->processes[(uint32_t)pid % PYTHONS_PROCESSES];
}

void pythons_forget(struct pythons *pythons, pid_t pid)
{
    struct process *process = process_at(pythons, pid);

    if (process->pid == pid) {
        process->pid = 0;
    }
}

void pythons_mapped(struct pythons *pythons, pid_t pid)
{
    struct process *process = process_at(pythons, pid);

    process->is_due = process->is_due || process->pid == pid;
}

bool pythons_is_busy(const struct pythons *pythons, ck_time_t now)
{
    return pythons->read != 0 && now - pythons->read < LATELY;
}

/* ---- processes ---------------------------------------------------------- */

static void process_look(struct pythons *pythons,
                         struct process *process,
                         const struct pythons_sample *sample,
                         ck_time_t now)
{
    process->is_due = false;
    process->looked = now;
    process->life = ++pythons->lives;
    process->found = sample->has_no_library && pythonfind_is_none(process->pid)
                         ? PYTHONFIND_NONE
                         : pythonfind(process->pid, &process->program);
    memset(process->threads, 0, sizeof(process->threads));
}

/* Its process, looked at if it is new, or has mapped more since. */
static struct process *process_find(struct pythons *pythons,
                                    const struct pythons_sample *sample,
                                    ck_time_t now)
{
    struct process *process = process_at(pythons, sample->pid);

    if (process->pid != sample->pid) {
        memset(process, 0, sizeof(*process));
        process->pid = sample->pid;
        process->pause = LOOK_AGAIN;
        process_look(pythons, process, sample, now);
    } else if (process->found == PYTHONFIND_NONE && process->is_due &&
               now >= process->looked + process->pause) {
        process->pause = process->pause < LOOK_AGAIN_MAX ? 2 * process->pause
                                                         : LOOK_AGAIN_MAX;
        process_look(pythons, process, sample, now);
    }
    return process;
}

static uint64_t thread_find(struct process *process, uint32_t tid)
{
    struct thread *thread = &process->threads[tid % PYTHONS_THREADS];
    uint64_t state = pythonwalk_thread(process->pid, &process->program, tid,
                                       thread->tid == tid ? thread->state : 0);

    *thread = (struct thread){tid, state};
    return state;
}

/* ---- frames ------------------------------------------------------------- */

/* Number of the frame's instruction in its code. False: it is in none. */
static bool instruction_number(const struct process *process,
                               const struct pythonframe *frame,
                               const uint8_t *object,
                               uint64_t *n)
{
    const struct pythonlayout *layout = &process->program.layout;
    uint64_t first = frame->code + layout->instructions;

    if (frame->copy != 0) { /* an array: a length, then pointers */
        uint64_t copies = pythonmemory_word(object, layout->copies);

        if (pythonmemory_read(process->pid, copies + 8 + 8 * frame->copy,
                              &first, sizeof(first)) != 0) {
            return false;
        }
    }
    /* Before the first one: the frame has just been made. */
    *n = frame->instruction < first ? 0 : (frame->instruction - first) / 2;
    return frame->instruction + 2 >= first && *n < UINT32_MAX;
}

/* Differs for another place at the same address. */
static uint64_t place_key(const struct process *process,
                          const struct pythonframe *frame,
                          const uint8_t *object)
{
    const struct pythonlayout *layout = &process->program.layout;
    uint64_t words[] = {
        process->life,
        frame->code,
        frame->instruction,
        pythonmemory_word(object, layout->file),
        pythonmemory_word(object, layout->function),
        pythonmemory_word(object, layout->lines),
        pythonmemory_half(object, layout->first_line),
    };
    uint64_t key = ck_fnv(CK_FNV_START, words, sizeof(words));

    return key == 0 ? 1 : key;
}

/* The frame's site, 0 = it is none of a program: the interpreter's entry. */
static uint64_t frame_site(struct pythons *pythons,
                           const struct process *process,
                           const struct pythonframe *frame)
{
    const struct pythonlayout *layout = &process->program.layout;
    uint8_t object[PYTHONLAYOUT_CODE_MAX];
    struct pythonplace place;
    struct known *known;
    uint64_t key, n;

    if (pythonmemory_read(process->pid, frame->code, object,
                          pythonlayout_code_bytes(layout)) != 0 ||
        pythonmemory_word(object, layout->type) != process->program.code) {
        return 0;
    }
    key = place_key(process, frame, object);
    known = &pythons->known[key % KNOWN];
    if (known->key == key) {
        return known->site;
    }
    if (!instruction_number(process, frame, object, &n) ||
        pythonplace_read(process->pid, &process->program, object, n, &place) !=
            0) {
        return 0;
    }
    *known = (struct known){
        key, toldsites_number(
                 pythons->sites,
                 &(struct toldplace){place.text, place.length, place.line})};
    return known->site;
}

static bool is_interpreter(const struct process *process, uint64_t address)
{
    return address >= process->program.code_start &&
           address < process->program.code_end;
}

/* Native frames that the innermost Python frame called. */
static size_t leaves_of(const struct process *process,
                        const struct pythons_sample *sample)
{
    size_t leaves = 0;

    while (leaves < sample->count &&
           !is_interpreter(process, sample->frames[leaves] - 1)) {
        leaves++;
    }
    if (leaves > 1 && (!sample->is_unwound || leaves == sample->count)) {
        return 1; /* callers are not known, or not how the interpreter called */
    }
    return leaves;
}

/* False: none of the frames has a place. */
static bool frames_put(struct pythons *pythons,
                       const struct process *process,
                       const struct pythonframe *frames,
                       size_t count,
                       struct pythons_sample *sample)
{
    size_t leaves = leaves_of(process, sample);
    size_t used = leaves;

    for (size_t i = 0; i < count && used < sample->room; i++) {
        uint64_t site = frame_site(pythons, process, &frames[i]);

        if (site != 0) {
            sample->frames[used++] = site;
        }
    }
    if (used == leaves) {
        return false;
    }
    sample->count = used;
    return true;
}

static void late_count(struct pythons *pythons, ck_time_t late)
{
    int step = 0;

    while (late > 1 && step < LATE_STEPS - 1) {
        late /= 2;
        step++;
    }
    pythons->late[step]++;
}

static void thread_take(struct pythons *pythons,
                        struct process *process,
                        struct pythons_sample *sample)
{
    struct pythonframe frames[PYTHONWALK_FRAMES_MAX];
    uint64_t state = thread_find(process, sample->tid);
    struct pythons_tally *tally = &pythons->tally;
    enum pythonwalk how;
    size_t count;

    if (state == 0) {
        return;
    }
    how = pythonwalk_frames(process->pid, &process->program, state, frames,
                            &count);
    pythons->read = ck_time_raw();
    late_count(pythons, pythons->read - sample->time);
    tally->samples++;
    if (how == PYTHONWALK_EMPTY) {
        tally->empty++;
    } else if (frames_put(pythons, process, frames, count, sample)) {
        tally->resolved++;
        tally->moved += how == PYTHONWALK_MOVED;
        tally->outer += how == PYTHONWALK_OUTER;
    } else {
        tally->damaged++;
    }
}

void pythons_take(struct pythons *pythons, struct pythons_sample *sample)
{
    struct process *process;

    if (sample->pid <= 0 || sample->count > sample->room) {
        return;
    }
    process = process_find(pythons, sample, ck_time_raw());
    switch (process->found) {
    case PYTHONFIND_FOUND:
        thread_take(pythons, process, sample);
        break;
    case PYTHONFIND_UNKNOWN:
        pythons->tally.unknown++;
        break;
    case PYTHONFIND_REFUSED:
        pythons->tally.refused++;
        break;
    case PYTHONFIND_NONE:
        break;
    }
}

void pythons_name(struct pythons *pythons,
                  struct selfstream *selfstream,
                  uint32_t incarnation,
                  uint64_t frame)
{
    toldsites_name(pythons->sites, selfstream, incarnation, frame);
}

/* ---- what became of it -------------------------------------------------- */

struct pythons_tally pythons_tally(const struct pythons *pythons)
{
    struct pythons_tally tally = pythons->tally;
    uint64_t passed = 0;

    for (int i = 0; i < LATE_STEPS && 2 * passed < tally.samples; i++) {
        passed += pythons->late[i];
        tally.late = (ck_time_t)1 << i;
    }
    return tally;
}

/* Many, and a share of all that is worth a note. */
static bool is_much(uint64_t part, uint64_t all)
{
    return part >= NOTE_SAMPLES && part * NOTE_SHARE > all;
}

void pythons_notes(const struct pythons *pythons, struct selfstream *selfstream)
{
    struct pythons_tally tally = pythons_tally(pythons);
    uint64_t all = tally.samples + tally.unknown + tally.refused;

    if (is_much(tally.unknown, all)) {
        selfstream_note(selfstream,
                        "%llu CPU samples of Python programs have no Python "
                        "lines: ck reads those of Python 3.11 to 3.14",
                        (unsigned long long)tally.unknown);
    }
    if (is_much(tally.refused, all)) {
        selfstream_note(selfstream,
                        "%llu CPU samples of Python programs have no Python "
                        "lines: their memory may not be read "
                        "(kernel.yama.ptrace_scope, or another user's)",
                        (unsigned long long)tally.refused);
    }
    if (is_much(tally.damaged + tally.outer, all)) {
        selfstream_note(selfstream,
                        "of %llu CPU samples of Python threads %llu have the "
                        "line of an outer call only and %llu none: the "
                        "frames changed while they were read",
                        (unsigned long long)tally.samples,
                        (unsigned long long)tally.outer,
                        (unsigned long long)tally.damaged);
    }
    if (tally.resolved >= NOTE_SAMPLES && tally.late >= NOTE_LATE) {
        selfstream_note(selfstream,
                        "lines of Python in CPU samples are those %.1f ms "
                        "after the sample (median): short phases of a "
                        "program are less exact",
                        (double)tally.late / CK_TIME_MS);
    }
    if (toldsites_left_out(pythons->sites) > 0) {
        selfstream_note(selfstream,
                        "more than %d places of Python programs: some CPU "
                        "samples have the line of an outer call",
                        TOLDSITES_MAX);
    }
}

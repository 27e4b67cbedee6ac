/* resident.c - how much memory the program's processes have
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   file          what of it                       each
 *   statm         resident pages                   RESIDENT_PAUSE
 *   status        VmHWM, the kernel's own peak     RESIDENT_STATUS_PAUSE
 *                 VmSwap
 *   smaps_rollup  AnonHugePages, ShmemPmdMapped,   RESIDENT_WALK_PAUSE, or as
 *                 FilePmdMapped                    often as its cost permits
 *
 * Only the last one takes a lock of the program's memory (for reading; the
 * kernel lets go of it where another thread waits to change mappings).
 */
#include "agent/collector/resident.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/process/procfile.h"

#define TEXT_BYTES 4096
/* A change of less than this, and than a part of the last value, is not
 * recorded.
 */
#define CHANGE_BYTES ((int64_t)64 << 10)
#define CHANGE_PART 512

struct followed {
    uint32_t incarnation; /* 0 = free */
    uint32_t pid;
    ck_time_t status_at; /* the next look */
    ck_time_t walk_at;
    int64_t most;      /* resident, so far */
    int64_t most_said; /* of that */
    int64_t said[CK_MEMORY_SWAPPED + 1];
};

struct resident {
    struct ck_ring_header *header; /* borrowed */
    struct selfstream *selfstream; /* borrowed */
    uint64_t pid_space;
    int64_t page_bytes;
    ck_time_t at; /* the next look */
    struct followed followed[RESIDENT_PROCESSES];
    size_t count;
    uint32_t images; /* header->incarnations when the table was looked at */
    bool is_settled; /* it was the same at the look before */
    uint32_t entries[CK_RING_PROCESSES]; /* the table's numbers then */
};

struct resident *resident_create(struct ck_ring_header *header,
                                 struct selfstream *selfstream)
{
    struct resident *resident = calloc(1, sizeof(*resident));

    if (resident != NULL) {
        resident->header = header;
        resident->selfstream = selfstream;
        resident->pid_space = ck_ring_pid_space();
        resident->page_bytes = sysconf(_SC_PAGESIZE);
    }
    return resident;
}

void resident_destroy(struct resident *resident)
{
    free(resident);
}

/* False: it is not there any more. */
static bool file_read(uint32_t pid, const char *name, char text[TEXT_BYTES])
{
    return procfile_read(text, TEXT_BYTES, "/proc/%" PRIu32 "/%s", pid, name) >
           0;
}

/* A line "KEY:   123 kB" in bytes, -1 = there is none. */
static int64_t kib_field(const char *text, const char *key)
{
    int64_t kib = procfile_number(text, key, -1);

    return kib < 0 ? -1 : kib * 1024;
}

static void say(struct resident *resident,
                struct followed *process,
                enum ck_memory which,
                int64_t value)
{
    struct ck_counter record = {
        .e = {.kind = CK_KIND_MEMORY,
              .units = sizeof(record) / CK_UNIT_BYTES,
              .name = process->incarnation},
        .value = value,
        .enabled = which == CK_MEMORY_RESIDENT ? process->most : value,
        .tid = process->pid,
        .reason = which,
    };

    if (selfstream_put(resident->selfstream, &record.e) == 0) {
        process->said[which] = value;
        process->most_said =
            which == CK_MEMORY_RESIDENT ? process->most : process->most_said;
    }
}

static bool is_changed(int64_t before, int64_t now)
{
    int64_t change = now > before ? now - before : before - now;

    return change > 0 && change >= CHANGE_BYTES &&
           change >= before / CHANGE_PART;
}

static void statm_look(struct resident *resident, struct followed *process)
{
    char text[TEXT_BYTES];
    int64_t pages, now;
    char *second;

    if (!file_read(process->pid, "statm", text)) {
        return;
    }
    (void)strtoll(text, &second, 10);
    pages = strtoll(second, NULL, 10);
    if (pages <= 0 || pages > INT64_MAX / resident->page_bytes) {
        return;
    }
    now = pages * resident->page_bytes;
    process->most = now > process->most ? now : process->most;
    if (is_changed(process->said[CK_MEMORY_RESIDENT], now) ||
        is_changed(process->most_said, process->most)) {
        say(resident, process, CK_MEMORY_RESIDENT, now);
    }
}

static void status_look(struct resident *resident, struct followed *process)
{
    char text[TEXT_BYTES];
    int64_t peak, swapped;

    if (!file_read(process->pid, "status", text)) {
        return;
    }
    peak = kib_field(text, "\nVmHWM:");
    swapped = kib_field(text, "\nVmSwap:");
    process->most = peak > process->most ? peak : process->most;
    if (swapped >= 0 && is_changed(process->said[CK_MEMORY_SWAPPED], swapped)) {
        say(resident, process, CK_MEMORY_SWAPPED, swapped);
    }
}

static void
walk_look(struct resident *resident, struct followed *process, ck_time_t now)
{
    static const char *const keys[] = {
        "\nAnonHugePages:", "\nShmemPmdMapped:", "\nFilePmdMapped:"};
    ck_time_t begun = ck_time_raw(), pause;
    char text[TEXT_BYTES];
    int64_t huge = 0;

    if (file_read(process->pid, "smaps_rollup", text)) {
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            int64_t part = kib_field(text, keys[i]);

            huge += part > 0 ? part : 0;
        }
        if (is_changed(process->said[CK_MEMORY_HUGE], huge)) {
            say(resident, process, CK_MEMORY_HUGE, huge);
        }
    }
    pause = (ck_time_raw() - begun) * RESIDENT_WALK_SHARE *
            (ck_time_t)resident->count;
    process->walk_at =
        now + (pause > RESIDENT_WALK_PAUSE ? pause : RESIDENT_WALK_PAUSE);
}

/* One that was replaced by another image, or has ended, makes room. */
static void ended_forget(struct resident *resident)
{
    size_t kept = 0;
    char text[TEXT_BYTES];

    for (size_t i = 0; i < resident->count; i++) {
        if (file_read(resident->followed[i].pid, "statm", text)) {
            resident->followed[kept++] = resident->followed[i];
        }
    }
    resident->count = kept;
}

/* Of one process the newest image. */
static void follow(struct resident *resident,
                   const struct ck_ring_process *entry,
                   uint32_t incarnation)
{
    size_t at = 0;

    while (at < resident->count && resident->followed[at].pid != entry->pid) {
        at++;
    }
    if (at == RESIDENT_PROCESSES ||
        (at < resident->count &&
         resident->followed[at].incarnation > incarnation)) {
        return;
    }
    resident->followed[at] =
        (struct followed){.incarnation = incarnation, .pid = entry->pid};
    resident->count += at == resident->count;
}

/* Images that are new in the ring's table. A process is counted before it has
 * its entry: the table is looked at once more. */
static void table_look(struct resident *resident)
{
    struct ck_ring_process *table = ck_ring_processes(resident->header);
    uint32_t images = atomic_load(&resident->header->incarnations);

    if (images == resident->images && resident->is_settled) {
        return;
    }
    ended_forget(resident);
    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        /* acquire: pairs with the release in process_enter() */
        uint32_t number =
            atomic_load_explicit(&table[i].incarnation, memory_order_acquire);

        if (number == 0 || number == resident->entries[i]) {
            continue;
        }
        resident->entries[i] = number;
        if (table[i].pid != 0 && (table[i].pid_space == 0 ||
                                  table[i].pid_space == resident->pid_space)) {
            follow(resident, &table[i], number);
        }
    }
    resident->is_settled = images == resident->images;
    resident->images = images;
}

void resident_step(struct resident *resident, ck_time_t now)
{
    if (now < resident->at) {
        return;
    }
    resident->at = now + RESIDENT_PAUSE;
    table_look(resident);
    for (size_t i = 0; i < resident->count; i++) {
        struct followed *process = &resident->followed[i];

        if (now >= process->status_at) {
            process->status_at = now + RESIDENT_STATUS_PAUSE;
            status_look(resident, process);
        }
        statm_look(resident, process);
        if (now >= process->walk_at) {
            walk_look(resident, process, now);
        }
    }
}

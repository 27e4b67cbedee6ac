/* jits.c - names of code that processes compile at run time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A file is read on when an address is asked for that is not known: not before
 * a pause that is many times as long as the last reading took.
 */
#include "agent/unwind/jits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/process/procfile.h"
#include "agent/unwind/codemaps.h"
#include "schema/fd.h"
#include "schema/time.h"

#define PATH_BYTES 4352
#define LOOK_AGAIN (100 * CK_TIME_MS)
#define LOOK_PART 50 /* of the time may go into reading */
/* So much of a file is read at once; a longer record is none. */
#define PIECE_BYTES (1u << 20)
#define LOOK_BYTES (16u << 20)

enum kind { KIND_TEXT, KIND_DUMP, KINDS };

struct process {
    pid_t pid; /* 0 = unused */
    struct jitmap *maps[KINDS];
    uint64_t read[KINDS]; /* so far */
    bool is_bad[KINDS];   /* refused, or no dump */
    ck_time_t look_at;
};

struct jits {
    struct codemaps *codemaps; /* borrowed */
    struct process processes[JITS_PROCESSES];
    uint8_t *piece;
    struct jits_tally tally;
};

struct jits *jits_create(struct codemaps *codemaps)
{
    struct jits *jits = calloc(1, sizeof(*jits));

    if (jits != NULL) {
        jits->codemaps = codemaps;
    }
    return jits;
}

static void process_fini(struct jits *jits, struct process *process)
{
    for (int kind = 0; kind < KINDS; kind++) {
        if (process->maps[kind] != NULL) {
            jits->tally.wrong += jitmap_wrong(process->maps[kind]);
        }
        jitmap_destroy(process->maps[kind]);
    }
    *process = (struct process){.pid = 0};
}

void jits_destroy(struct jits *jits)
{
    int saved = errno;

    if (jits != NULL) {
        for (int i = 0; i < JITS_PROCESSES; i++) {
            process_fini(jits, &jits->processes[i]);
        }
        free(jits->piece);
        free(jits);
    }
    errno = saved;
}

static struct process *process_at(struct jits *jits, pid_t pid)
{
    return &jits->processes[(uint32_t)pid % JITS_PROCESSES];
}

void jits_forget(struct jits *jits, pid_t pid)
{
    struct process *process = process_at(jits, pid);

    if (process->pid == pid) {
        process_fini(jits, process);
    }
}

/* ---- files ----------------------------------------------------------------
 */

/* Seconds since 1970 at which the process began; 0 = it has ended. */
static time_t process_began(pid_t pid)
{
    int64_t fields[PROCFILE_STAT];
    struct timespec now, boot;
    char text[1024];

    (void)procfile_read(text, sizeof(text), "/proc/%d/stat", (int)pid);
    if (procfile_stat(text, fields) != 0 ||
        clock_gettime(CLOCK_REALTIME, &now) != 0 ||
        clock_gettime(CLOCK_BOOTTIME, &boot) != 0) {
        return 0;
    }
    return now.tv_sec - boot.tv_sec +
           (time_t)(fields[22] / sysconf(_SC_CLK_TCK));
}

/* Its number as itself sees it: the last of all namespaces'. */
static pid_t own_number(pid_t pid)
{
    char text[8192];
    char *line, *tab;

    (void)procfile_read(text, sizeof(text), "/proc/%d/status", (int)pid);
    line = strstr(text, "\nNSpid:"); /* the name before it may be anything */
    if (line == NULL) {
        return pid;
    }
    line[1 + strcspn(line + 1, "\n")] = '\0';
    tab = strrchr(line, '\t');
    return tab == NULL ? pid : (pid_t)strtol(tab, NULL, 10);
}

/* Is it a file of the process' user, or root's, written since it began? */
static bool is_believed(pid_t pid, int fd)
{
    struct stat file, process;
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return fstat(fd, &file) == 0 && stat(path, &process) == 0 &&
           S_ISREG(file.st_mode) &&
           (file.st_uid == process.st_uid || file.st_uid == 0) &&
           file.st_mtim.tv_sec + 1 >= process_began(pid);
}

static void text_path(pid_t pid, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "/proc/%d/root/tmp/perf-%d.map", (int)pid,
                   (int)own_number(pid));
}

/* False: it has mapped none. */
static bool dump_path(struct jits *jits, pid_t pid, char path[PATH_BYTES])
{
    const char *dump = codemaps_dump(jits->codemaps, pid);

    if (dump == NULL) {
        return false;
    }
    (void)snprintf(path, PATH_BYTES, "/proc/%d/root%s", (int)pid, dump);
    return true;
}

/* -1 = there is none, or none that is believed. */
static int file_open(struct jits *jits, struct process *process, enum kind kind)
{
    char path[PATH_BYTES];
    int fd;

    if (process->is_bad[kind]) {
        return -1;
    }
    if (kind == KIND_TEXT) {
        text_path(process->pid, path);
    } else if (!dump_path(jits, process->pid, path)) {
        return -1;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) {
        process->is_bad[kind] = errno == ELOOP;
    } else if (!is_believed(process->pid, fd)) {
        process->is_bad[kind] = true;
        (void)close(fd);
        fd = -1;
    }
    jits->tally.refused += process->is_bad[kind];
    return fd;
}

/* Hand on what was read; how much of it was whole. -1: the file is none. */
static ssize_t
piece_take(struct jitmap *map, enum kind kind, const uint8_t *bytes, size_t n)
{
    return kind == KIND_DUMP
               ? jitmap_dump(map, bytes, n)
               : (ssize_t)jitmap_text(map, (const char *)bytes, n);
}

/* What the file has more than before. */
static void
file_read(struct jits *jits, struct process *process, enum kind kind)
{
    int fd = file_open(jits, process, kind);
    size_t whole = 0;
    ssize_t got, taken;

    if (fd >= 0 && process->maps[kind] == NULL) {
        process->maps[kind] = jitmap_create();
    }
    while (fd >= 0 && process->maps[kind] != NULL && whole < LOOK_BYTES) {
        got = pread(fd, jits->piece, PIECE_BYTES, (off_t)process->read[kind]);
        if (got <= 0) {
            break;
        }
        taken = piece_take(process->maps[kind], kind, jits->piece, (size_t)got);
        if (taken <= 0) { /* not whole yet, or longer than any is */
            process->is_bad[kind] = taken < 0 || got == (ssize_t)PIECE_BYTES;
            break;
        }
        process->read[kind] += (uint64_t)taken;
        whole += (size_t)taken;
    }
    ck_fd_close(fd);
}

/* ---- what is asked --------------------------------------------------------
 */

static bool process_find(const struct process *process,
                         uint64_t address,
                         struct jitplace *place)
{
    for (int kind = KINDS; kind-- > 0;) {
        if (process->maps[kind] != NULL &&
            jitmap_find(process->maps[kind], address, place)) {
            return true;
        }
    }
    return false;
}

/* Read on, and find the address: with the first search after that, which sorts,
 * it is what the pause is measured by. */
static bool process_look(struct jits *jits,
                         struct process *process,
                         uint64_t address,
                         struct jitplace *place)
{
    ck_time_t began = ck_time_raw(), took;
    bool is_found;

    if (jits->piece == NULL) {
        jits->piece = malloc(PIECE_BYTES);
    }
    for (int kind = 0; kind < KINDS && jits->piece != NULL; kind++) {
        file_read(jits, process, (enum kind)kind);
    }
    is_found = process_find(process, address, place);
    took = ck_time_raw() - began;
    process->look_at =
        began + took +
        (took * LOOK_PART > LOOK_AGAIN ? took * LOOK_PART : LOOK_AGAIN);
    return is_found;
}

bool jits_find(struct jits *jits,
               pid_t pid,
               uint64_t address,
               struct jitplace *place)
{
    struct process *process = process_at(jits, pid);
    bool is_found;

    if (process->pid != pid) {
        process_fini(jits, process);
        process->pid = pid;
    }
    is_found = process_find(process, address, place);
    if (!is_found && ck_time_raw() >= process->look_at) {
        is_found = process_look(jits, process, address, place);
    }
    jits->tally.named += is_found;
    jits->tally.unnamed += !is_found;
    return is_found;
}

struct jits_tally jits_tally(const struct jits *jits)
{
    struct jits_tally tally = jits->tally;

    for (int i = 0; i < JITS_PROCESSES; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            if (jits->processes[i].maps[kind] != NULL) {
                tally.wrong += jitmap_wrong(jits->processes[i].maps[kind]);
            }
        }
    }
    return tally;
}

/* salvage.c - records left in the ring file of an agent that was killed
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a collector does last, without a collector: the same frame writer, drain
 * and spool work on the adopted file. It is removed only when all of it is on
 * disk; positions make a second try, or a frame that had arrived after all,
 * harmless.
 */
#include "agent/collector/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock/clocksync.h"
#include "agent/collector/drain.h"
#include "agent/process/ringholder.h"
#include "agent/ring/ringfile.h"
#include "agent/stream/framewriter.h"
#include "agent/stream/selfstream.h"
#include "agent/stream/spool.h"
#include "launch/child.h"
#include "schema/fd.h"
#include "schema/owndir.h"
#include "schema/ring/ringdir.h"
#include "schema/store/run.h"

/* s: a file that never became a ring; who cleans by hand waits less. */
#define UNBORN_AGE 60

/* A process that still records into the file, or 0. */
static pid_t program_find(const struct ringfile *ring)
{
    struct ck_ring_process *table = ck_ring_processes(ring->header);

    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        if (atomic_load(&table[i].key) != 0 && table[i].pid != 0 &&
            ringholder_is(table[i].pid, ring->path, ring->fd)) {
            return (pid_t)table[i].pid;
        }
    }
    return 0;
}

static bool is_empty(const struct ringfile *ring, const struct outbox *outbox)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);

    for (uint32_t i = 0; i < ring->backed; i++) {
        if (atomic_load(&heads[i].head) != atomic_load(&heads[i].tail)) {
            return false;
        }
    }
    return outbox_is_empty(outbox);
}

/* The tools of one salvage. */
struct work {
    struct ringfile *ring;
    struct framewriter framewriter;
    struct clocksync sync;
    struct spool *spool;
    struct selfstream *selfstream;
    struct drain *drain;
};

static void work_close(struct work *work)
{
    drain_destroy(work->drain);
    selfstream_destroy(work->selfstream);
    if (work->framewriter.writer != NULL) {
        framewriter_fini(&work->framewriter);
    }
    spool_destroy(work->spool);
}

/* The run directory that the ring names, where it is this user's own or yet to
 * be made: what is written there must not land at a place that another user
 * chose. */
static bool is_run_dir(const char *dir)
{
    return dir[0] == '/' && (ck_owndir_is_mine(dir) || errno == ENOENT);
}

static int work_open(struct work *work, struct ringfile *ring, const char *dir)
{
    char fallback[PATH_MAX];
    const char *tmp = getenv("TMPDIR");

    work->ring = ring;
    (void)snprintf(fallback, sizeof(fallback), "%s/ck-recovered-%u",
                   tmp != NULL && tmp[0] == '/' ? tmp : "/tmp",
                   (unsigned)geteuid());
    if (!is_run_dir(fallback)) {
        fallback[0] = '\0'; /* another user made it: no place */
    }
    work->spool = spool_create(is_run_dir(dir) ? dir : fallback, fallback,
                               ring->agent, UINT64_MAX / 2);
    if (work->spool == NULL ||
        framewriter_init(&work->framewriter, ring->outbox,
                         ring->plan.outbox_bytes, work->spool,
                         ring->agent) != 0) {
        return -1;
    }
    spool_last(work->spool);
    if (work->framewriter.outbox.head->identity_bytes <=
        sizeof(work->framewriter.outbox.head->identity)) {
        (void)spool_identity(work->spool,
                             work->framewriter.outbox.head->identity,
                             work->framewriter.outbox.head->identity_bytes);
    }
    clocksync_init(&work->sync, ring->clock);
    work->selfstream =
        selfstream_create(&work->framewriter, ring->clock, (uint32_t)getpid());
    if (work->selfstream == NULL) {
        return -1;
    }
    work->drain = drain_create(ring, &work->framewriter, work->selfstream,
                               &work->sync, 0);
    return work->drain == NULL ? -1 : 0;
}

/* Records in the frames of the outbox. */
static uint64_t outbox_records(const struct outbox *outbox)
{
    struct ck_frame_header header;
    uint64_t count = 0;
    uint64_t at = 0;
    size_t bytes;
    const void *frame;

    while ((frame = outbox_walk(outbox, &at, &bytes)) != NULL) {
        memcpy(&header, frame, sizeof(header));
        count += header.records;
    }
    return count;
}

/* Since when no collector ran. */
static void away_tell(struct work *work)
{
    const struct ck_counter away = {
        .e = {.kind = CK_KIND_AWAY,
              .units = sizeof(away) / CK_UNIT_BYTES,
              .flags = CK_FLAG_RAW,
              .start = ringfile_alive(work->ring)},
    };

    if (away.e.start != 0) {
        (void)selfstream_put(work->selfstream, &away.e);
    }
}

/* No process of the agent's lives: a merge need not wait for its end. */
static void gone_tell(struct work *work)
{
    struct ck_text head = {.e = {.kind = CK_KIND_ENDED}};
    char text[64];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    ck_lines_put_number(&lines, "ended", ringfile_alive(work->ring));
    (void)selfstream_text(work->selfstream, head, text, lines.used);
}

/* Of a ring that was drained: that its agent is gone. */
static int gone_keep(struct work *work)
{
    gone_tell(work);
    return selfstream_flush(work->selfstream) == 0
               ? framewriter_spool_all(&work->framewriter)
               : -1;
}

/* Slots and outbox to the spool. 0, or -1 with errno. */
static int work_do(struct work *work, uint64_t *records)
{
    bool is_away_told = ringfile_alive(work->ring) != 0;
    uint64_t before = work->framewriter.outbox.head->records;
    uint64_t waiting = outbox_records(&work->framewriter.outbox);
    /* An agent without a rank is rank 0 to all others. */
    uint32_t rank = work->ring->rank == ~0u ? 0 : work->ring->rank;

    if (framewriter_spool_all(&work->framewriter) != 0) {
        return -1;
    }
    selfstream_note(work->selfstream,
                    "rank %" PRIu32
                    ": its collector was killed; what it left was "
                    "recovered from its ring",
                    rank);
    away_tell(work);
    gone_tell(work);
    (void)drain_step(work->drain, ck_time_raw(), true);
    ringfile_reopen(work->ring);
    drain_find_dead(work->drain, true);
    (void)drain_step(work->drain, ck_time_raw(), true);
    drain_check(work->drain);
    drain_losses(work->drain);
    if (!drain_is_empty(work->drain) ||
        selfstream_flush(work->selfstream) != 0 ||
        framewriter_spool_all(&work->framewriter) != 0) {
        errno = ENOSPC;
        return -1;
    }
    /* Without our own sentence, and that the agent is gone. */
    *records = waiting + work->framewriter.outbox.head->records - before - 2 -
               is_away_told;
    return 0;
}

/* A run that its user removed is not made again for a ring without records. */
static int work_all(struct work *work, const char *dir, uint64_t *records)
{
    if (!is_empty(work->ring, &work->framewriter.outbox)) {
        return work_do(work, records);
    }
    return dir[0] == '/' && ck_owndir_is_mine(dir) ? gone_keep(work) : 0;
}

static enum salvage_state ring_empty(struct ringfile *ring,
                                     const struct outbox_head *head,
                                     struct salvage *found)
{
    struct work work = {.ring = NULL};
    enum salvage_state state = SALVAGE_DONE;
    char dir[sizeof(head->dir)];

    memcpy(dir, head->dir, sizeof(dir));
    dir[sizeof(dir) - 1] = '\0';
    if (work_open(&work, ring, dir) != 0 ||
        work_all(&work, dir, &found->records) != 0) {
        (void)snprintf(found->why, sizeof(found->why), "%s",
                       errno == EPROTO ? "its outbox is damaged"
                                       : strerror(errno));
        state = SALVAGE_FAILED;
    }
    if (work.spool != NULL && spool_path(work.spool) != NULL) {
        (void)snprintf(found->spool, sizeof(found->spool), "%s",
                       spool_path(work.spool));
    }
    work_close(&work);
    return state;
}

/* Why a ring file cannot be adopted. */
static const char *refusal_text(int error)
{
    if (error == EPROTO) {
        return "not a ring file of this version";
    }
    return error == EPERM ? "it is not this user's alone" : strerror(error);
}

enum salvage_state
salvage_ring(const char *path, const char *dir, struct salvage *found)
{
    const struct outbox_head *head;
    enum salvage_state state;
    struct ringfile ring;

    memset(found, 0, sizeof(*found));
    if (ringfile_adopt(&ring, path) != 0) {
        found->is_foreign = true;
        (void)snprintf(found->why, sizeof(found->why), "%s",
                       refusal_text(errno));
        return errno == EWOULDBLOCK || errno == ENOENT ? SALVAGE_BUSY
                                                       : SALVAGE_FAILED;
    }
    found->rank = ring.rank;
    head = ring.outbox;
    if (dir != NULL && strncmp(head->dir, dir, sizeof(head->dir)) != 0) {
        state = SALVAGE_OTHER;
    } else if ((found->program = program_find(&ring)) != 0) {
        state = SALVAGE_LIVES;
    } else {
        state = ring_empty(&ring, head, found);
    }
    if (state == SALVAGE_DONE) {
        ringfile_unlink(&ring);
    }
    ringfile_fini(&ring);
    return state;
}

/* Why the process that moved a ring's records ended without an answer. */
static void why_not(struct salvage *found, int status, ck_time_t limit)
{
    if (limit > 0) {
        (void)snprintf(found->why, sizeof(found->why),
                       "it was not moved within %.3g s",
                       (double)limit / (double)CK_TIME_S);
    } else {
        (void)snprintf(found->why, sizeof(found->why),
                       "it is damaged, or changed while it was read (%s)",
                       strsignal(WTERMSIG(status)));
    }
}

/* Its answer, or why there is none: it failed, was killed, or takes longer. */
static enum salvage_state
answer_wait(pid_t pid, ck_time_t limit, struct salvage *found)
{
    int status = 0;
    int ended = ck_child_wait(pid, limit, &status);

    bool is_late = ended == 0;

    if (is_late) {
        (void)kill(pid, SIGKILL);
        /* One that the kernel holds is not waited for, either. */
        ended = ck_child_wait(pid, CK_TIME_S, &status);
    }
    if (ended <= 0 || !WIFEXITED(status)) {
        why_not(found, status, is_late ? limit : 0);
        return SALVAGE_FAILED;
    }
    return (enum salvage_state)WEXITSTATUS(status);
}

/* In a process of its own: who can shorten the file, or write to it meanwhile,
 * ends that process and not the one that is to run the program; nor does that
 * one wait for a disk that does not answer. */
static enum salvage_state ring_guarded(const char *path,
                                       const char *dir,
                                       ck_time_t limit,
                                       struct salvage *found)
{
    struct salvage *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = shared == MAP_FAILED ? -1 : fork();
    enum salvage_state state = SALVAGE_FAILED;

    if (pid == 0) {
        _exit((int)salvage_ring(path, dir, shared));
    }
    memset(found, 0, sizeof(*found));
    found->is_foreign = true;
    if (pid < 0) {
        (void)snprintf(found->why, sizeof(found->why), "%s", strerror(errno));
    } else {
        state = answer_wait(pid, limit, found);
        if (found->why[0] == '\0') {
            *found = *shared;
        }
    }
    if (shared != MAP_FAILED) {
        (void)munmap(shared, sizeof(*shared));
    }
    return state;
}

/* Nothing was written to it yet: as older versions left a ring when they were
 * killed at their start. */
static bool is_blank(int fd)
{
    uint64_t magic = 1;

    return pread(fd, &magic, sizeof(magic),
                 offsetof(struct ck_ring_header, magic)) == 0 ||
           magic == 0;
}

/* A file that was being made when its maker was killed. */
static void unborn_remove(int dir, const char *name, time_t age)
{
    struct stat st;
    int fd = ck_owndir_file(dir, name, O_RDWR);

    if (fd < 0) {
        return;
    }
    if (fstat(fd, &st) == 0 && time(NULL) - st.st_mtime > age &&
        (ck_ring_is_new_name(name) || is_blank(fd)) &&
        flock(fd, LOCK_EX | LOCK_NB) == 0) {
        (void)unlinkat(dir, name, 0);
    }
    (void)close(fd);
}

/* Its agent is dead, and a program has cut off a part of it: it can never be
 * read. True when it is gone. */
static bool shortened_remove(int dir, const char *name)
{
    int fd = ck_owndir_file(dir, name, O_RDWR);
    bool is_gone = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                   ringfile_is_shortened(fd) && unlinkat(dir, name, 0) == 0;

    ck_fd_close(fd);
    return is_gone;
}

/* Where to report, and how long each file may take. */
struct telling {
    salvage_say *say;
    void *context;
    ck_time_t limit;
};

/* One of the files of a directory: something to report? */
static void file_look(const char *dir,
                      const char *name,
                      const char *run,
                      const struct telling *telling)
{
    struct salvage found;
    enum salvage_state state;
    char path[CK_RING_DIR_BYTES + 256];

    (void)snprintf(path, sizeof(path), "%.*s/%s", CK_RING_DIR_BYTES - 1, dir,
                   name);
    state = ring_guarded(path, run, telling->limit, &found);
    if (state != SALVAGE_BUSY && state != SALVAGE_OTHER) {
        telling->say(path, state, &found, telling->context);
    }
}

/* Agents that begin together need not all look: a locked directory is being
 * looked through. With a limit of time that is enough. */
static bool is_swept(DIR *stream, ck_time_t until)
{
    return flock(dirfd(stream), LOCK_EX | LOCK_NB) != 0 && until != 0 &&
           errno == EWOULDBLOCK;
}

/* A directory of this user alone, or NULL. */
static DIR *place_open(const char *dir)
{
    int fd = ck_owndir_open(dir, NULL);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);

    if (fd >= 0 && stream == NULL) {
        (void)close(fd);
    }
    return stream;
}

void salvage_all(const char *dir,
                 ck_time_t until,
                 ck_time_t limit,
                 salvage_say *say,
                 void *context)
{
    char dirs[CK_RING_DIRS_MOST][CK_RING_DIR_BYTES];
    size_t count = ck_ring_dirs_all(dirs);
    struct telling telling = {say, context, limit};

    for (size_t i = 0; i < count; i++) {
        DIR *stream = place_open(dirs[i]);
        struct dirent *entry;

        if (stream == NULL || is_swept(stream, until)) {
            if (stream != NULL) {
                (void)closedir(stream);
            }
            continue;
        }
        while ((entry = readdir(stream)) != NULL &&
               (until == 0 || ck_time_raw() < until)) {
            if (ck_ring_is_new_name(entry->d_name) ||
                ck_ring_is_name(entry->d_name)) {
                unborn_remove(dirfd(stream), entry->d_name,
                              until == 0 ? 1 : UNBORN_AGE);
            }
            /* Whose run it was is not known any more. */
            if (dir == NULL && ck_ring_is_name(entry->d_name) &&
                shortened_remove(dirfd(stream), entry->d_name)) {
                say(entry->d_name, SALVAGE_LOST, &(struct salvage){0}, context);
            } else if (ck_ring_is_name(entry->d_name)) {
                file_look(dirs[i], entry->d_name, dir, &telling);
            }
        }
        (void)closedir(stream);
    }
}

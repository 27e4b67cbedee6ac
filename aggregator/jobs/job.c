/* job.c - one job: its run directory, its peers, when it ends
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/jobs/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/clock/domain.h"
#include "schema/order.h"
#include "schema/store/run.h"

struct job {
    struct job_facts facts;
    struct peer **peers;
    size_t peers_count;
    size_t peers_room;
    size_t shares;         /* agents that what is kept was dealt out to */
    ck_time_t first_hello; /* 0 = none yet */
    bool is_size_given;    /* the hellos' sizes do not count */
    bool is_stopped;
    bool is_hurried;
    bool is_touched; /* the manifest is older than this */
    bool has_probes;
    struct job_probes probes_before; /* that came before the job */
    char *report;                    /* NULL = report.txt has it */
    struct route waiters[JOB_WAITERS_MAX];
    size_t waiters_count;
};

static const char *const state_names[] = {
    [JOB_RUN] = "run",
    [JOB_ENDED] = "ended",
    [JOB_MERGE] = "merge",
    [JOB_DONE] = "done",
};

static const char *const end_names[] = {
    [JOB_END_NOT] = "",
    [JOB_END_COMPLETE] = "complete",
    [JOB_END_DEAD] = "agents died",
    [JOB_END_MISSING] = "ranks missing",
    [JOB_END_NOBODY] = "nobody came",
    [JOB_END_TIMEOUT] = "nothing heard",
    [JOB_END_STOPPED] = "stopped",
};

const char *job_state_name(enum job_state state)
{
    return state_names[state];
}

const char *job_end_name(enum job_end end)
{
    return end_names[end];
}

enum job_end job_decide(const struct job_census *census,
                        const struct job_limits *limits,
                        ck_time_t now)
{
    if (census->is_stopped) {
        return JOB_END_STOPPED;
    }
    if (census->peers == 0) {
        return now - census->opened >= JOB_NOBODY_LIMIT ? JOB_END_NOBODY
                                                        : JOB_END_NOT;
    }
    if (census->active > 0) {
        return limits->silence > 0 &&
                       now - census->last_heard >= limits->silence
                   ? JOB_END_TIMEOUT
                   : JOB_END_NOT;
    }
    if ((int64_t)census->ranks >= census->size) {
        return census->dead > 0 ? JOB_END_DEAD : JOB_END_COMPLETE;
    }
    if (census->is_hurried ||
        (now - census->last_left >= JOB_LAST_LEFT_GRACE &&
         now - census->first_hello >= JOB_FIRST_HELLO_GRACE)) {
        return JOB_END_MISSING;
    }
    return JOB_END_NOT;
}

void job_name_clean(const char *from, char name[JOB_NAME_BYTES])
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = 0;

    for (; *from && n < JOB_NAME_BYTES - 1; from++) {
        name[n++] = (char)(strchr(good, *from) != NULL ? *from : '_');
    }
    name[n] = '\0';
    if (n == 0 || name[0] == '.') {
        name[0] = '_';
        name[n ? n : 1] = '\0';
    }
}

/* The peers whose segments are in the directory already. */
static int job_reopen(struct job *job, struct ck_err *err)
{
    struct ck_run_files files;
    int result = 0;

    if (ck_run_files(job->facts.dir, &files, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < files.count && result == 0; i++) {
        struct ck_run_name name;

        if (ck_run_name(files.paths[i], &name) && name.kind != CK_RUN_SPOOL &&
            !job_peer(job, name.agent, err)) {
            result = -1;
        }
    }
    ck_run_files_free(&files);
    return result;
}

/* A run directory is of one job. Looked at before anything is written. */
static int job_check_owner(struct job *job, struct ck_err *err)
{
    struct ck_owner owner;

    if (!ck_owner_read(job->facts.dir, &owner)) {
        return 0;
    }
    if (!job->facts.key[0] && !owner.is_done) {
        /* After a crash, as it seems: go on with it. */
        strcpy(job->facts.key, owner.job_key);
    } else if (owner.job_key[0] && strcmp(job->facts.key, owner.job_key) != 0) {
        errno = EEXIST;
        return ck_err_set(err,
                          "%s holds the run of another job (%.64s); give "
                          "another directory, or remove it",
                          job->facts.dir, owner.job_key);
    }
    return 0;
}

struct job *job_create(const struct job_options *options, struct ck_err *err)
{
    struct job *job = calloc(1, sizeof(*job));

    if (!job) {
        return ck_err_null(err, "out of memory");
    }
    if (strlen(options->dir) >= sizeof(job->facts.dir) - 64 ||
        strlen(options->key) >= sizeof(job->facts.key)) {
        (void)ck_err_set(err, "path of the run or key of the job too long");
        goto error;
    }
    strcpy(job->facts.dir, options->dir);
    strcpy(job->facts.key, options->key);
    job_name_clean(options->name, job->facts.name);
    job->facts.number = options->number;
    job->facts.size = options->size;
    job->facts.keep = options->keep;
    job->is_size_given = options->size > 0;
    job->facts.opened = ck_time_raw();
    job->facts.merge_exit = -1;
    job->is_touched = true;
    if (ck_run_create(job->facts.dir, err) != 0 ||
        job_check_owner(job, err) != 0 || job_reopen(job, err) != 0) {
        goto error;
    }
    return job;
error:
    job_destroy(job);
    return NULL;
}

void job_destroy(struct job *job)
{
    int saved = errno;

    if (job) {
        for (size_t i = 0; i < job->peers_count; i++) {
            peer_destroy(job->peers[i]);
        }
        free(job->peers);
        free(job->report);
        free(job);
    }
    errno = saved;
}

static int job_grow(struct job *job)
{
    size_t room = job->peers_room ? job->peers_room * 2 : 16;
    struct peer **peers;

    if (job->peers_count < job->peers_room) {
        return 0;
    }
    if (job->peers_count >= JOB_PEERS_MAX) {
        errno = ENOBUFS;
        return -1;
    }
    peers = realloc(job->peers, room * sizeof(*peers));
    if (!peers) {
        return -1;
    }
    job->peers = peers;
    job->peers_room = room;
    return 0;
}

/* What is kept of the run, dealt out to its agents: to the last one alone when
 * the others' shares stay. */
static void job_keep(struct job *job)
{
    struct ck_keep share = job->facts.keep;
    size_t agents = job->peers_count;

    if (share.bytes == 0 && share.time == 0) {
        return;
    }
    if (job->facts.size > 0 && (uint64_t)job->facts.size > agents) {
        agents = (size_t)job->facts.size;
    }
    if (agents > 0) {
        share.bytes /= agents;
    }
    /* No limit at all would be no bytes. */
    share.bytes += job->facts.keep.bytes > 0 && share.bytes == 0;
    for (size_t i = agents == job->shares ? job->peers_count - 1 : 0;
         i < job->peers_count; i++) {
        store_keep(peer_store(job->peers[i]), &share);
    }
    job->shares = agents;
}

struct peer *
job_peer(struct job *job, const uint8_t agent[16], struct ck_err *err)
{
    struct store *store;
    struct peer *peer;

    for (size_t i = 0; i < job->peers_count; i++) {
        if (memcmp(peer_agent(job->peers[i]), agent, 16) == 0) {
            return job->peers[i];
        }
    }
    if (job_grow(job) != 0) {
        return ck_err_null(err, "no room for another agent: %s",
                           strerror(errno));
    }
    store = store_create(job->facts.dir, agent, err);
    if (!store) {
        return NULL;
    }
    peer = peer_create(agent, store);
    if (!peer) {
        store_destroy(store);
        return ck_err_null(err, "out of memory");
    }
    job->peers[job->peers_count++] = peer;
    job_keep(job);
    job->is_touched = true;
    return peer;
}

static struct ck_begin begin_now(void)
{
    struct ck_begin begin = {.realtime = ck_time_of(CLOCK_REALTIME),
                             .boottime = ck_time_of(CLOCK_BOOTTIME) -
                                         ck_time_space("boottime")};
    struct ck_domain domain = {.boot_id = ""};

    (void)ck_domain_read(&domain, NULL); /* ckagg.c checked it */
    memcpy(begin.boot_id, domain.boot_id, sizeof(begin.boot_id));
    return begin;
}

void job_hello(struct job *job,
               const char *key,
               const char *name,
               const struct peer_facts *facts,
               ck_time_t now)
{

    if (!job->facts.key[0] && strlen(key) < sizeof(job->facts.key)) {
        strcpy(job->facts.key, key);
    }
    if (!job->is_size_given && facts->size > job->facts.size &&
        facts->size <= JOB_SIZE_MAX) {
        job->facts.size = facts->size;
        if (job->peers_count > 0) {
            job_keep(job);
        }
    }
    if (job->first_hello == 0) {
        if (name[0]) {
            job_name_clean(name, job->facts.name);
        }
        job->first_hello = now;
        job->facts.started = begin_now();
    }
    /* Late, but welcome: the run is merged again when it has left. */
    job->facts.state = JOB_RUN;
    job->facts.end = JOB_END_NOT;
    job->is_stopped = false;
    job->is_touched = true;
}

size_t job_peers(const struct job *job)
{
    return job->peers_count;
}

struct peer *job_peer_at(const struct job *job, size_t i)
{
    return job->peers[i];
}

bool job_is_deserted(const struct job *job)
{
    for (size_t i = 0; i < job->peers_count; i++) {
        if (peer_is_active(job->peers[i])) {
            return false;
        }
    }
    return true;
}

CK_ORDER(rank_compare, int64_t, CK_LESS(*a, *b))

/* Different ranks >= 0 among the peers; 0 also without memory. */
static size_t job_ranks(const struct job *job)
{
    int64_t *ranks = calloc(job->peers_count + 1, sizeof(*ranks));
    size_t count = 0;
    size_t different = 0;

    if (!ranks) {
        return 0;
    }
    for (size_t i = 0; i < job->peers_count; i++) {
        if (peer_facts(job->peers[i])->rank >= 0) {
            ranks[count++] = peer_facts(job->peers[i])->rank;
        }
    }
    qsort(ranks, count, sizeof(*ranks), rank_compare);
    for (size_t i = 0; i < count; i++) {
        different += i == 0 || ranks[i] != ranks[i - 1];
    }
    free(ranks);
    return different;
}

static struct job_census job_census(const struct job *job)
{
    struct job_census census = {
        .peers = job->peers_count,
        .size = job->facts.size,
        .opened = job->facts.opened,
        .first_hello = job->first_hello ? job->first_hello : job->facts.opened,
        .last_heard = job->facts.opened,
        .is_stopped = job->is_stopped,
        .is_hurried = job->is_hurried,
    };

    for (size_t i = 0; i < job->peers_count; i++) {
        const struct peer *peer = job->peers[i];

        census.active += peer_is_active(peer);
        census.dead += peer_state(peer) == PEER_DEAD;
        if (peer_last_heard(peer) > census.last_heard) {
            census.last_heard = peer_last_heard(peer);
        }
        if (peer_last_left(peer) > census.last_left) {
            census.last_left = peer_last_left(peer);
        }
    }
    if (census.active == 0) {
        census.ranks = job_ranks(job);
    }
    return census;
}

bool job_is_over(const struct job *job)
{
    return job->facts.state != JOB_RUN ||
           (job->first_hello != 0 && job_is_deserted(job) &&
            (int64_t)job_ranks(job) >= job->facts.size);
}

bool job_judge(struct job *job, const struct job_limits *limits, ck_time_t now)
{
    struct job_census census;
    enum job_end end;

    if (job->facts.state != JOB_RUN) {
        return false;
    }
    for (size_t i = 0; i < job->peers_count; i++) {
        if (peer_judge(job->peers[i], &limits->peer, now)) {
            job->is_touched = true;
        }
    }
    census = job_census(job);
    end = job_decide(&census, limits, now);
    if (end == JOB_END_NOT) {
        return false;
    }
    job->facts.end = end;
    job->facts.state = JOB_ENDED;
    job->is_touched = true;
    return true;
}

void job_stop(struct job *job)
{
    job->is_stopped = true;
}

void job_hurry(struct job *job)
{
    job->is_hurried = true;
}

void job_set_state(struct job *job, enum job_state state)
{
    job->facts.state = state;
    job->is_touched = true;
}

void job_note_probes(struct job *job,
                     const struct job_probes *before,
                     const struct job_probes *now)
{
    if (!job->has_probes) {
        job->probes_before = *before;
        job->has_probes = true;
    }
    before = &job->probes_before;
    if (job->facts.state != JOB_RUN) {
        return;
    }
    job->facts.probes = (struct job_probes){
        .answered = now->answered - before->answered,
        .malformed = now->malformed - before->malformed,
        .foreign = now->foreign - before->foreign,
        .untagged = now->untagged - before->untagged,
        .replayed = now->replayed - before->replayed,
    };
}

void job_set_merge_exit(struct job *job, int code)
{
    job->facts.merge_exit = code;
    job->is_touched = true;
}

void job_count_refused(struct job *job)
{
    job->facts.refused++;
}

/* Only of a run whose disk was full: else report.txt has it. */
void job_keep_report(struct job *job, const char *text)
{
    bool is_kept = false;

    for (size_t i = 0; i < job->peers_count; i++) {
        is_kept = is_kept || peer_is_kept(job->peers[i]);
    }
    free(job->report);
    job->report = is_kept && text ? strdup(text) : NULL;
}

const char *job_report(const struct job *job)
{
    return job->report;
}

int job_wait_add(struct job *job, const struct route *route)
{
    for (size_t i = 0; i < job->waiters_count; i++) {
        if (route_equal(&job->waiters[i], route)) {
            return 0;
        }
    }
    if (job->waiters_count == JOB_WAITERS_MAX) {
        errno = ENOBUFS;
        return -1;
    }
    job->waiters[job->waiters_count++] = *route;
    return 0;
}

bool job_wait_take(struct job *job, struct route *route)
{
    if (job->waiters_count == 0) {
        return false;
    }
    *route = job->waiters[--job->waiters_count];
    return true;
}

const struct job_facts *job_facts(const struct job *job)
{
    return &job->facts;
}

struct job_totals job_totals(const struct job *job)
{
    struct job_totals totals = {.peers = job->peers_count,
                                .ranks = job_ranks(job)};

    for (size_t i = 0; i < job->peers_count; i++) {
        struct peer *peer = job->peers[i];
        struct store_facts stored = store_facts(peer_store(peer));

        totals.active += peer_is_active(peer);
        totals.dead += peer_state(peer) == PEER_DEAD;
        totals.frames += stored.frames;
        totals.records += stored.records;
        totals.bytes += stored.bytes;
        totals.old += stored.old;
        totals.missing += stored.missing;
        totals.discarded_records += stored.discarded.records;
        totals.discarded_bytes += stored.discarded.bytes;
        totals.lost += peer_facts(peer)->lost;
    }
    return totals;
}

void job_listens(struct job *job, const char *url)
{
    (void)snprintf(job->facts.endpoint, sizeof(job->facts.endpoint), "%s", url);
}

void job_touch(struct job *job)
{
    job->is_touched = true;
}

bool job_is_touched(const struct job *job)
{
    return job->is_touched;
}

void job_is_saved(struct job *job)
{
    job->is_touched = false;
}

int job_sync(struct job *job)
{
    int result = 0;

    for (size_t i = 0; i < job->peers_count; i++) {
        if (store_sync(peer_store(job->peers[i])) != 0 && result == 0) {
            result = -1;
        }
    }
    return result;
}

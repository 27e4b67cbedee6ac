/* manifest.c - manifest.json of a run directory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/jobs/manifest.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "schema/store/run.h"

/* Room that is kept for the next manifest, beside twice the last one's. */
#define SPARE_LEAST ((size_t)4096)

static void manifest_peer(struct ck_json *json, struct peer *peer)
{
    const struct peer_facts *facts = peer_facts(peer);
    struct store_facts stored = store_facts(peer_store(peer));
    char hex[CK_AGENT_HEX];

    ck_run_agent_hex(peer_agent(peer), hex);
    ck_json_object(json, NULL);
    ck_json_string(json, "agent", hex);
    ck_json_int(json, "rank", facts->rank);
    ck_json_string(json, "host", facts->host);
    ck_json_string(json, "boot_id", facts->boot_id);
    ck_json_int(json, "pid", facts->pid);
    ck_json_string(json, "command", facts->command);
    ck_json_string(json, "state", peer_state_name(peer_state(peer)));
    if (facts->has_status) {
        ck_json_int(json, "status", facts->status);
    } else {
        ck_json_null(json, "status");
    }
    ck_json_uint(json, "frames", stored.frames);
    ck_json_uint(json, "records", stored.records);
    ck_json_uint(json, "bytes", stored.bytes);
    ck_json_uint(json, "streams",
                 positions_count(store_positions(peer_store(peer))));
    ck_json_uint(json, "missing_units", stored.missing);
    ck_json_uint(json, "repeated_frames", stored.old);
    ck_json_uint(json, "unwritten_frames", stored.failed);
    if (stored.discarded.is_any) {
        ck_json_uint(json, "discarded_records", stored.discarded.records);
        ck_json_uint(json, "discarded_bytes", stored.discarded.bytes);
        ck_json_uint(json, "discarded_segments", stored.discarded.segments);
    }
    if (stored.undiscarded > 0) {
        ck_json_uint(json, "failed_discards", stored.undiscarded);
    }
    ck_json_uint(json, "made_records", facts->events);
    ck_json_uint(json, "lost", facts->lost);
    if (peer_is_kept(peer)) {
        ck_json_string(json, "spool", facts->spool_path);
    }
    ck_json_uint(json, "spool_bytes", facts->spool_bytes);
    ck_json_uint(json, "cpu_ns", facts->cpu_ns);
    ck_json_end(json);
}

void manifest_job(struct ck_json *json, const struct job *job)
{
    const struct job_facts *facts = job_facts(job);
    struct job_totals totals = job_totals(job);
    const char *slash = strrchr(facts->dir, '/');

    ck_json_string(json, "run", slash && slash[1] ? slash + 1 : facts->dir);
    ck_json_string(json, "job", facts->name);
    ck_json_string(json, "job_key", facts->key);
    ck_json_string(json, "state", job_state_name(facts->state));
    if (facts->endpoint[0] != '\0' && facts->state != JOB_DONE) {
        ck_json_string(json, "endpoint", facts->endpoint);
    }
    ck_json_string(json, "end", job_end_name(facts->end));
    ck_json_int(json, "size", facts->size);
    ck_json_uint(json, "ranks", totals.ranks);
    ck_json_int(json, "started_realtime", facts->started.realtime);
    ck_json_int(json, "started_boottime", facts->started.boottime);
    ck_json_string(json, "boot_id", facts->started.boot_id);
    ck_json_uint(json, "records", totals.records);
    ck_json_uint(json, "bytes", totals.bytes);
    ck_json_uint(json, "lost", totals.lost);
    if (facts->keep.bytes > 0) {
        ck_json_uint(json, "keep_bytes", facts->keep.bytes);
    }
    if (facts->keep.time > 0) {
        ck_json_int(json, "keep_ns", facts->keep.time);
    }
    if (totals.discarded_records > 0) {
        ck_json_uint(json, "discarded_records", totals.discarded_records);
        ck_json_uint(json, "discarded_bytes", totals.discarded_bytes);
    }
    ck_json_uint(json, "missing_units", totals.missing);
    ck_json_uint(json, "refused_messages", facts->refused);
    if (facts->merge_exit >= 0) {
        ck_json_int(json, "merge_exit", facts->merge_exit);
    } else {
        ck_json_null(json, "merge_exit");
    }
    ck_json_object(json, "clock_probes");
    ck_json_uint(json, "answered", facts->probes.answered);
    ck_json_uint(json, "malformed", facts->probes.malformed);
    ck_json_uint(json, "foreign", facts->probes.foreign);
    ck_json_uint(json, "untagged", facts->probes.untagged);
    ck_json_uint(json, "replayed", facts->probes.replayed);
    ck_json_end(json);
    ck_json_array(json, "agents");
    for (size_t i = 0; i < job_peers(job); i++) {
        manifest_peer(json, job_peer_at(job, i));
    }
    ck_json_end(json);
}

static bool is_full(int error)
{
    return error == ENOSPC || error == EDQUOT;
}

/* Replace the file. Where its disk is full, in the spare room. */
static int manifest_put(const struct job *job,
                        const char *text,
                        size_t length,
                        struct ck_err *err)
{
    const char *dir = job_facts(job)->dir;
    int error;

    if (ck_run_replace(dir, CK_RUN_MANIFEST, text, length, err) != 0) {
        error = errno;
        if (!is_full(error) ||
            ck_run_spare_use(dir, CK_RUN_MANIFEST, text, length, NULL) != 0) {
            errno = error;
            return -1;
        }
    }
    if (job_facts(job)->state == JOB_DONE) {
        ck_run_spare_remove(dir, CK_RUN_MANIFEST);
    } else {
        (void)ck_run_spare(dir, CK_RUN_MANIFEST, 2 * length + SPARE_LEAST);
    }
    return 0;
}

static int manifest_write(const struct job *job, struct ck_err *err)
{
    struct ck_json *json = ck_json_create(NULL, true);
    int saved;
    const char *text;
    size_t length;
    int result;

    if (!json) {
        return ck_err_set(err, "cannot write the manifest: out of memory");
    }
    ck_json_object(json, NULL);
    ck_json_int(json, "version", CK_RUN_VERSION);
    ck_json_string(json, "written_by", "ckagg " CK_VERSION);
    manifest_job(json, job);
    ck_json_end(json);
    if (ck_json_finish(json) != 0) {
        result =
            ck_err_set(err, "cannot write the manifest: %s", strerror(errno));
    } else {
        text = ck_json_text(json, &length);
        result = manifest_put(job, text, length, err);
    }
    saved = errno;
    ck_json_destroy(json);
    errno = saved;
    return result;
}

int manifest_save(struct job *job, struct ck_err *err)
{
    if (!job_is_touched(job)) {
        return 0;
    }
    if (manifest_write(job, err) != 0) {
        return -1;
    }
    job_is_saved(job);
    return 0;
}

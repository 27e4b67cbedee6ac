/* herald.c - what the user is told of the aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Over several hosts an agent may be the only one of its host, or of the job:
 * nobody speaks for it then. So whoever speaks holds a lock of the job as long
 * as it lives; an agent that met no aggregator and gets the lock says itself
 * where its data is.
 */
#include "agent/collector/herald.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/link/embedded.h"
#include "agent/process/channel.h"
#include "schema/store/owner.h"

/* An end that takes less is not worth a line. */
#define WAIT_UNSAID (700 * CK_TIME_MS)
#define REPORT_LIMIT (300 * CK_TIME_S)
#define TEXT_BYTES (4 * PATH_MAX)

void herald_warn(const struct herald *herald, const char *text)
{
    (void)channel_send(herald->wish->channel, CHANNEL_WARN, text, strlen(text));
}

/* True: we hold the lock of who speaks on this host. Old ones are removed as
 * all meeting points are. */
static bool voice_take(struct herald *herald)
{
    /* Another name than the meeting point's own lock, of the same form. */
    unsigned long long hash = ~identity_hash(herald->wish->identity);
    char dir[EMBEDDED_DIR];
    char path[EMBEDDED_DIR + 32];
    int fd;

    if (herald->has_voice) {
        return true;
    }
    if (embedded_dir(dir, NULL) != 0) {
        return false;
    }
    (void)snprintf(path, sizeof(path), "%s/%016llx.lock", dir, hash);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return false;
    }
    herald->has_voice = true; /* the file stays open until we end */
    return true;
}

/* May an agent of this job be alone on its host? */
static bool is_scattered(const struct herald *herald)
{
    return herald->wish->aggregator == NULL &&
           !identity_is_one_host(herald->wish->identity);
}

/* Once for all ranks of the host. */
static void host_warn(const struct herald *herald, const char *text)
{
    if (herald->wish->is_speaker || herald->is_alone) {
        herald_warn(herald, text);
    }
}

static void rank_note(const struct herald *herald, const char *text)
{
    own_note(herald->own, "rank %d: %s", herald->wish->identity->place.rank,
             text);
}

static const char *url(const struct herald *herald)
{
    return herald->url[0] != '\0' ? herald->url : "no address known yet";
}

/* Another job may have taken the run directory since we looked. */
static void foreign_leave(struct herald *herald)
{
    struct ck_owner owner;

    if (ck_owner_read(herald->wish->dir, &owner) && owner.job_key[0] != '\0' &&
        strcmp(owner.job_key, herald->wish->identity->job_key) != 0) {
        spool_prefer(herald->spool, herald->wish->fallback);
    }
}

/* Where the data is kept without an aggregator; "" = nowhere. */
static const char *kept_find(struct herald *herald)
{
    const char *path;
    const char *slash;

    foreign_leave(herald);
    path = spool_settle(herald->spool) == 0 ? spool_path(herald->spool) : NULL;
    slash = path == NULL ? NULL : strrchr(path, '/');
    (void)snprintf(herald->kept, sizeof(herald->kept), "%.*s",
                   slash == NULL ? 0 : (int)(slash - path),
                   slash == NULL ? "" : path);
    return herald->kept;
}

/* `what`, and where the data goes meanwhile. */
static void kept_say(struct herald *herald, const char *what)
{
    const char *dir = kept_find(herald);
    char text[TEXT_BYTES];

    if (!herald->wish->is_speaker && !herald->is_welcome &&
        is_scattered(herald)) {
        herald->is_alone = voice_take(herald);
    }
    if (dir[0] == '\0') {
        (void)snprintf(text, sizeof(text),
                       "%s; and no spool can be written in %s or %s: what "
                       "memory cannot hold is lost",
                       what, herald->wish->dir, herald->wish->fallback);
    } else {
        (void)snprintf(text, sizeof(text),
                       "%s; the data is kept in %s, and the report made by: "
                       "ckmerge %s",
                       what, herald->is_alone ? spool_path(herald->spool) : dir,
                       dir);
    }
    host_warn(herald, text);
}

void herald_trouble(struct herald *herald, const struct ck_err *err)
{
    if (strcmp(err->text, herald->warned.text) != 0) {
        herald->warned = *err;
        host_warn(herald, err->text);
        rank_note(herald, err->text);
    }
}

void herald_hopeless(struct herald *herald, const char *why)
{
    if (!herald->is_hopeless) {
        herald->is_hopeless = true;
        /* First: a front that waits for an aggregator needs no more. */
        (void)channel_send(herald->wish->channel, CHANNEL_ALONE, why,
                           strlen(why));
        if (!herald->is_held) {
            kept_say(herald, why);
        }
        rank_note(herald, why);
    }
}

void herald_hear(struct herald *herald, const struct session *session)
{
    enum session_state state = session_state(session);
    char text[CK_ENDPOINT_URL_BYTES + 512];

    if (state == SESSION_REFUSED) {
        (void)snprintf(text, sizeof(text), "the aggregator (%s) refuses: %s",
                       herald->url, session_refusal(session));
        herald_hopeless(herald, text);
    } else if (state >= SESSION_SENDING && !herald->is_welcome) {
        herald->is_welcome = true;
        (void)channel_send(herald->wish->channel, CHANNEL_READY, NULL, 0);
    }
}

void herald_look(struct herald *herald, ck_time_t heard, ck_time_t now)
{
    char what[CK_ENDPOINT_URL_BYTES + 64];

    if (!herald->has_begun) {
        herald->has_begun = true;
        if (herald->wish->is_speaker && is_scattered(herald)) {
            (void)voice_take(herald);
        }
    }
    if (herald->is_held || herald->is_hopeless) {
        return;
    }
    switch (silence_look(&herald->silence, heard, now)) {
    case SILENCE_SAME:
        break;
    case SILENCE_FELL:
        (void)snprintf(what, sizeof(what),
                       "no response from the aggregator (%s) for %d s",
                       url(herald),
                       (int)((now - (heard ? heard : herald->silence.started)) /
                             CK_TIME_S));
        kept_say(herald, what);
        rank_note(herald, what);
        break;
    case SILENCE_BROKEN:
        host_warn(herald,
                  "the aggregator answers: what was kept is sent to it");
        break;
    }
}

void herald_wait(struct herald *herald,
                 ck_time_t since,
                 ck_time_t now,
                 ck_time_t until)
{
    char text[CK_ENDPOINT_URL_BYTES + 64];

    if (!herald->is_waiting && now - since > WAIT_UNSAID) {
        herald->is_waiting = true;
        (void)snprintf(
            text, sizeof(text), "waiting for the aggregator (%s), %d s at most",
            url(herald), (int)((until - now + CK_TIME_S - 1) / CK_TIME_S));
        host_warn(herald, text);
    }
}

/* No disk took anything: there is nothing to merge. */
static void unkept_say(const struct herald *herald, const char *what)
{
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof(text),
                   "%s; and nothing could be kept in %s or %s: make room there "
                   "and run the job again",
                   what, herald->wish->dir, herald->wish->fallback);
    host_warn(herald, text);
}

void herald_spooled(struct herald *herald, const char *full)
{
    char what[CK_ENDPOINT_URL_BYTES + 640];
    char said[PATH_MAX];

    strcpy(said, herald->kept);
    if (full[0] != '\0') {
        rank_note(herald, full);
        return;
    }
    if (herald->is_hopeless) {
        int error = spool_error(herald->spool);

        (void)snprintf(what, sizeof(what), "cannot write to %.512s: %s", said,
                       strerror(error != 0 ? error : ENOSPC));
    } else {
        (void)snprintf(what, sizeof(what), "the aggregator (%s) did not answer",
                       url(herald));
    }
    if (spool_bytes(herald->spool) == 0) {
        unkept_say(herald, what);
    } else if (!herald->is_hopeless || strcmp(kept_find(herald), said) != 0) {
        kept_say(herald, what);
        rank_note(herald, what);
    }
}

void herald_kept(struct herald *herald, const char *full, const char *run)
{
    char what[CK_ENDPOINT_URL_BYTES + 640];
    char text[TEXT_BYTES];

    (void)snprintf(what, sizeof(what), "the aggregator (%s) %s", url(herald),
                   full);
    if (spool_bytes(herald->spool) == 0) {
        unkept_say(herald, what);
    } else if (run == NULL) {
        kept_say(herald, what);
    } else {
        (void)snprintf(text, sizeof(text),
                       "%s; the rest is kept in %s, and the report of all made "
                       "by: ckmerge %s",
                       what, spool_path(herald->spool), run);
        host_warn(herald, text);
    }
}

void herald_lead(struct herald *herald, bool leads)
{
    if (leads && herald->wish->is_leader && !herald->is_leading) {
        herald->is_leading = true;
        (void)channel_send(herald->wish->channel, CHANNEL_LEAD, NULL, 0);
    }
}

bool herald_reports(const struct herald *herald)
{
    return herald->wish->is_reporter || herald->is_leading;
}

ck_time_t herald_patience(const struct herald *herald)
{
    bool is_ours = herald->wish->aggregator == NULL &&
                   identity_is_one_host(herald->wish->identity);

    return herald_reports(herald) || herald->wish->is_closer ||
                   (herald->is_last && is_ours)
               ? REPORT_LIMIT
               : 0;
}

/* usermessages.c - what is logged to the user of the aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Over several hosts an agent may be the only one of its host, or of the job:
 * then no other agent logs for it. So the agent that logs holds a lock of the
 * job as long as it lives; an agent that met no aggregator and gets the lock
 * logs itself where its data is.
 */
#include "agent/collector/usermessages.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/link/embedded.h"
#include "agent/process/frontpipe.h"
#include "schema/fd.h"
#include "schema/store/owner.h"

/* An end that takes less is not worth a line. */
#define WAIT_UNSAID (700 * CK_TIME_MS)
#define REPORT_LIMIT (300 * CK_TIME_S)
#define TEXT_BYTES (4 * PATH_MAX)

void usermessages_warn(const struct usermessages *usermessages,
                       const char *text)
{
    (void)frontpipe_send(usermessages->config->channel, FRONTPIPE_WARN, text,
                         strlen(text));
}

/* True: we hold the lock of the agent that logs on this host. Old ones are
 * removed as all meeting points are. */
static bool voice_take(struct usermessages *usermessages)
{
    /* Another name than the meeting point's own lock, of the same form. */
    unsigned long long hash = ~identity_hash(usermessages->config->identity);
    char dir[EMBEDDED_DIR];
    char path[EMBEDDED_DIR + 32];
    int fd;

    if (usermessages->has_voice) {
        return true;
    }
    if (embedded_dir(dir, NULL) != 0) {
        return false;
    }
    (void)snprintf(path, sizeof(path), "%s/%016llx.lock", dir, hash);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
        ck_fd_close(fd);
        return false;
    }
    usermessages->has_voice = true; /* the file stays open until we end */
    return true;
}

/* May an agent of this job be alone on its host? */
static bool is_scattered(const struct usermessages *usermessages)
{
    return usermessages->config->aggregator == NULL &&
           !identity_is_one_host(usermessages->config->identity);
}

/* Once for all ranks of the host. */
static void host_warn(const struct usermessages *usermessages, const char *text)
{
    if (usermessages->config->is_speaker || usermessages->is_alone) {
        usermessages_warn(usermessages, text);
    }
}

static void rank_note(const struct usermessages *usermessages, const char *text)
{
    selfstream_note(usermessages->selfstream, "rank %d: %s",
                    usermessages->config->identity->place.rank, text);
}

static const char *url(const struct usermessages *usermessages)
{
    return usermessages->url[0] != '\0' ? usermessages->url
                                        : "no address known yet";
}

/* Another job may have taken the run directory since we looked. */
static void foreign_leave(struct usermessages *usermessages)
{
    struct ck_owner owner;

    if (ck_owner_read(usermessages->config->dir, &owner) &&
        owner.job_key[0] != '\0' &&
        strcmp(owner.job_key, usermessages->config->identity->job_key) != 0) {
        spool_prefer(usermessages->spool, usermessages->config->fallback);
    }
}

/* Where the data is kept without an aggregator; "" = nowhere. */
static const char *kept_find(struct usermessages *usermessages)
{
    const char *path;
    const char *slash;

    foreign_leave(usermessages);
    path = spool_settle(usermessages->spool) == 0
               ? spool_path(usermessages->spool)
               : NULL;
    slash = path == NULL ? NULL : strrchr(path, '/');
    (void)snprintf(usermessages->kept, sizeof(usermessages->kept), "%.*s",
                   slash == NULL ? 0 : (int)(slash - path),
                   slash == NULL ? "" : path);
    return usermessages->kept;
}

/* `what`, and where the data goes meanwhile. */
static void kept_say(struct usermessages *usermessages, const char *what)
{
    const char *dir = kept_find(usermessages);
    char text[TEXT_BYTES];

    if (!usermessages->config->is_speaker && !usermessages->is_welcome &&
        is_scattered(usermessages)) {
        usermessages->is_alone = voice_take(usermessages);
    }
    if (dir[0] == '\0') {
        (void)snprintf(text, sizeof(text),
                       "%s; and no spool can be written in %s or %s: what "
                       "memory cannot hold is lost",
                       what, usermessages->config->dir,
                       usermessages->config->fallback);
    } else {
        (void)snprintf(text, sizeof(text),
                       "%s; the data is kept in %s, and the report made by: "
                       "ckmerge %s",
                       what,
                       usermessages->is_alone ? spool_path(usermessages->spool)
                                              : dir,
                       dir);
    }
    host_warn(usermessages, text);
}

void usermessages_trouble(struct usermessages *usermessages,
                          const struct ck_err *err)
{
    if (strcmp(err->text, usermessages->warned.text) != 0) {
        usermessages->warned = *err;
        host_warn(usermessages, err->text);
        rank_note(usermessages, err->text);
    }
}

void usermessages_hopeless(struct usermessages *usermessages, const char *why)
{
    if (!usermessages->is_hopeless) {
        usermessages->is_hopeless = true;
        /* First: a front that waits for an aggregator needs no more. */
        (void)frontpipe_send(usermessages->config->channel, FRONTPIPE_ALONE,
                             why, strlen(why));
        if (!usermessages->is_held) {
            kept_say(usermessages, why);
        }
        rank_note(usermessages, why);
    }
}

/* A ckagg of another user stores what this one may not read. */
static void owner_look(struct usermessages *usermessages,
                       const struct session *session)
{
    int64_t owner = session_owner(session);
    const struct passwd *user;
    char text[1400];

    if (owner < 0 || owner == (int64_t)geteuid() ||
        !usermessages->config->is_speaker) {
        return;
    }
    user = getpwuid((uid_t)owner);
    (void)snprintf(text, sizeof(text),
                   "the aggregator runs as user %s (uid %lld): only that user "
                   "can read the run %s; for runs of your own start a ckagg "
                   "of your own",
                   user != NULL ? user->pw_name : "unknown here",
                   (long long)owner, session_dir(session));
    usermessages_warn(usermessages, text);
}

void usermessages_hear(struct usermessages *usermessages,
                       const struct session *session)
{
    enum session_state state = session_state(session);
    char text[CK_ENDPOINT_URL_BYTES + 512];

    if (state == SESSION_REFUSED) {
        (void)snprintf(text, sizeof(text), "the aggregator (%s) refuses: %s",
                       usermessages->url, session_refusal(session));
        usermessages_hopeless(usermessages, text);
    } else if (state >= SESSION_SENDING && !usermessages->is_welcome) {
        usermessages->is_welcome = true;
        owner_look(usermessages, session);
        (void)frontpipe_send(usermessages->config->channel, FRONTPIPE_READY,
                             NULL, 0);
    }
}

void usermessages_look(struct usermessages *usermessages,
                       ck_time_t heard,
                       ck_time_t now)
{
    char what[CK_ENDPOINT_URL_BYTES + 64];

    if (!usermessages->has_begun) {
        usermessages->has_begun = true;
        if (usermessages->config->is_speaker && is_scattered(usermessages)) {
            (void)voice_take(usermessages);
        }
    }
    if (usermessages->is_held || usermessages->is_hopeless) {
        return;
    }
    switch (
        aggregatortimeout_look(&usermessages->aggregatortimeout, heard, now)) {
    case AGGREGATORTIMEOUT_SAME:
        break;
    case AGGREGATORTIMEOUT_FELL:
        (void)snprintf(
            what, sizeof(what), "no response from the aggregator (%s) for %d s",
            url(usermessages),
            (int)((now -
                   (heard ? heard : usermessages->aggregatortimeout.started)) /
                  CK_TIME_S));
        kept_say(usermessages, what);
        rank_note(usermessages, what);
        break;
    case AGGREGATORTIMEOUT_BROKEN:
        host_warn(usermessages,
                  "the aggregator answers: what was kept is sent to it");
        break;
    }
}

void usermessages_wait(struct usermessages *usermessages,
                       ck_time_t since,
                       ck_time_t now,
                       ck_time_t until)
{
    char text[CK_ENDPOINT_URL_BYTES + 64];

    if (!usermessages->is_waiting && now - since > WAIT_UNSAID) {
        usermessages->is_waiting = true;
        (void)snprintf(text, sizeof(text),
                       "waiting for the aggregator (%s), %d s at most",
                       url(usermessages),
                       (int)((until - now + CK_TIME_S - 1) / CK_TIME_S));
        host_warn(usermessages, text);
    }
}

/* No disk took anything: there is nothing to merge. */
static void unkept_say(const struct usermessages *usermessages,
                       const char *what)
{
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof(text),
                   "%s; and nothing could be kept in %s or %s: make room there "
                   "and run the job again",
                   what, usermessages->config->dir,
                   usermessages->config->fallback);
    host_warn(usermessages, text);
}

void usermessages_spooled(struct usermessages *usermessages, const char *full)
{
    char what[CK_ENDPOINT_URL_BYTES + 640];
    char said[PATH_MAX];

    strcpy(said, usermessages->kept);
    if (full[0] != '\0') {
        rank_note(usermessages, full);
        return;
    }
    if (usermessages->is_hopeless) {
        int error = spool_error(usermessages->spool);

        (void)snprintf(what, sizeof(what), "cannot write to %.512s: %s", said,
                       strerror(error != 0 ? error : ENOSPC));
    } else {
        (void)snprintf(what, sizeof(what), "the aggregator (%s) did not answer",
                       url(usermessages));
    }
    if (spool_bytes(usermessages->spool) == 0) {
        unkept_say(usermessages, what);
    } else if (!usermessages->is_hopeless ||
               strcmp(kept_find(usermessages), said) != 0) {
        kept_say(usermessages, what);
        rank_note(usermessages, what);
    }
}

void usermessages_kept(struct usermessages *usermessages,
                       const char *full,
                       const char *run)
{
    char what[CK_ENDPOINT_URL_BYTES + 640];
    char text[TEXT_BYTES];

    (void)snprintf(what, sizeof(what), "the aggregator (%s) %s",
                   url(usermessages), full);
    if (spool_bytes(usermessages->spool) == 0) {
        unkept_say(usermessages, what);
    } else if (run == NULL) {
        kept_say(usermessages, what);
    } else {
        (void)snprintf(text, sizeof(text),
                       "%s; the rest is kept in %s, and the report of all made "
                       "by: ckmerge %s",
                       what, spool_path(usermessages->spool), run);
        host_warn(usermessages, text);
    }
}

void usermessages_pages(const struct usermessages *usermessages,
                        const char *url,
                        const char *why)
{
    char text[TEXT_BYTES];

    if (url[0] != '\0') {
        (void)snprintf(text, sizeof(text), "the running job is shown at %s",
                       url);
        (void)frontpipe_send(usermessages->config->channel, FRONTPIPE_FACT,
                             text, strlen(text));
    } else {
        (void)snprintf(text, sizeof(text), "the running job is not shown: %s",
                       why);
        usermessages_warn(usermessages, text);
    }
}

void usermessages_lead(struct usermessages *usermessages, bool leads)
{
    if (leads && usermessages->config->is_leader && !usermessages->is_leading) {
        usermessages->is_leading = true;
        (void)frontpipe_send(usermessages->config->channel, FRONTPIPE_LEAD,
                             NULL, 0);
    }
}

bool usermessages_reports(const struct usermessages *usermessages)
{
    return usermessages->config->is_reporter || usermessages->is_leading;
}

ck_time_t usermessages_patience(const struct usermessages *usermessages)
{
    bool is_ours = usermessages->config->aggregator == NULL &&
                   identity_is_one_host(usermessages->config->identity);

    return usermessages_reports(usermessages) ||
                   usermessages->config->is_closer ||
                   (usermessages->is_last && is_ours)
               ? REPORT_LIMIT
               : 0;
}

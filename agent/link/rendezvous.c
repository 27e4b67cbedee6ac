/* rendezvous.c - how an agent finds its aggregator, or starts one
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   given by the user            -> connect there
 *   all ranks on this host       -> connect to the job's socket
 *   several hosts, rank 0        -> the same, and publish ckagg's endpoint
 *   several hosts, other ranks   -> the job's socket if it is here, else what
 *                                   ckmpi or the run directory hand on: the
 *                                   user's, or the one that rank 0's agent
 *                                   made in the same working directory
 *   rank 0: starts ckagg at once; on one host, others after 2 s without an
 *   answer. The one that has the lock; never more than STARTS_MAX times.
 */
#include "agent/link/rendezvous.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/link/embedded.h"
#include "agent/link/nearby.h"
#include "agent/link/reachable.h"
#include "agent/ring/ringfile.h"
#include "schema/fd.h"
#include "schema/store/run.h"

#define START_WAIT (2 * CK_TIME_S)
#define START_AGAIN (1 * CK_TIME_S)
#define LOOK_AGAIN (100 * CK_TIME_MS)
/* A listing of a shared directory is work for its server. */
#define NEARBY_AGAIN (250 * CK_TIME_MS)
#define NEARBY_LONGEST (10 * CK_TIME_S)
#define STARTS_MAX 3
/* The launchers of a job's ranks on this host, where each has its own, begin
 * one after another. */
#define EARLIER (2 * CK_TIME_S)
#define ENDPOINT_FILE NEARBY_ENDPOINT

struct rendezvous {
    const struct agent_config *config; /* borrowed */
    struct embedded_place place;
    struct embedded embedded;
    bool has_place;
    bool is_move_told; /* that the place is another one than usual */
    bool is_one_host;
    bool is_found;      /* an endpoint was handed out */
    bool is_local;      /* the job's socket is (or will be) on this host */
    bool is_ready;      /* the ckagg that we started is ready */
    bool was_heard;     /* some ckagg of the job has answered */
    bool is_restart;    /* the one started last follows one that had answered */
    struct ck_err why;  /* there is no meeting point; "" = there is */
    bool is_hopeless;   /* it cannot be started here, and we know why */
    bool has_restarted; /* and that was not asked yet */
    bool has_pages;     /* the same of what it reported of its pages */
    int starts;
    int failures; /* starts that did not come to the ready line */
    ck_time_t created;
    ck_time_t start_at; /* when to try to start ckagg, 0 = never */
    ck_time_t look_at;
    ck_time_t nearby_at;
    ck_time_t nearby_pause;
    struct ck_endpoint candidate; /* being probed */
    struct reachable probe;
};

struct rendezvous *rendezvous_create(const struct agent_config *config,
                                     struct ck_err *err)
{
    struct rendezvous *made = calloc(1, sizeof(*made));

    if (made == NULL) {
        return ck_err_null(err, "out of memory");
    }
    made->config = config;
    made->embedded.ready = -1;
    made->created = ck_time_raw();
    made->is_one_host = identity_is_one_host(config->identity);
    if (config->aggregator != NULL) {
        if (ck_endpoint_parse(config->aggregator, &made->candidate, err) != 0) {
            free(made);
            return NULL;
        }
        return made;
    }
    if (embedded_place_find(&made->place, config->identity, &made->why) != 0) {
        made->is_hopeless = true;
        return made;
    }
    made->has_place = true;
    made->is_local = made->is_one_host || config->identity->place.rank == 0;
    if (made->is_local) {
        made->start_at =
            config->identity->place.rank == 0 ? 1 : made->created + START_WAIT;
    }
    return made;
}

void rendezvous_destroy(struct rendezvous *rendezvous)
{
    if (rendezvous != NULL) {
        reachable_stop(&rendezvous->probe);
        ck_fd_close(rendezvous->embedded.ready);
        free(rendezvous);
    }
}

bool rendezvous_is_hopeless(const struct rendezvous *rendezvous)
{
    return rendezvous->is_hopeless || rendezvous->failures >= STARTS_MAX;
}

void rendezvous_abstain(struct rendezvous *rendezvous)
{
    rendezvous->start_at = 0;
}

void rendezvous_wake(struct rendezvous *rendezvous)
{
    if (rendezvous->has_place) {
        embedded_wake(&rendezvous->embedded, &rendezvous->place);
    }
}

bool rendezvous_leads(const struct rendezvous *rendezvous)
{
    return rendezvous->is_ready && rendezvous->is_one_host &&
           !rendezvous->is_restart &&
           rendezvous->config->identity->place.rank != 0;
}

bool rendezvous_has_restarted(struct rendezvous *rendezvous)
{
    bool has = rendezvous->has_restarted;

    rendezvous->has_restarted = false;
    return has;
}

bool rendezvous_has_pages(struct rendezvous *rendezvous,
                          const char **url,
                          const char **why)
{
    bool has = rendezvous->has_pages;

    rendezvous->has_pages = false;
    *url = rendezvous->embedded.pages;
    *why = rendezvous->embedded.nopages;
    return has;
}

/* NULL = this rank is not recorded. */
static struct ck_ring_header *header_of(const struct rendezvous *rendezvous)
{
    const struct ringfile *ring = rendezvous->config->ring;

    return ring == NULL ? NULL : ring->header;
}

/* Hand our ckagg's endpoint on: to ckmpi, and to who shares the directory. */
static void publish(struct rendezvous *rendezvous, const char *text)
{
    struct ck_ring_header *header = header_of(rendezvous);

    if (header != NULL && strlen(text) < sizeof(header->publish)) {
        strcpy(header->publish, text);
        /* release: pairs with the acquire in ckmpi */
        atomic_store_explicit(&header->is_published, 1, memory_order_release);
    }
    if (!rendezvous->is_one_host) {
        (void)ck_run_replace(rendezvous->config->dir, ENDPOINT_FILE, text,
                             strlen(text), NULL);
    }
}

/* Start ckagg when it is time. 0, or -1 with err. */
static int start_step(struct rendezvous *rendezvous,
                      ck_time_t now,
                      bool is_heard,
                      struct ck_err *err)
{
    int rc;

    if (rendezvous->start_at == 0 || now < rendezvous->start_at ||
        rendezvous->starts >= STARTS_MAX || rendezvous->is_hopeless) {
        return 0;
    }
    rendezvous->start_at = now + START_AGAIN;
    if (is_heard || rendezvous->embedded.ready >= 0) {
        return 0;
    }
    rc = embedded_start(&rendezvous->embedded, rendezvous->config,
                        &rendezvous->place, err);
    rendezvous->starts += rc != 0;
    if (rc == 0) {
        rendezvous->start_at = now + LOOK_AGAIN; /* when it has ended */
    }
    rendezvous->is_hopeless |= rc < 0;
    rendezvous->is_restart = rc > 0 && rendezvous->was_heard;
    rendezvous->is_ready = false;
    return rc < 0 ? -1 : 0;
}

/* 0, or -1 with err: the ckagg that we started ended at once. */
static int ready_step(struct rendezvous *rendezvous, struct ck_err *err)
{
    char text[CK_ENDPOINT_TEXT_BYTES];
    struct ck_err why;
    int rc = embedded_ready(&rendezvous->embedded, text, &why);

    if (rc == 1) {
        rendezvous->is_ready = true;
        /* Who was greeted so far did not answer: it was there for an earlier
         * job. */
        rendezvous->is_found &= rendezvous->was_heard;
        rendezvous->has_restarted = rendezvous->is_restart;
        rendezvous->has_pages = rendezvous->config->http != NULL;
        publish(rendezvous, text);
    }
    if (rc >= 0 || rendezvous->is_ready) {
        return 0;
    }
    rendezvous->failures++;
    if (why.text[0] != '\0') {
        rendezvous->is_hopeless = true;
        return ck_err_set(err, "ckagg could not start: %s", why.text);
    }
    return ck_err_set(err,
                      "ckagg exited during startup with no output (see "
                      "ckagg.log in %s)",
                      rendezvous->config->dir);
}

/* A text from elsewhere: take it as the candidate and try its addresses. */
static int
candidate_take(struct rendezvous *rendezvous, const char *text, ck_time_t now)
{
    struct ck_endpoint endpoint;
    struct ck_endpoint remote;

    if (ck_endpoint_parse(text, &endpoint, NULL) != 0) {
        return -1;
    }
    remote = endpoint;
    remote.count = 0;
    for (size_t i = 0; i < endpoint.count; i++) {
        const char *url = endpoint.urls[i];

        /* Sockets and loopback of another host are not ours. */
        if (ck_endpoint_is_tcp(url) && !ck_endpoint_is_loopback(url)) {
            memcpy(remote.urls[remote.count++], url, sizeof(remote.urls[0]));
        }
    }
    if (remote.count == 0) {
        return -1;
    }
    rendezvous->candidate = remote;
    return reachable_start(&rendezvous->probe, &rendezvous->candidate, now) > 0
               ? 0
               : -1;
}

/* An endpoint file in a run directory that the user gave; only ours counts. */
static bool file_read(const char *dir, char text[CK_ENDPOINT_TEXT_BYTES])
{
    char path[PATH_MAX];
    struct stat st;
    ssize_t n = -1;
    int fd;

    if (snprintf(path, sizeof(path), "%s/" ENDPOINT_FILE, dir) >=
        (int)sizeof(path)) {
        return false;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        (st.st_mode & 022) == 0) {
        n = read(fd, text, CK_ENDPOINT_TEXT_BYTES - 1);
    }
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The start of the run is in its directory's name, and hosts do not see it at
 * the same second: so rank 0's directory is looked for, seldom and seldomer. */
static void nearby_look(struct rendezvous *rendezvous, ck_time_t now)
{
    const struct identity *identity = rendezvous->config->identity;
    char text[CK_ENDPOINT_TEXT_BYTES];
    char found[PATH_MAX];

    if (now < rendezvous->nearby_at) {
        return;
    }
    rendezvous->nearby_pause = rendezvous->nearby_pause == 0
                                   ? NEARBY_AGAIN
                                   : rendezvous->nearby_pause * 5 / 4;
    if (rendezvous->nearby_pause > NEARBY_LONGEST) {
        rendezvous->nearby_pause = NEARBY_LONGEST;
    }
    rendezvous->nearby_at = now + rendezvous->nearby_pause;
    if (nearby_find(rendezvous->config->dir, identity->job_key,
                    identity->launcher_start, found) &&
        file_read(found, text)) {
        (void)candidate_take(rendezvous, text, now);
    }
}

/* Several hosts: look where an endpoint may have shown up. */
static void remote_look(struct rendezvous *rendezvous, ck_time_t now)
{
    struct ck_ring_header *header = header_of(rendezvous);
    char text[CK_ENDPOINT_TEXT_BYTES];

    if (now < rendezvous->look_at) {
        return;
    }
    rendezvous->look_at = now + LOOK_AGAIN;
    /* acquire: pairs with ckmpi's release after the text */
    if (header != NULL &&
        atomic_load_explicit(&header->is_found, memory_order_acquire) != 0) {
        memcpy(text, header->found, sizeof(header->found));
        text[sizeof(header->found) - 1] = '\0';
        if (candidate_take(rendezvous, text, now) == 0) {
            return;
        }
    }
    if (rendezvous->config->is_dir_given) {
        if (file_read(rendezvous->config->dir, text)) {
            (void)candidate_take(rendezvous, text, now);
        }
    } else {
        nearby_look(rendezvous, now);
    }
}

/* The given endpoint: a single URL is used as it is, else the first one that
 * answers. */
static int given_step(struct rendezvous *rendezvous, ck_time_t now)
{
    if (rendezvous->candidate.count == 1 ||
        !ck_endpoint_is_tcp(rendezvous->candidate.urls[0]) ||
        reachable_start(&rendezvous->probe, &rendezvous->candidate, now) == 0) {
        return 0;
    }
    return -1;
}

static int hand_out(struct rendezvous *rendezvous,
                    size_t at,
                    struct ck_endpoint *endpoint,
                    size_t *url)
{
    rendezvous->is_found = true;
    *endpoint = rendezvous->candidate;
    *url = at;
    return 1;
}

/* Does the socket belong to an earlier job that met at the same address? Its
 * ckagg removes it soon, and then we start ours. */
static bool is_earlier(const struct rendezvous *rendezvous)
{
    const struct identity *identity = rendezvous->config->identity;
    struct ck_begin begin;

    return identity->is_name_reused &&
           embedded_begin(&rendezvous->place, &begin) &&
           identity->launcher_boottime > 0 &&
           strcmp(begin.boot_id, identity->domain.boot_id) == 0 &&
           begin.boottime < identity->launcher_boottime - EARLIER;
}

static int find_step(struct rendezvous *rendezvous,
                     ck_time_t now,
                     struct ck_endpoint *endpoint,
                     size_t *url)
{
    if (rendezvous->probe.is_running) {
        int at = reachable_step(&rendezvous->probe, now);

        return at >= 0 ? hand_out(rendezvous, (size_t)at, endpoint, url) : 0;
    }
    if (rendezvous->config->aggregator != NULL) {
        if (now >= rendezvous->look_at && given_step(rendezvous, now) == 0) {
            return hand_out(rendezvous, 0, endpoint, url);
        }
        rendezvous->look_at = now + START_AGAIN;
        return 0;
    }
    if (rendezvous->embedded.ready >= 0 && !rendezvous->is_ready) {
        return 0; /* a socket that is not there yet is tried late again */
    }
    if (is_earlier(rendezvous)) {
        return 0;
    }
    if (rendezvous->is_local ||
        access(rendezvous->place.socket, R_OK | W_OK) == 0) {
        memset(&rendezvous->candidate, 0, sizeof(rendezvous->candidate));
        (void)snprintf(rendezvous->candidate.urls[0],
                       sizeof(rendezvous->candidate.urls[0]), "ipc://%s",
                       rendezvous->place.socket);
        rendezvous->candidate.count = 1;
        return hand_out(rendezvous, 0, endpoint, url);
    }
    remote_look(rendezvous, now);
    return 0;
}

int rendezvous_step(struct rendezvous *rendezvous,
                    ck_time_t now,
                    bool is_heard,
                    struct ck_endpoint *endpoint,
                    size_t *url,
                    struct ck_err *err)
{
    rendezvous->was_heard |= is_heard;
    if (rendezvous->why.text[0] != '\0') {
        return ck_err_set(err, "%s", rendezvous->why.text);
    }
    if (!rendezvous->is_move_told && rendezvous->place.moved.text[0] != '\0' &&
        rendezvous->config->identity->place.rank == 0) {
        rendezvous->is_move_told = true;
        return ck_err_set(err, "%s", rendezvous->place.moved.text);
    }
    if (ready_step(rendezvous, err) != 0) {
        return -1;
    }
    if (start_step(rendezvous, now, is_heard, err) != 0) {
        return -1;
    }
    if (rendezvous->is_found) {
        return 0;
    }
    return find_step(rendezvous, now, endpoint, url);
}

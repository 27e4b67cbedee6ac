/* collector.c - the process that drains, ships and spools
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One loop, one thread:
 *
 *   RUNNING -> the target has ended: last records -> LEAVING (goodbye, wait for
 *   the farewell; or everything to the spool) -> REPORT (rank 0) -> DONE
 */
#include "agent/collector/collector.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock/clockprobe.h"
#include "agent/clock/clocksync.h"
#include "agent/clock/counterscale.h"
#include "agent/collector/account.h"
#include "agent/collector/drain.h"
#include "agent/collector/usermessages.h"
#include "agent/collector/targetstate.h"
#include "agent/collector/periodic.h"
#include "agent/collector/pace.h"
#include "agent/collector/processes.h"
#include "agent/collector/reportout.h"
#include "agent/collector/resident.h"
#include "agent/collector/sendpolicy.h"
#include "agent/collector/standwatch.h"
#include "agent/link/claim.h"
#include "agent/link/rendezvous.h"
#include "agent/link/session.h"
#include "agent/perf/sampler.h"
#include "agent/process/detach.h"
#include "agent/process/frontpipe.h"
#include "agent/ring/slotpool.h"
#include "agent/stream/framewriter.h"
#include "agent/stream/selfstream.h"
#include "agent/stream/spool.h"
#include "agent/symbols/symbols.h"
#include "launch/log.h"
#include "schema/store/run.h"

#define DEAD_PAUSE (250 * CK_TIME_MS)
#define DEAD_PAUSE_FEW (20 * CK_TIME_MS) /* while slots are few */
#define SYMBOLS_LIMIT (2 * CK_TIME_S)
/* So long a target that could not be run waits for an aggregator that other
 * ranks start. */
#define NEVER_LIMIT (3 * CK_TIME_S)
/* So long the end waits for room on the aggregator's disk, and for an answer
 * when all is in the spool. */
#define FULL_LIMIT (1 * CK_TIME_S)
#define FAREWELL_LIMIT (2 * CK_TIME_S)
#define HEARD_LATELY (2500 * CK_TIME_MS)
/* So long it looks often for an aggregator that is about to be there. */
#define YOUNG CK_TIME_S
/* Between two turns while there is no session. */
#define MEET_PERIOD (32 * CK_TIME_MS)

enum phase {
    PHASE_RUNNING,
    PHASE_LEAVING,
    PHASE_REPORT,
    PHASE_DONE,
};

struct collector {
    const struct agent_config *config; /* borrowed */
    struct framewriter framewriter;
    struct spool *spool;
    struct selfstream *selfstream;
    struct clocksync sync;
    struct counterscale counterscale;
    struct drain *drain;
    struct symbols *symbols;
    struct processes processes;
    struct standwatch *standwatch;
    struct resident *resident;
    struct clockprobe *clock;
    struct session *session;
    struct rendezvous *rendezvous;
    struct account account;
    struct periodic periodic;
    enum phase phase;
    struct usermessages usermessages;
    struct targetstate targetstate;
    struct reportout out;
    struct detach_cpus home;
    struct sendpolicy sendpolicy;
    bool has_word;     /* of the front, from poll */
    bool is_spooled;   /* what found no other room */
    bool was_hopeless; /* when all was stored by another's ckagg */
    ck_time_t phase_at;
    ck_time_t second_at;
    ck_time_t open_at;
    struct slotpool slotpool;
    ck_time_t dead_at;
    uint32_t images; /* header->incarnations at the last look for the dead */
};

/* The parts that only look at others. */
static void parts_join(struct collector *collector)
{
    collector->processes = (struct processes){
        .ring = collector->config->ring,
        .sampler = collector->config->sampler,
        .header = collector->config->ring->header,
        .slots = collector->config->ring->plan.slots,
        .selfstream = collector->selfstream,
        .symbols = collector->symbols,
        .env = collector->config->env,
        .is_told = collector->config->sampler != NULL,
        .pid_space = ck_ring_pid_space(),
    };
    collector->periodic = (struct periodic){
        .config = collector->config,
        .selfstream = collector->selfstream,
        .symbols = collector->symbols,
        .sync = &collector->sync,
        .processes = &collector->processes,
        .drain = collector->drain,
        .targetstate = &collector->targetstate,
    };
    collector->account = (struct account){
        .config = collector->config,
        .framewriter = &collector->framewriter,
        .spool = collector->spool,
        .drain = collector->drain,
        .processes = &collector->processes,
        .selfstream = collector->selfstream,
        .clock = collector->clock,
        .targetstate = &collector->targetstate,
        .alive = ringfile_alive(collector->config->ring),
    };
    collector->usermessages = (struct usermessages){
        .config = collector->config,
        .spool = collector->spool,
        .selfstream = collector->selfstream,
        .is_held = collector->config->is_strict && !collector->config->is_begun,
        .aggregatortimeout = {.started = ck_time_raw(),
                              .is_given =
                                  collector->config->aggregator != NULL},
    };
}

static int collector_open(struct collector *collector,
                          const struct agent_config *config,
                          struct ck_err *err)
{
    struct ringfile *ring = config->ring;

    collector->config = config;
    collector->spool =
        spool_create(config->dir, config->fallback, config->identity->agent,
                     config->spool_limit);
    if (collector->spool == NULL ||
        framewriter_init(&collector->framewriter, ring->outbox,
                         ring->plan.outbox_bytes, collector->spool,
                         config->identity->agent) != 0) {
        return ck_err_set(err, "cannot use the outbox: %s", strerror(errno));
    }
    collector->framewriter.pack = config->pack;
    clocksync_init(&collector->sync, ring->clock);
    counterscale_init(&collector->counterscale, ring->header,
                      config->is_counted ? config->target : 0);
    collector->selfstream = selfstream_create(&collector->framewriter,
                                              ring->clock, (uint32_t)getpid());
    collector->symbols = symbols_create();
    collector->clock =
        collector->selfstream == NULL
            ? NULL
            : clockprobe_create(config->identity, collector->selfstream);
    if (collector->clock != NULL) {
        collector->session =
            session_create(config->identity, &collector->framewriter,
                           clockprobe_key(collector->clock));
    }
    if (collector->session == NULL) {
        return ck_err_set(err, "out of memory");
    }
    collector->drain =
        drain_create(ring, &collector->framewriter, collector->selfstream,
                     &collector->sync, config->limit);
    if (collector->drain == NULL) {
        return ck_err_set(err, "out of memory");
    }
    drain_symbols(collector->drain, collector->symbols);
    parts_join(collector);
    collector->standwatch =
        standwatch_create(&collector->processes, collector->selfstream,
                          config->sampler, collector->symbols);
    collector->resident = resident_create(ring->header, collector->selfstream);
    if (collector->standwatch == NULL || collector->resident == NULL) {
        return ck_err_set(err, "out of memory");
    }
    collector->rendezvous = rendezvous_create(config, err);
    return collector->rendezvous == NULL ? -1 : 0;
}

static void collector_close(struct collector *collector)
{
    targetstate_fini(&collector->targetstate);
    rendezvous_destroy(collector->rendezvous);
    session_destroy(collector->session);
    clockprobe_destroy(collector->clock);
    counterscale_fini(&collector->counterscale);
    drain_destroy(collector->drain);
    standwatch_destroy(collector->standwatch);
    resident_destroy(collector->resident);
    symbols_destroy(collector->symbols);
    selfstream_destroy(collector->selfstream);
    framewriter_fini(&collector->framewriter);
    spool_destroy(collector->spool);
}

static bool is_heard(const struct collector *collector, ck_time_t now)
{
    ck_time_t heard = session_heard(collector->session);

    return heard != 0 && now - heard < HEARD_LATELY;
}

/* Find or start the aggregator. */
static void meet(struct collector *collector, ck_time_t now)
{
    struct ck_endpoint endpoint;
    struct ck_err err;
    const char *shown, *why;
    size_t url;
    /* While it makes the report, its lock shows whether it lives. */
    bool is_there =
        collector->phase != PHASE_REPORT && is_heard(collector, now);
    int rc = rendezvous_step(collector->rendezvous, now, is_there, &endpoint,
                             &url, &err);

    if (rc == 1) {
        strcpy(collector->usermessages.url, endpoint.urls[url]);
        rc = session_open(collector->session, &endpoint, url, &err);
        if (rc == 0 && ck_endpoint_is_tcp(endpoint.urls[url]) &&
            !collector->config->is_pack_given) {
            /* A wire between hosts is worth some compression. */
            collector->framewriter.pack = CK_PACK_LZ4;
        }
    }
    usermessages_lead(&collector->usermessages,
                      rendezvous_leads(collector->rendezvous));
    if (rendezvous_has_pages(collector->rendezvous, &shown, &why)) {
        usermessages_pages(&collector->usermessages, shown, why);
    }
    if (rendezvous_has_restarted(collector->rendezvous)) {
        selfstream_note(
            collector->selfstream,
            "the aggregator ended in the middle of the job; rank %d "
            "started another one",
            collector->config->identity->place.rank);
        (void)selfstream_flush(
            collector->selfstream); /* at the end no other call does */
    }
    if (rc < 0 && rendezvous_is_hopeless(collector->rendezvous)) {
        usermessages_hopeless(&collector->usermessages, err.text);
    } else if (rc < 0) {
        usermessages_trouble(&collector->usermessages, &err);
    }
}

/* Processes that end leave slots behind; where some begin, some have ended. */
static void dead_step(struct collector *collector, ck_time_t now)
{
    uint32_t images =
        atomic_load(&collector->config->ring->header->incarnations);

    if (now < collector->dead_at && images == collector->images) {
        return;
    }
    collector->images = images;
    drain_find_dead(collector->drain, false);
    collector->dead_at =
        now + (processes_give_back(&collector->processes) ? DEAD_PAUSE_FEW
                                                          : DEAD_PAUSE);
}

/* Everything that has its own, slower pace. True when a beat is due. */
static bool paced_work(struct collector *collector, ck_time_t now)
{
    ck_time_t oldest = selfstream_oldest(collector->selfstream);

    if (now >= collector->open_at) {
        collector->open_at = now + 10 * CK_TIME_MS;
        counterscale_step(&collector->counterscale, now);
        drain_open_calls(collector->drain, now, false);
        processes_step(&collector->processes);
        processes_ends(&collector->processes);
        targetstate_follow(&collector->targetstate, now);
        periodic_samples(&collector->periodic);
        resident_step(collector->resident, now);
    }
    if (oldest != 0 &&
        (collector->targetstate.is_flush || now - oldest >= 100 * CK_TIME_MS)) {
        (void)selfstream_flush(collector->selfstream);
    }
    if (!collector->framewriter.is_settled) {
        framewriter_settle(&collector->framewriter,
                           session_dir(collector->session));
    }
    if (now < collector->second_at) {
        return false;
    }
    collector->second_at = pace_until(now, SENDPOLICY_BEAT);
    detach_home(&collector->home);
    periodic_facts(&collector->periodic);
    standwatch_step(collector->standwatch, now);
    framewriter_settle(&collector->framewriter,
                       session_dir(collector->session));
    return true;
}

/* The target has ended: empty the slots, record the rest. */
static void last_words(struct collector *collector, ck_time_t now)
{
    char text[256];

    drain_check(collector->drain);
    atomic_store(&collector->config->ring->header->is_off, 1);
    processes_step(&collector->processes);
    (void)drain_step(collector->drain, now, true);
    drain_find_dead(collector->drain, true);
    (void)drain_step(collector->drain, now, true);
    if (!drain_is_empty(collector->drain)) {
        (void)framewriter_spool_all(&collector->framewriter);
        ringfile_reopen(collector->config->ring);
        drain_find_dead(collector->drain, true);
        (void)drain_step(collector->drain, now, true);
        drain_give_up(collector->drain);
    }
    periodic_samples(&collector->periodic);
    periodic_facts(&collector->periodic);
    sampler_notes(collector->config->sampler, collector->selfstream);
    standwatch_notes(collector->standwatch);
    if (collector->symbols != NULL) {
        (void)symbols_finish(collector->symbols, collector->selfstream,
                             SYMBOLS_LIMIT);
    }
    clockprobe_finish(collector->clock);
    /* So short a job that the aggregator was not met: its clock is first. */
    session_hold(collector->session, clockprobe_is_alone(collector->clock));
    account_notes(&collector->account);
    /* The EXIT record counts these, too. */
    (void)selfstream_flush(collector->selfstream);
    account_exit(&collector->account);
    (void)selfstream_flush(collector->selfstream);
    account_goodbye(&collector->account, text, sizeof(text));
    session_leave(collector->session, text);
    collector->phase = PHASE_LEAVING;
    collector->phase_at = ck_time_raw();
}

/* No aggregator fetches the frames: keep them on disk, log where. An aggregator
 * that answers, but has no room, gets the place. */
static void spool_rest(struct collector *collector)
{
    char text[SESSION_GOODBYE_BYTES];

    drain_add_lost(collector->drain,
                   framewriter_spool_rest(&collector->framewriter));
    usermessages_spooled(&collector->usermessages,
                         session_full(collector->session));
    if (selfstream_flush(collector->selfstream) != 0) {
        selfstream_drop(collector->selfstream);
    }
    drain_add_lost(collector->drain, selfstream_lost(collector->selfstream));
    spool_last(collector->spool);
    drain_losses(collector->drain);
    (void)selfstream_flush(collector->selfstream);
    drain_add_lost(collector->drain,
                   framewriter_spool_rest(&collector->framewriter));
    if (drain_lost(collector->drain) > 0) {
        int error = spool_error(collector->spool);

        (void)snprintf(text, sizeof(text),
                       "%llu records were lost: no aggregator, and %s%s",
                       (unsigned long long)drain_lost(collector->drain),
                       error != 0 ? "the spool cannot be written: "
                                  : "the spool is bounded (--spool-limit)",
                       error != 0 ? strerror(error) : "");
        usermessages_warn(&collector->usermessages, text);
    }
    rendezvous_wake(collector->rendezvous);
    /* The spool names the job. */
    claim_release(collector->config->claim, collector->config->dir);
    collector->phase = PHASE_DONE;
    if (session_full(collector->session)[0] != '\0') {
        account_goodbye(&collector->account, text, sizeof(text));
        session_leave_rest(collector->session, text);
        collector->phase = PHASE_LEAVING;
        collector->phase_at = ck_time_raw();
        collector->is_spooled = true;
    }
}

/* The aggregator has what it had room for, and perhaps a note of the rest. */
static void kept_tell(struct collector *collector)
{
    bool is_noted = session_is_noted(collector->session);

    usermessages_kept(&collector->usermessages,
                      session_full(collector->session),
                      is_noted ? session_dir(collector->session) : NULL);
}

/* Everything is stored or kept: log where, wait for the report. */
static void left_step(struct collector *collector, ck_time_t now)
{
    const char *dir = session_dir(collector->session);

    /* The manifest names the job. */
    claim_release(collector->config->claim, collector->config->dir);
    if (collector->is_spooled) {
        kept_tell(collector);
    } else {
        (void)frontpipe_send(collector->config->channel, FRONTPIPE_PLACE, dir,
                             strlen(dir));
    }
    collector->phase = PHASE_DONE;
    collector->was_hopeless = collector->usermessages.is_hopeless;
    collector->usermessages.is_last = session_is_last(collector->session);
    if (usermessages_patience(&collector->usermessages) > 0 &&
        !collector->targetstate.is_never) {
        collector->phase = PHASE_REPORT;
        collector->phase_at = now;
        session_ask_report(collector->session);
    }
}

static void leaving_step(struct collector *collector, ck_time_t now)
{
    ck_time_t heard = session_heard(collector->session);
    ck_time_t until = session_full(collector->session)[0] != '\0'
                          ? collector->phase_at + FULL_LIMIT
                          : aggregatortimeout_until(
                                &collector->usermessages.aggregatortimeout,
                                heard, collector->phase_at);

    if (session_state(collector->session) == SESSION_LEFT) {
        left_step(collector, now);
    } else if (collector->targetstate.is_never) {
        /* Nothing was recorded: without an aggregator there is no trace. */
        if (now - collector->phase_at > NEVER_LIMIT) {
            collector->phase = PHASE_DONE;
        }
    } else if (collector->is_spooled) {
        if (now - collector->phase_at > FAREWELL_LIMIT) {
            kept_tell(collector);
            collector->phase = PHASE_DONE;
        }
    } else if (collector->usermessages.is_hopeless || now > until) {
        spool_rest(collector);
    } else {
        usermessages_wait(&collector->usermessages, collector->phase_at, now,
                          until);
    }
}

static void report_step(struct collector *collector, ck_time_t now)
{
    size_t length;
    const char *report = session_report(collector->session, &length);

    if (report != NULL) {
        if (usermessages_reports(&collector->usermessages)) {
            reportout_show(&collector->out, report, length);
        }
        collector->phase = PHASE_DONE;
    } else if (now - collector->phase_at >
                   usermessages_patience(&collector->usermessages) ||
               collector->usermessages.is_hopeless != collector->was_hopeless ||
               session_state(collector->session) == SESSION_REFUSED) {
        collector->phase = PHASE_DONE;
    }
}

/* Did a WELCOME name the clock that is the reference? */
static void clock_hear(struct collector *collector)
{
    if (!clockprobe_hear(collector->clock, collector->session) ||
        collector->phase > PHASE_LEAVING) {
        return;
    }
    if (collector->phase != PHASE_RUNNING) {
        clockprobe_finish(collector->clock);
    }
    account_identity(&collector->account);
    (void)selfstream_flush(collector->selfstream);
    session_hold(collector->session, false);
}

/* The target could not be run: nothing of it will come. A rank that is alone
 * reports to none; in a job the others learn its status, if they have an
 * aggregator. */
static void never_take(struct collector *collector)
{
    const struct identity_place *place = &collector->config->identity->place;

    rendezvous_abstain(collector->rendezvous);
    if (place->size <= 1 || collector->config->is_strict) {
        collector->phase = PHASE_DONE;
    }
}

/* The front was killed: what it logs at the end is logged here. */
static void front_missed(const struct collector *collector)
{
    const struct agent_config *config = collector->config;
    const struct targetstate *targetstate = &collector->targetstate;
    const char *dir = session_dir(collector->session);

    if (dir[0] == '\0' && config->aggregator == NULL) {
        dir = config->dir;
    }
    if (targetstate->is_begun && !targetstate->is_end_known &&
        targetstate->signal == 0 && dir[0] != '\0') {
        reportout_promise(&collector->out, dir);
    }
}

static void life_take(struct collector *collector)
{
    bool had_front = !collector->targetstate.is_front_gone;

    targetstate_step(&collector->targetstate);
    if (had_front && collector->targetstate.is_front_gone) {
        front_missed(collector);
    }
    if (collector->targetstate.is_begun) {
        collector->usermessages.is_held = false;
    }
    if (collector->targetstate.is_never && collector->phase == PHASE_RUNNING) {
        never_take(collector);
    }
}

static struct sendpolicy_look sendpolicy_look(struct collector *collector)
{
    return (struct sendpolicy_look){
        .state = session_state(collector->session),
        .outbox = &collector->framewriter.outbox,
        .is_urgent = collector->phase != PHASE_RUNNING ||
                     collector->targetstate.is_flush ||
                     session_is_asked(collector->session) ||
                     !spool_is_empty(collector->spool),
    };
}

/* How soon samples want to be taken, 0 = with the turn. */
static ck_time_t samples_haste(const struct collector *collector, ck_time_t now)
{
    return collector->phase == PHASE_RUNNING
               ? sampler_haste(collector->config->sampler, now)
               : 0;
}

static bool samples_are_many(const struct collector *collector)
{
    return collector->phase == PHASE_RUNNING &&
           sampler_is_filling(collector->config->sampler);
}

/* Sleep until the next turn, until a slot wants one, or until a message comes;
 * clock probes are handled meanwhile. */
static void turn_wait(struct collector *collector, ck_time_t period)
{
    ck_time_t now = ck_time_raw();
    ck_time_t until = pace_until(now, period);
    struct pollfd items[5] = {
        {.fd = collector->targetstate.is_front_gone
                   ? -1
                   : collector->config->channel,
         .events = POLLIN},
        {.fd = session_fd(collector->session), .events = POLLIN},
        {.fd = collector->phase == PHASE_RUNNING
                   ? sampler_filled_fd(collector->config->sampler)
                   : -1,
         .events = POLLIN},
    };

    do {
        ck_time_t due = clockprobe_due(collector->clock);
        ck_time_t glance = pace_until(now, drain_look(collector->drain));
        ck_time_t next = glance < until ? glance : until;
        ck_time_t haste = samples_haste(collector, now);
        ck_time_t wake = due < next ? due : next;
        struct timespec limit = {0};

        wake = haste > 0 && wake > now + haste ? now + haste : wake;
        limit.tv_nsec = wake > now ? wake - now : 0;
        clockprobe_poll(collector->clock, wake, &items[3]);
        (void)ppoll(items, 5, &limit, NULL);
        now = ck_time_raw();
        account_alive(&collector->account, now);
        clockprobe_step(collector->clock, now, &items[3]);
        if (items[2].revents != 0 || haste > 0 || samples_are_many(collector)) {
            periodic_samples(&collector->periodic);
        }
        if (now >= glance && drain_glance(collector->drain)) {
            until = now;
        }
        collector->has_word = items[0].revents != 0;
        collector->sendpolicy.has_mail = items[1].revents != 0;
    } while (!collector->has_word && !collector->sendpolicy.has_mail &&
             now < until);
}

/* The aggregator asks where all ranks are: all that is known now is sent. */
static void where_answer(struct collector *collector, ck_time_t now)
{
    (void)drain_step(collector->drain, now, true);
    drain_open_again(collector->drain, now);
    processes_step(&collector->processes);
    periodic_samples(&collector->periodic);
    processes_maps(&collector->processes, now);
    standwatch_look(collector->standwatch);
    (void)selfstream_flush(collector->selfstream);
    session_looked(collector->session);
}

/* True when a beat is due. */
static bool running_step(struct collector *collector, ck_time_t now)
{
    bool is_beat;

    (void)drain_step(collector->drain, now, collector->targetstate.is_flush);
    dead_step(collector, now);
    if (slotpool_step(&collector->slotpool, collector->processes.told) &&
        collector->dead_at > now + DEAD_PAUSE_FEW) {
        collector->dead_at = now + DEAD_PAUSE_FEW;
    }
    is_beat = paced_work(collector, now);
    if (targetstate_is_over(&collector->targetstate)) {
        last_words(collector, now);
    }
    return is_beat;
}

/* We were stopped ourselves: that time does not count as silence of others. */
static void away_take(struct collector *collector, ck_time_t now)
{
    ck_time_t away =
        aggregatortimeout_away(&collector->usermessages.aggregatortimeout, now);

    collector->phase_at += away;
    session_forgive(collector->session, away);
    account_alive(&collector->account, now);
}

/* How long turn_wait() may sleep if no slot wants a turn before. */
static ck_time_t turn_period(struct collector *collector, ck_time_t now)
{
    ck_time_t period = PACE_STEP;

    if (collector->phase == PHASE_RUNNING &&
        !collector->targetstate.is_front_gone) {
        period = drain_relieve(collector->drain);
    }
    if (period > MEET_PERIOD &&
        session_state(collector->session) != SESSION_SENDING) {
        period = now - collector->phase_at < YOUNG ? PACE_STEP : MEET_PERIOD;
    }
    return period;
}

/* One turn. Time until the next. */
static ck_time_t turn(struct collector *collector)
{
    struct sendpolicy_look look;
    ck_time_t now = ck_time_raw();
    char beat[512];
    bool is_beat = false;

    away_take(collector, now);
    if (collector->has_word) {
        life_take(collector);
    }
    if (collector->phase == PHASE_RUNNING) {
        is_beat = running_step(collector, now);
    } else if (now >= collector->second_at) {
        collector->second_at = now + CK_TIME_S;
        is_beat = true;
    }
    look = sendpolicy_look(collector);
    if (collector->targetstate.is_meeting &&
        (sendpolicy_is_due(&collector->sendpolicy, &look, now) || is_beat)) {
        meet(collector, now);
        if (is_beat) {
            account_beat(&collector->account, beat, sizeof(beat));
        }
        session_step(collector->session, now, is_beat ? beat : NULL);
        clock_hear(collector);
        if (session_asked(collector->session)) {
            if (collector->phase == PHASE_RUNNING) {
                where_answer(collector, now);
            } else {
                session_looked(collector->session);
            }
            session_step(collector->session, ck_time_raw(), NULL);
        }
        usermessages_hear(&collector->usermessages, collector->session);
        if (collector->phase == PHASE_RUNNING) {
            usermessages_look(&collector->usermessages,
                              session_heard(collector->session), now);
        }
    }
    if (collector->phase == PHASE_LEAVING) {
        leaving_step(collector, now);
    } else if (collector->phase == PHASE_REPORT) {
        report_step(collector, now);
    }
    return turn_period(collector, now);
}

int collector_run(const struct agent_config *config)
{
    struct collector collector = {.phase = PHASE_RUNNING};
    struct ck_err err;

    collector.out = (struct reportout){
        .targetstate = &collector.targetstate,
        .stderr_fd = detach_stderr(config->identity, config->is_reporter),
        .launcher = config->identity->launcher_pid,
    };
    detach_go(config->is_verbose, &collector.home);
    sampler_begin(config->sampler);
    (void)frontpipe_send(config->channel, FRONTPIPE_WATCHES, NULL, 0);
    targetstate_init(&collector.targetstate, config->channel, config->target,
                     config->is_begun);
    if (collector_open(&collector, config, &err) != 0) {
        (void)frontpipe_send(config->channel, FRONTPIPE_WARN, err.text,
                             strlen(err.text));
        collector_close(&collector);
        return 1;
    }
    config->ring->header->owner_pid = (uint32_t)getpid();
    ringfile_look(config->ring);
    slotpool_init(&collector.slotpool, config->ring);
    account_begin(&collector.account);
    periodic_facts(&collector.periodic);
    collector.phase_at = ck_time_raw();
    collector.second_at = pace_until(collector.phase_at, SENDPOLICY_BEAT);
    while (collector.phase != PHASE_DONE) {
        turn_wait(&collector, turn(&collector));
    }
    ringfile_unlink(config->ring);
    (void)frontpipe_send(config->channel, FRONTPIPE_DONE, NULL, 0);
    collector_close(&collector);
    return 0;
}

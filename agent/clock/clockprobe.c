/* clockprobe.c - measures this clock domain against the aggregator's clock
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   ALONE -> (WELCOME) -> WAITING: another agent leads -> LEADING
 *                      -> SILENT: it does not answer probes
 *                      -> SAME: nor need it, its clock has our clock's name
 *
 * A clock that has our clock's name is probed too, though seldom: machines may
 * be clones. Once an exchange shows that it is another one, it is a stranger's.
 *
 * A leader goes down the ladder of ways (UDP, TCP, ZeroMQ) when a way's first
 * burst brings nothing, or three in a row later, and begins at the top again
 * after LADDER_AGAIN.
 */
#include "agent/clock/clockprobe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock/clockexchange.h"
#include "agent/clock/clocklead.h"
#include "agent/link/session.h"
#include "schema/clock/probe.h"
#include "schema/fd.h"
#include "schema/store/run.h"

/* After the last probe of a burst, how long its answers are waited for: in
 * the first burst, and as a multiple of the shortest round trip later. */
#define ANSWER_FIRST (500 * CK_TIME_MS)
#define ANSWER_TRIPS 8
#define ANSWER_MIN (200 * CK_TIME_MS)
/* The first bursts come each second, later ones when the bound has grown by
 * half of what one burst gives, at a drift of 1 ppm about the trend. */
#define DENSE (10 * CK_TIME_S)
#define PERIOD_MIN (1 * CK_TIME_S)
#define PERIOD_MAX (10 * CK_TIME_S)
/* A clock of our clock's name is only looked after. */
#define PERIOD_SAME (10 * CK_TIME_S)
#define BOUND_PERIOD 500000 /* 1 / (2 * 1 ppm) */
#define SILENT_MAX 3
#define LADDER_AGAIN (10 * CK_TIME_S)
#define LEAD_AGAIN (2 * CK_TIME_S)
/* Jobs of so many ranks spread their first bursts over a second. */
#define CROWD 64
/* A collector that did not run for so long: the machine may have slept. */
#define STANDSTILL (50 * CK_TIME_MS)
/* On a machine with too few cores that is seen often. */
#define HURRY_AGAIN (250 * CK_TIME_MS)

enum state {
    STATE_ALONE,
    STATE_SAME,
    STATE_SILENT,
    STATE_WAITING,
    STATE_LEADING,
    STATE_OVER,
};

struct clockprobe {
    const struct identity *identity; /* borrowed */
    enum state state;
    struct clocklead lead;
    struct clockreference reference;
    struct ck_endpoint endpoint;
    struct clockreference_to to;
    struct clocklink *link;
    enum clocklink_way way;
    uint8_t key[CK_AUTH_KEY_BYTES];
    char hex[CK_AUTH_KEY_HEX];
    int change_fd; /* timer that REALTIME's setting cancels */
    uint64_t random;
    /* The burst under way. */
    unsigned left; /* probes still to send */
    bool is_burst;
    ck_time_t next_at;  /* send the next; or with left = 0, give up */
    ck_time_t burst_at; /* the next burst */
    ck_time_t burst_began;
    unsigned answered;
    ck_time_t best; /* half width of the burst's best exchange */
    struct exchanges exchanges;
    unsigned welcomes; /* of the session, that arrived */
    /* What was learned. */
    bool has_answer;    /* by this way */
    unsigned silent;    /* bursts without an answer, by this way */
    ck_time_t trip;     /* shortest round trip, 0 = none yet */
    ck_time_t started;  /* first burst */
    ck_time_t expected; /* the next step at the latest; 0 = not known */
    ck_time_t lead_at;  /* when to try to lead again */
    bool is_stamped;
    bool is_same; /* it has our clock's name, and nothing contradicts that */
    struct ck_err why;
};

static int change_open(void)
{
    /* Far in the future of REALTIME: it only ever reports a setting. */
    struct itimerspec never = {.it_value = {.tv_sec = (time_t)1 << 40}};
    int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd >= 0 &&
        timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never,
                        NULL) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

struct clockprobe *clockprobe_create(const struct identity *identity,
                                     struct selfstream *selfstream)
{
    struct clockprobe *clock = calloc(1, sizeof(*clock));

    if (clock == NULL) {
        return NULL;
    }
    clock->identity = identity;
    clock->exchanges.selfstream = selfstream;
    clock->change_fd = -1;
    clocklead_init(&clock->lead, identity);
    if (ck_auth_key(clock->key) != 0) {
        clockprobe_destroy(clock);
        return NULL;
    }
    ck_auth_key_hex(clock->key, clock->hex);
    memcpy(&clock->random, identity->agent, sizeof(clock->random));
    clock->random |= 1;
    return clock;
}

void clockprobe_destroy(struct clockprobe *clock)
{
    int saved = errno;

    if (clock != NULL) {
        clocklink_close(clock->link);
        clocklead_fini(&clock->lead);
        ck_fd_close(clock->change_fd);
        ck_auth_forget(clock->key);
        free(clock);
    }
    errno = saved;
}

const char *clockprobe_key(const struct clockprobe *clock)
{
    return clock->hex;
}

bool clockprobe_is_alone(const struct clockprobe *clock)
{
    return clock->state == STATE_ALONE;
}

static ck_time_t random_below(struct clockprobe *clock, ck_time_t limit)
{
    clock->random ^= clock->random << 13;
    clock->random ^= clock->random >> 7;
    clock->random ^= clock->random << 17;
    return (ck_time_t)(clock->random % (uint64_t)limit);
}

static void link_drop(struct clockprobe *clock)
{
    exchanges_record(&clock->exchanges);
    clocklink_close(clock->link);
    clock->link = NULL;
    clock->is_burst = false;
    clock->left = 0;
    clock->has_answer = false;
    clock->silent = 0;
    clock->exchanges.tell_count = 0;
}

/* This way brings nothing: the next one at once, or the first one later. */
static void way_leave(struct clockprobe *clock, ck_time_t now)
{
    link_drop(clock);
    clock->way = (enum clocklink_way)((clock->way + 1) % CLOCKLINK_WAYS);
    clock->burst_at = clock->way == CLOCKLINK_UDP ? now + LADDER_AGAIN : now;
}

static void burst_end(struct clockprobe *clock, ck_time_t now)
{
    ck_time_t period = PERIOD_MIN;

    exchanges_record(&clock->exchanges);
    clock->is_burst = false;
    if (clock->answered == 0) {
        clock->silent++;
        if (clock->silent >= (clock->has_answer ? SILENT_MAX : 1)) {
            (void)ck_err_set(&clock->why, "no answer by %s",
                             clocklink_name(clock->way));
            way_leave(clock, now);
            return;
        }
    } else {
        clock->silent = 0;
        clock->is_stamped = clocklink_is_stamped(clock->link);
        if (now - clock->started > DENSE &&
            clock->best > PERIOD_MIN / BOUND_PERIOD) {
            period = clock->best < PERIOD_MAX / BOUND_PERIOD
                         ? clock->best * BOUND_PERIOD
                         : PERIOD_MAX;
        }
    }
    period = clock->is_same ? PERIOD_SAME : period;
    clock->burst_at = now + period;
}

/* Of a volley the first finds cold caches and a sleeping machine, those right
 * behind it do not. Where times are taken by programs, the second would wait
 * behind the first: there each goes alone. */
static bool is_volley(const struct clockprobe *clock)
{
    return clock->way == CLOCKLINK_UDP && clock->left % CLOCKPROBE_VOLLEY != 0;
}

static void probe_send(struct clockprobe *clock, ck_time_t now)
{
    struct ck_probe ask = {
        .type = CK_PROBE_ASK,
        .session = clock->reference.session,
        .number = clock->exchanges.number + 1,
    };
    uint8_t bytes[CK_PROBE_BYTES];
    struct clocklink_time sent;

    if (!clock->is_same) {
        exchanges_tell(&clock->exchanges, &ask);
    }
    clock->next_at =
        now + CLOCKPROBE_GAP_MIN + random_below(clock, CLOCKPROBE_GAP_SPREAD);
    ck_probe_encode(&ask, clock->key, bytes);
    if (clocklink_send(clock->link, ask.number, bytes, &sent) != 0) {
        if (errno != EAGAIN) {
            (void)ck_err_set(&clock->why, "%s: %s", clocklink_name(clock->way),
                             strerror(errno));
            way_leave(clock, now);
            return;
        }
        /* Not connected yet, or a full queue: again, but not for ever. */
        if (now - clock->burst_began > ANSWER_FIRST) {
            clock->left = 0;
        }
    } else {
        if (!clock->is_same) {
            exchanges_told(&clock->exchanges);
        }
        clock->left--;
        exchanges_open(&clock->exchanges, &sent);
        clock->next_at = is_volley(clock) ? now : clock->next_at;
    }
    if (clock->left == 0) {
        ck_time_t wait =
            clock->trip == 0 ? ANSWER_FIRST : ANSWER_TRIPS * clock->trip;

        clock->next_at = now + (wait < ANSWER_MIN ? ANSWER_MIN : wait);
    }
}

static void sent_take(struct clockprobe *clock)
{
    struct clocklink_time sent;
    uint64_t number;

    while (clocklink_sent(clock->link, &number, &sent) == 1) {
        exchanges_sent(&clock->exchanges, number, &sent);
    }
}

static void answer_take(struct clockprobe *clock,
                        const struct ck_probe *answer,
                        const struct clocklink_time *came)
{
    ck_time_t half = exchanges_earlier(&clock->exchanges, answer);
    const struct exchange *exchange;

    clock->best = clock->best < half ? clock->best : half;
    exchange = exchanges_answer(&clock->exchanges, answer, came);
    if (exchange == NULL) {
        return;
    }
    clock->answered++;
    clock->has_answer = true;
    clock->is_same = clock->is_same && !exchange_refutes(exchange);
    if (clock->trip == 0 || came->at - exchange->a1.at < clock->trip) {
        clock->trip = came->at - exchange->a1.at + 1;
    }
    half = exchange_half(exchange);
    clock->best = clock->best < half ? clock->best : half;
}

static void answers_take(struct clockprobe *clock, ck_time_t now)
{
    uint8_t bytes[CK_PROBE_BYTES + 1];
    struct clocklink_time came;
    struct ck_probe answer;
    int length;

    while (clock->link != NULL &&
           (length = clocklink_receive(clock->link, bytes, &came)) != 0) {
        if (length < 0) {
            (void)ck_err_set(&clock->why, "%s: %s", clocklink_name(clock->way),
                             strerror(errno));
            way_leave(clock, now);
            return;
        }
        if (ck_probe_decode(bytes, (size_t)length, &answer) != 0 ||
            answer.type != CK_PROBE_ANSWER ||
            answer.session != clock->reference.session ||
            ck_probe_check(bytes, clock->key) != 0) {
            continue; /* not from our aggregator */
        }
        sent_take(clock);
        answer_take(clock, &answer, &came);
    }
}

/* The probes that are due. */
static void volley_send(struct clockprobe *clock, ck_time_t now)
{
    while (clock->is_burst && clock->left > 0 && now >= clock->next_at) {
        probe_send(clock, now);
        if (clock->link != NULL) {
            sent_take(clock);
        }
    }
}

static void burst_start(struct clockprobe *clock, ck_time_t now)
{
    if (clock->link == NULL) {
        clock->link = clocklink_open(clock->way, &clock->to, &clock->why);
        if (clock->link == NULL) {
            way_leave(clock, now);
            return;
        }
    }
    if (clock->started == 0) {
        clock->started = now;
    }
    clock->is_burst = true;
    clock->left = CLOCKPROBE_BURST;
    clock->answered = 0;
    clock->burst_began = now;
    clock->best = INT64_MAX;
    clock->next_at = now;
}

/* Something may have moved a clock: probe now. */
static void burst_hurry(struct clockprobe *clock, ck_time_t now)
{
    if (!clock->is_burst && clock->link != NULL && clock->burst_at > now &&
        now - clock->burst_began > HURRY_AGAIN) {
        clock->burst_at = now;
    }
}

/* Not where poll() looked at it and found nothing. */
static bool is_worth_reading(int fd, const struct pollfd *item)
{
    return fd >= 0 && (item->fd != fd || item->revents != 0);
}

/* REALTIME was set: arm the timer anew. */
static bool is_changed(struct clockprobe *clock, const struct pollfd *item)
{
    uint64_t count;

    if (!is_worth_reading(clock->change_fd, item) ||
        read(clock->change_fd, &count, sizeof(count)) >= 0 ||
        errno != ECANCELED) {
        return false;
    }
    (void)close(clock->change_fd);
    clock->change_fd = change_open();
    return true;
}

static void lead_try(struct clockprobe *clock, ck_time_t now)
{
    int size = clock->identity->place.size;

    if (now < clock->lead_at) {
        return;
    }
    clock->lead_at = now + LEAD_AGAIN;
    if (!clocklead_take(&clock->lead)) {
        return;
    }
    clock->state = STATE_LEADING;
    clock->way = CLOCKLINK_UDP;
    clock->change_fd = change_open();
    clock->burst_at = now + (size > CROWD ? random_below(clock, CK_TIME_S) : 0);
}

/* ZeroMQ's descriptor reports changes, not what there is. */
static bool has_news(const struct clockprobe *clock, const struct pollfd *item)
{
    return clock->link != NULL &&
           (clock->way == CLOCKLINK_ZMQ ||
            is_worth_reading(clocklink_fd(clock->link), item));
}

static void leading_step(struct clockprobe *clock,
                         ck_time_t now,
                         const struct pollfd items[2])
{
    if (is_changed(clock, &items[1]) ||
        (clock->expected != 0 && now - clock->expected > STANDSTILL)) {
        burst_hurry(clock, now);
    }
    if (has_news(clock, &items[0])) {
        sent_take(clock);
        answers_take(clock, now);
    }
    if (clock->is_burst && clock->left > 0 && now >= clock->next_at) {
        volley_send(clock, now);
    } else if (clock->is_burst && clock->left == 0 &&
               (!exchanges_wait(&clock->exchanges) || now >= clock->next_at)) {
        burst_end(clock, now);
    } else if (!clock->is_burst && now >= clock->burst_at) {
        burst_start(clock, now);
    }
}

void clockprobe_step(struct clockprobe *clock,
                     ck_time_t now,
                     const struct pollfd items[2])
{
    if (clock->state == STATE_WAITING) {
        lead_try(clock, now);
    }
    if (clock->state == STATE_LEADING) {
        leading_step(clock, now, items);
    }
    clock->expected = now;
}

void clockprobe_poll(struct clockprobe *clock,
                     ck_time_t until,
                     struct pollfd items[2])
{
    clock->expected = until;
    items[0] = (struct pollfd){
        .fd = clock->link == NULL ? -1 : clocklink_fd(clock->link),
        .events = POLLIN};
    items[1] = (struct pollfd){.fd = clock->change_fd, .events = POLLIN};
}

ck_time_t clockprobe_due(const struct clockprobe *clock)
{
    if (clock->state == STATE_WAITING) {
        return clock->lead_at;
    }
    if (clock->state != STATE_LEADING) {
        return INT64_MAX;
    }
    return clock->is_burst ? clock->next_at : clock->burst_at;
}

void clockprobe_meet(struct clockprobe *clock,
                     const struct clockreference *reference,
                     const struct clockreference_to *to)
{
    if (clock->state == STATE_OVER) {
        return;
    }
    if (clock->link != NULL) {
        link_drop(clock);
    }
    clock->reference = *reference;
    clock->exchanges.reference = ck_domain_hash(&reference->domain);
    clock->endpoint = *to->endpoint;
    clock->to = *to;
    clock->to.endpoint = &clock->endpoint;
    clock->to.port = reference->port;
    clock->way = CLOCKLINK_UDP;
    clock->burst_at = 0;
    clock->is_same =
        ck_domain_equal(&reference->domain, &clock->identity->domain);
    if (reference->port == 0) {
        clock->state = clock->is_same ? STATE_SAME : STATE_SILENT;
    } else if (clock->state != STATE_LEADING) {
        clock->state = STATE_WAITING;
    }
}

bool clockprobe_hear(struct clockprobe *clock, const struct session *session)
{
    struct clockreference reference;
    struct clockreference_to to;
    unsigned welcomes = session_clock(session, &reference, &to);

    if (welcomes == clock->welcomes) {
        return false;
    }
    clock->welcomes = welcomes;
    clockprobe_meet(clock, &reference, &to);
    return true;
}

/* The burst under way, or a whole one; bounded. */
static void last_burst(struct clockprobe *clock)
{
    ck_time_t now = ck_time_raw();
    ck_time_t until = now + CLOCKPROBE_LAST;

    if (!clock->is_burst) {
        burst_start(clock, now);
    }
    while (clock->is_burst && now < until) {
        ck_time_t wake = clock->next_at < until ? clock->next_at : until;
        struct timespec wait = {.tv_nsec = wake > now ? wake - now : 0};
        struct pollfd items[2];

        clockprobe_poll(clock, wake, items);
        (void)ppoll(items, 2, &wait, NULL);
        now = ck_time_raw();
        leading_step(clock, now, items);
    }
}

void clockprobe_finish(struct clockprobe *clock)
{
    if (clock->state == STATE_WAITING) {
        lead_try(clock, ck_time_raw());
    }
    if (clock->state == STATE_LEADING) {
        last_burst(clock);
        exchanges_record(&clock->exchanges);
    }
    clocklink_close(clock->link);
    clock->link = NULL;
    clock->is_burst = false;
    clocklead_fini(&clock->lead);
    if (clock->state != STATE_ALONE) {
        clock->state = STATE_OVER;
    }
}

void clockprobe_identity(const struct clockprobe *clock, struct ck_lines *lines)
{
    if (clock->reference.domain.boot_id[0] != '\0') {
        ck_lines_put(lines, "reference_boot_id",
                     clock->reference.domain.boot_id);
        ck_lines_put(lines, "reference_timens", clock->reference.domain.timens);
    }
    if (ck_domain_skew() != NULL) {
        ck_lines_put(lines, "test_clock", ck_domain_skew());
    }
}

void clockprobe_exit(const struct clockprobe *clock, struct ck_lines *lines)
{
    clockprobe_identity(clock, lines);
    if (clock->exchanges.number > 0) {
        ck_lines_put(lines, "clock_way", clocklink_name(clock->way));
        ck_lines_put_number(lines, "clock_stamped", clock->is_stamped);
        ck_lines_put_number(lines, "clock_asked",
                            (int64_t)clock->exchanges.number);
        ck_lines_put_number(lines, "clock_lost",
                            (int64_t)clock->exchanges.lost);
    }
}

bool clockprobe_why(const struct clockprobe *clock, char *text, size_t room)
{
    if (clock->state == STATE_SILENT) {
        (void)snprintf(text, room,
                       "the aggregator does not answer clock probes (see its "
                       "log); this host's clock is not calibrated");
        return true;
    }
    if (!clock->is_same && clock->exchanges.number == clock->exchanges.lost &&
        clock->why.text[0] != '\0') {
        (void)snprintf(text, room,
                       "the aggregator's clock could not be probed (%.120s); "
                       "let UDP or TCP port %d through, or choose one with "
                       "ckagg --clock-port",
                       clock->why.text, clock->reference.port);
        return true;
    }
    return false;
}

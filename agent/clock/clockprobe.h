/* clockprobe.h - measures this clock domain against the aggregator's clock
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The leader of a domain on a machine (clocklead.h) sends bursts of probes: one
 * at the start, then each 1 to 10 s, at events that may have moved a clock, and
 * one at the end. Each exchange becomes a CLOCK_PROBE record; nothing is
 * computed here. In the aggregator's own domain it probes each 10 s only, to
 * see that it is one clock indeed. Used from the collector's thread.
 */
#ifndef CK_AGENT_CLOCK_CLOCKPROBE_H
#define CK_AGENT_CLOCK_CLOCKPROBE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/clock/clocklink.h"
#include "agent/link/clockreference.h"
#include "agent/process/identity.h"
#include "schema/auth.h"
#include "schema/time.h"

/* Probes of a burst. */
#define CLOCKPROBE_BURST 8
/* So many of them go at once where the kernel stamps them; a random pause
 * between. */
#define CLOCKPROBE_VOLLEY 2
#define CLOCKPROBE_GAP_MIN (50 * CK_TIME_US)
#define CLOCKPROBE_GAP_SPREAD (150 * CK_TIME_US)
/* Longest that the end of a job waits for its last burst. */
#define CLOCKPROBE_LAST (100 * CK_TIME_MS)

struct ck_lines;
struct selfstream;
struct session;
struct clockprobe;

/* Both borrowed. NULL with errno. */
struct clockprobe *clockprobe_create(const struct identity *identity,
                                     struct selfstream *selfstream);
void clockprobe_destroy(struct clockprobe *clock);

/* The key that HELLO carries, as hex; borrowed. */
const char *clockprobe_key(const struct clockprobe *clock);

/* A WELCOME came, from `to`'s endpoint (copied). */
void clockprobe_meet(struct clockprobe *clock,
                     const struct clockreference *reference,
                     const struct clockreference_to *to);
/* Look whether the session had a WELCOME since the last time, and meet it:
 * true then. */
bool clockprobe_hear(struct clockprobe *clock, const struct session *session);
/* No WELCOME has come so far. */
bool clockprobe_is_alone(const struct clockprobe *clock);

/* The two descriptors to wait for: of the link and of changes of REALTIME. A
 * step that comes much later than `until`, when the wait ends, takes it that
 * the process was stopped. And when to call clockprobe_step() at the latest. */
void clockprobe_poll(struct clockprobe *clock,
                     ck_time_t until,
                     struct pollfd items[2]);
ck_time_t clockprobe_due(const struct clockprobe *clock);
/* `items` as poll() left them: a descriptor with no events is not read. */
void clockprobe_step(struct clockprobe *clock,
                     ck_time_t now,
                     const struct pollfd items[2]);

/* The last burst: waits for at most CLOCKPROBE_LAST. Nothing is probed
 * afterwards, and the lead is handed on. */
void clockprobe_finish(struct clockprobe *clock);

/* Lines for the identity (the reference's domain) and for the exit (what was
 * probed, and how). */
void clockprobe_identity(const struct clockprobe *clock,
                         struct ck_lines *lines);
void clockprobe_exit(const struct clockprobe *clock, struct ck_lines *lines);
/* Why the clock is not known, for the report; false: there is nothing to
 * report. */
bool clockprobe_why(const struct clockprobe *clock, char *text, size_t room);

#endif

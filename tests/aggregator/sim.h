/* sim.h - a simulated agent and a real ckagg, for the tests of the aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The agent uses the real protocol: frames of real batches, control
 * messages, a DEALER. Nothing waits for ever: each wait has SIM_WAIT_MS.
 */
#ifndef CK_TESTS_AGGREGATOR_SIM_H
#define CK_TESTS_AGGREGATOR_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/batch/wire.h"
#include "schema/frame.h"

#define SIM_WAIT_MS 15000
#define SIM_TEXT 65536

#define SIM_CKAGG CK_TEST_BIN "/ckagg"

/* A ckagg that was started. */
struct sim_agg {
    pid_t pid;
    char endpoint[8192]; /* of its ready line; "" = it never was ready */
    char run[4096];
    char log[4096]; /* path: its stderr until it has a log of its own */
};

/* A test's directory: cmocka's state between sim_setup and sim_teardown. */
struct sim_place {
    char dir[256];
    char run[300];
    char url[300]; /* ipc */
    char text[SIM_TEXT];
    struct sim_agg agg; /* of sim_setup_embedded */
};

int sim_setup(void **state);
/* ... with an embedded ckagg. */
int sim_setup_embedded(void **state);
int sim_teardown(void **state);

#define SIM_CASE(name)                                                         \
    cmocka_unit_test_setup_teardown(name, sim_setup, sim_teardown)
#define SIM_EMBEDDED(name)                                                     \
    cmocka_unit_test_setup_teardown(name, sim_setup_embedded, sim_teardown)

/* Start `program` with args (NULL-terminated, without argv[0]); its stderr
 * goes to dir/stderr. 0 when it is ready, -1 when it ended before. */
int sim_agg_start(struct sim_agg *agg,
                  const char *program,
                  const char *dir,
                  const char *const *args);
/* Wait for its end; -1 = still running after SIM_WAIT_MS (it is killed). */
int sim_agg_wait(struct sim_agg *agg);
/* Signal it, then wait. */
int sim_agg_end(struct sim_agg *agg, int signal);

struct sim;

/* Connect to the first URL of the endpoint text (with its keys). The agent id
 * is 16 times `id`. */
struct sim *sim_create(const char *endpoint, uint8_t id);
void sim_destroy(struct sim *sim);
const uint8_t *sim_agent(const struct sim *sim);

/* HELLO with rank, size and pid, and `more` lines ("" or "key=value\n"). */
void sim_hello(struct sim *sim, int rank, int size, const char *more);
void sim_control(struct sim *sim, enum ck_control_type type, const char *text);
/* As sim_control, with another protocol version. */
void sim_hello_version(struct sim *sim, uint32_t version);

/* A frame of `units` marks (one unit each), made in the sim's buffer;
 * borrowed. Slot 0. */
uint8_t *
sim_frame(struct sim *sim, uint64_t first, uint32_t units, size_t *bytes);
/* A frame of the collector's stream with the agent's identity lines. */
void sim_put_identity(struct sim *sim, const char *lines);
void sim_send(struct sim *sim, const void *bytes, size_t length);
/* Make and send. */
void sim_put(struct sim *sim, uint64_t first, uint32_t units);

/* place->agg: an embedded ckagg in place->run that only stores; must become
 * ready. */
void sim_embedded(struct sim_place *place);
/* HELLO that must be welcome. */
void sim_welcome(struct sim *sim, int rank, int size);
/* Connect to this ckagg, with a HELLO that must be welcome. */
struct sim *sim_join(const struct sim_agg *agg, uint8_t id, int rank, int size);
/* HELLO of rank 0 of 1 that came back; the position that it gets. */
uint64_t sim_return(struct sim *sim);
/* GOODBYE, FAREWELL, destroy. */
void sim_leave(struct sim *sim);
/* ... of the job's last one, with which ckagg must end well. */
void sim_leave_last(struct sim *sim, struct sim_agg *agg);

/* Wait for a message of this type (others are passed over); borrowed until
 * the next. NULL when none came. */
const struct ck_control *sim_wait(struct sim *sim, enum ck_control_type type);
/* The text of a message of this type, which must come; borrowed likewise. */
const char *sim_text(struct sim *sim, enum ck_control_type type);
/* Wait until slot 0 is acknowledged up to `next`. */
bool sim_wait_ack(struct sim *sim, uint64_t next);
/* Position in the acknowledgements of a message; 0 = none. */
uint64_t sim_position(const struct ck_control *control);

/* Whole file as text (cut at SIM_TEXT); "" when there is none. */
const char *sim_read(const char *dir, const char *name, char text[SIM_TEXT]);
/* Wait until the file holds `what`. */
bool sim_wait_text(const char *dir, const char *name, const char *what);
/* Stored frames of the agent as "first+units first+units ...". */
const char *
sim_stored(const char *dir, const uint8_t agent[16], char text[SIM_TEXT]);

#endif

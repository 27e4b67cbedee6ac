/* test_peer.c - one agent's life
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregator/jobs/peer.h"
#include "schema/ring/ring.h"
#include "tests/workdir.h"

static const uint8_t agent[16] = "0123456789abcde";
static const struct peer_limits limits = {.beat = 5 * CK_TIME_S,
                                          .remote = 30 * CK_TIME_S};
static const struct route route = {.socket = 1, .length = 2, .id = "ab"};

struct place {
    char dir[WORKDIR_BYTES];
    struct peer *peer;
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    struct store *store;

    if (workdir_make(place->dir) != 0) {
        return -1;
    }
    store = store_create(place->dir, agent, NULL);
    place->peer = peer_create(agent, store);
    *state = place;
    return place->peer ? 0 : -1;
}

static int teardown(void **state)
{
    struct place *place = *state;
    int rc;

    peer_destroy(place->peer);
    rc = workdir_remove(place->dir);
    free(place);
    return rc;
}

static struct peer *hello(void **state, const char *lines, ck_time_t now)
{
    struct peer *peer = ((struct place *)*state)->peer;

    peer_hello(peer, &route, lines, strlen(lines), now);
    return peer;
}

/* The lines of a process of this machine. */
static const char *local_lines(int pid)
{
    static char lines[256];
    char boot_id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    assert_non_null(file);
    assert_non_null(fgets(boot_id, sizeof(boot_id), file));
    (void)fclose(file);
    (void)snprintf(lines, sizeof(lines), "rank=3\nsize=4\npid=%d\nboot_id=%s",
                   pid, boot_id);
    return lines;
}

static int dead_pid(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        _exit(0);
    }
    (void)waitpid(pid, &status, 0);
    return (int)pid;
}

static void the_table_has_no_way_out_of_a_goodbye_but_a_hello(void **state)
{
    (void)state;
    assert_int_equal(peer_next(PEER_LEFT, PEER_HEARD), PEER_LEFT);
    assert_int_equal(peer_next(PEER_LEFT, PEER_QUIET), PEER_LEFT);
    assert_int_equal(peer_next(PEER_LEFT, PEER_GONE), PEER_LEFT);
    assert_int_equal(peer_next(PEER_LEFT, PEER_HELLO), PEER_RUN);
    assert_int_equal(peer_next(PEER_RUN, PEER_GONE), PEER_RUN);
    assert_int_equal(peer_next(PEER_DEAD, PEER_HEARD), PEER_RUN);
}

static void a_hello_has_its_identity(void **state)
{
    struct peer *peer = hello(state, local_lines(7), 100);

    assert_int_equal(peer_facts(peer)->rank, 3);
    assert_int_equal(peer_facts(peer)->size, 4);
    assert_int_equal(peer_facts(peer)->pid, 7);
    assert_int_equal(peer_state(peer), PEER_RUN);
    assert_true(route_equal(peer_route(peer), &route));
}

static void nonsense_in_a_hello_is_no_number(void **state)
{
    struct peer *peer =
        hello(state,
              "rank=7x\nsize=99999999999999999999\npid=\nhost=a\x01"
              "b\n",
              0);

    assert_int_equal(peer_facts(peer)->rank, -1);
    assert_int_equal(peer_facts(peer)->size, 0);
    assert_int_equal(peer_facts(peer)->pid, 0);
    assert_string_equal(peer_facts(peer)->host, "a?b");
}

static void a_silent_process_that_lives_is_not_dead(void **state)
{
    struct peer *peer = hello(state, local_lines((int)getpid()), 100);

    assert_false(peer_judge(peer, &limits, 100 + CK_TIME_S));
    assert_true(peer_judge(peer, &limits, 100 + 6 * CK_TIME_S));
    assert_int_equal(peer_state(peer), PEER_SILENT);
    (void)peer_judge(peer, &limits, 100 + 3600 * CK_TIME_S);
    assert_int_equal(peer_state(peer), PEER_SILENT);
    peer_heard(peer, 200);
    assert_int_equal(peer_state(peer), PEER_RUN);
}

static void a_silent_process_that_is_gone_is_dead(void **state)
{
    struct peer *peer = hello(state, local_lines(dead_pid()), 100);

    assert_false(peer_judge(peer, &limits, 100 + 4 * CK_TIME_S));
    assert_int_equal(peer_state(peer), PEER_RUN);
    assert_true(peer_judge(peer, &limits, 100 + 5 * CK_TIME_S));
    assert_int_equal(peer_state(peer), PEER_DEAD);
    assert_false(peer_is_active(peer));
}

static void a_peer_of_another_host_is_dead_after_its_time(void **state)
{
    struct peer *peer = hello(state, "pid=1\nboot_id=elsewhere\n", 100);

    (void)peer_judge(peer, &limits, 100 + 29 * CK_TIME_S);
    assert_int_equal(peer_state(peer), PEER_SILENT);
    (void)peer_judge(peer, &limits, 100 + 30 * CK_TIME_S);
    assert_int_equal(peer_state(peer), PEER_DEAD);
}

/* Its number may be that of a process here that lives, or of none. */
static void a_peer_of_a_container_is_dead_after_its_time_too(void **state)
{
    int pids[] = {(int)getpid(), dead_pid()};
    char lines[320];

    for (unsigned i = 0; i < 2; i++) {
        struct peer *peer;

        (void)snprintf(lines, sizeof(lines), "%spid_space=1\n",
                       local_lines(pids[i]));
        peer = hello(state, lines, 100);
        (void)peer_judge(peer, &limits, 100 + 29 * CK_TIME_S);
        assert_int_equal(peer_state(peer), PEER_SILENT);
        (void)peer_judge(peer, &limits, 100 + 30 * CK_TIME_S);
        assert_int_equal(peer_state(peer), PEER_DEAD);
    }
}

static void a_peer_of_this_pid_namespace_is_asked_for(void **state)
{
    char lines[320];
    struct peer *peer;

    (void)snprintf(lines, sizeof(lines), "%spid_space=%llu\n",
                   local_lines((int)getpid()),
                   (unsigned long long)ck_ring_pid_space());
    peer = hello(state, lines, 100);
    (void)peer_judge(peer, &limits, 100 + 3600 * CK_TIME_S);
    assert_int_equal(peer_state(peer), PEER_SILENT);
}

static void a_frame_of_another_agent_is_foreign(void **state)
{
    struct peer *peer = hello(state, local_lines(1), 100);
    struct ck_frame_header header = {.units = 1};

    assert_int_equal(peer_frame(peer, &header, &header), PEER_FOREIGN);
    assert_false(peer_is_due(peer));
}

static void counters_are_kept_from_the_last_beat(void **state)
{
    static const char beat[] = "events=9\nlost=2\ncpu_ns=3\nspool=4\n";
    static const char goodbye[] = "status=256\n";
    struct peer *peer = hello(state, "", 100);

    peer_count(peer, beat, strlen(beat));
    assert_false(peer_facts(peer)->has_status);
    peer_count(peer, goodbye, strlen(goodbye));
    assert_int_equal(peer_facts(peer)->events, 9);
    assert_int_equal(peer_facts(peer)->lost, 2);
    assert_int_equal(peer_facts(peer)->spool_bytes, 4);
    assert_true(peer_facts(peer)->has_status);
    assert_int_equal(peer_facts(peer)->status, 256);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_no_way_out_of_a_goodbye_but_a_hello),
        CASE(a_hello_has_its_identity),
        CASE(nonsense_in_a_hello_is_no_number),
        CASE(a_silent_process_that_lives_is_not_dead),
        CASE(a_silent_process_that_is_gone_is_dead),
        CASE(a_peer_of_another_host_is_dead_after_its_time),
        CASE(a_peer_of_a_container_is_dead_after_its_time_too),
        CASE(a_peer_of_this_pid_namespace_is_asked_for),
        CASE(a_frame_of_another_agent_is_foreign),
        CASE(counters_are_kept_from_the_last_beat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

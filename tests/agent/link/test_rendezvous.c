/* test_rendezvous.c - how an agent finds its aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * No ckagg is started here (tests/agent/lives.sh has real ones): addresses
 * are sockets of the case's own.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/link/embedded.h"
#include "agent/link/reachable.h"
#include "agent/link/rendezvous.h"
#include "agent/ring/ringfile.h"
#include "tests/workdir.h"

static int setup(void **state)
{
    return workdir_setup(state) != 0 || setenv("XDG_RUNTIME_DIR", work, 1) != 0
               ? -1
               : 0;
}

/* A socket on a free loopback port; listening or only bound. */
static int port_open(bool is_listening, char *url, size_t room)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_true(!is_listening || listen(fd, 4) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(url, room, "tcp://127.0.0.1:%d", ntohs(address.sin_port));
    return fd;
}

static void the_address_that_answers_is_taken(void **state)
{
    struct ck_endpoint endpoint = {.count = 2};
    struct reachable probe;
    int closed = port_open(false, endpoint.urls[0], 256);
    int open = port_open(true, endpoint.urls[1], 256);
    ck_time_t now = ck_time_raw();
    int at = -1;

    (void)state;
    assert_true(reachable_start(&probe, &endpoint, now) >= 1);
    for (int i = 0; i < 1000 && at == -1; i++) {
        at = reachable_step(&probe, now);
        (void)usleep(100);
    }
    assert_int_equal(at, 1);
    assert_false(probe.is_running);
    (void)close(closed);
    (void)close(open);
}

static void after_the_limit_none_is_taken(void **state)
{
    /* A test network without a route. */
    struct ck_endpoint endpoint = {.urls = {"tcp://192.0.2.1:9"}, .count = 1};
    struct reachable probe;
    ck_time_t now = ck_time_raw();

    (void)state;
    if (reachable_start(&probe, &endpoint, now) == 0) {
        return; /* refused at once: nothing is reachable from here */
    }
    assert_int_equal(reachable_step(&probe, now + REACHABLE_LIMIT), -2);
    assert_false(probe.is_running);
}

static void names_are_not_probed(void **state)
{
    struct ck_endpoint endpoint = {.urls = {"tcp://localhost:9", "ipc:///x"},
                                   .count = 2};
    struct reachable probe;

    (void)state;
    assert_int_equal(reachable_start(&probe, &endpoint, 0), 0);
    assert_false(probe.is_running);
}

static void
identity_fill(struct identity *identity, int rank, int size, int local)
{
    char *const env[] = {NULL};

    assert_int_equal(identity_find(identity, env, "test"), 0);
    identity->place.rank = rank;
    identity->place.size = size;
    identity->place.local_size = local;
}

static void a_given_address_is_handed_out_at_once(void **state)
{
    struct identity identity;
    struct agent_config config = {.identity = &identity,
                                  .aggregator = "tcp://node:7700 token=ab",
                                  .dir = work};
    struct rendezvous *rendezvous;
    struct ck_endpoint endpoint;
    size_t url = 9;

    (void)state;
    identity_fill(&identity, 0, 2, 2);
    rendezvous = rendezvous_create(&config, NULL);
    assert_int_equal(
        rendezvous_step(rendezvous, 1, false, &endpoint, &url, NULL), 1);
    assert_string_equal(endpoint.urls[url], "tcp://node:7700");
    assert_string_equal(endpoint.token, "ab");
    assert_int_equal(
        rendezvous_step(rendezvous, 2, false, &endpoint, &url, NULL), 0);
    rendezvous_destroy(rendezvous);
}

static void a_given_text_that_is_no_address_is_refused(void **state)
{
    struct identity identity;
    struct agent_config config = {
        .identity = &identity, .aggregator = "node", .dir = work};
    struct ck_err err;

    (void)state;
    identity_fill(&identity, 0, 2, 2);
    assert_null(rendezvous_create(&config, &err));
    assert_non_null(strstr(err.text, "node"));
}

static void a_rank_of_the_same_host_goes_to_the_jobs_socket(void **state)
{
    struct identity identity;
    struct agent_config config = {.identity = &identity, .dir = work};
    struct rendezvous *rendezvous;
    struct embedded_place place;
    struct ck_endpoint endpoint;
    size_t url;

    (void)state;
    identity_fill(&identity, 1, 2, 2);
    assert_int_equal(embedded_place_find(&place, &identity, NULL), 0);
    rendezvous = rendezvous_create(&config, NULL);
    assert_int_equal(rendezvous_step(rendezvous, ck_time_raw(), false,
                                     &endpoint, &url, NULL),
                     1);
    assert_string_equal(endpoint.urls[url] + 6, place.socket);
    assert_false(rendezvous_is_hopeless(rendezvous));
    rendezvous_destroy(rendezvous);
}

static void the_socket_of_an_earlier_job_at_the_address_is_left(void **state)
{
    struct identity identity;
    struct agent_config config = {.identity = &identity, .dir = work};
    struct rendezvous *rendezvous;
    struct embedded_place place;
    struct ck_endpoint endpoint;
    size_t url;
    FILE *file;

    (void)state;
    identity_fill(&identity, 1, 2, 1);
    identity.is_name_reused = true;
    assert_int_equal(embedded_place_find(&place, &identity, NULL), 0);
    strcpy(identity.domain.boot_id, "this-boot");
    file = fopen(place.socket, "we");
    assert_non_null(file);
    (void)fclose(file);
    file = fopen(place.lock, "we");
    assert_non_null(file);
    (void)fprintf(file, "%lld this-boot\n", (long long)(500 * CK_TIME_S));
    (void)fclose(file);
    /* It was there a minute before our launcher. */
    identity.launcher_boottime = 560 * CK_TIME_S;
    rendezvous = rendezvous_create(&config, NULL);
    assert_int_equal(rendezvous_step(rendezvous, ck_time_raw(), false,
                                     &endpoint, &url, NULL),
                     0);
    /* The ranks of one job may each have a launcher. */
    identity.launcher_boottime = 502 * CK_TIME_S;
    assert_int_equal(rendezvous_step(rendezvous, ck_time_raw(), false,
                                     &endpoint, &url, NULL),
                     1);
    assert_string_equal(endpoint.urls[url] + 6, place.socket);
    rendezvous_destroy(rendezvous);
}

static void a_rank_of_another_host_waits_for_what_ckmpi_finds(void **state)
{
    static struct ck_ring_header header;
    struct ringfile ring = {.header = &header};
    struct identity identity;
    struct agent_config config = {
        .identity = &identity, .dir = work, .ring = &ring};
    struct rendezvous *rendezvous;
    struct ck_endpoint endpoint;
    ck_time_t now = ck_time_raw();
    size_t url;

    (void)state;
    identity_fill(&identity, 1, 2, 1);
    rendezvous = rendezvous_create(&config, NULL);
    assert_int_equal(
        rendezvous_step(rendezvous, now, false, &endpoint, &url, NULL), 0);
    /* Loopback of the other host is not ours. */
    strcpy(header.found, "tcp://127.0.0.1:9,ipc:///there");
    header.is_found = 1;
    now += CK_TIME_S;
    assert_int_equal(
        rendezvous_step(rendezvous, now, false, &endpoint, &url, NULL), 0);
    rendezvous_destroy(rendezvous);
}

static void a_fifo_in_place_of_an_endpoint_is_not_waited_for(void **state)
{
    struct identity identity;
    struct agent_config config = {
        .identity = &identity, .dir = work, .is_dir_given = true};
    struct rendezvous *rendezvous;
    struct ck_endpoint endpoint;
    char path[96];
    size_t url;

    (void)state;
    identity_fill(&identity, 1, 2, 1);
    (void)snprintf(path, sizeof(path), "%s/endpoint", work);
    assert_int_equal(mkfifo(path, 0600), 0);
    rendezvous = rendezvous_create(&config, NULL);
    assert_int_equal(rendezvous_step(rendezvous, ck_time_raw(), false,
                                     &endpoint, &url, NULL),
                     0);
    rendezvous_destroy(rendezvous);
}

/* Ours, but open to others: what is in it may be theirs. */
static void in_a_directory_of_others_no_agents_meet(void **state)
{
    struct identity identity;
    struct agent_config config = {.identity = &identity, .dir = work};
    struct rendezvous *rendezvous;
    struct embedded_place first, place;
    struct ck_endpoint endpoint;
    struct ck_err err;
    char path[96];
    size_t url;

    (void)state;
    identity_fill(&identity, 0, 1, 1);
    (void)snprintf(path, sizeof(path), "%s/ck", work);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(embedded_place_find(&first, &identity, &err), 0);
    assert_int_equal(embedded_place_find(&place, &identity, &err), 0);
    assert_string_equal(first.socket, place.socket);
    assert_int_not_equal(strncmp(place.socket, path, strlen(path)), 0);
    rendezvous = rendezvous_create(&config, &err);
    rendezvous_abstain(rendezvous);
    assert_int_equal(rendezvous_step(rendezvous, ck_time_raw(), false,
                                     &endpoint, &url, &err),
                     -1);
    assert_non_null(strstr(err.text, "is open to others (mode 0777): the "
                                     "agents of this user meet in /tmp/"));
    assert_int_equal(rendezvous_step(rendezvous, ck_time_raw(), false,
                                     &endpoint, &url, &err),
                     1);
    rendezvous_destroy(rendezvous);
}

/* $XDG_RUNTIME_DIR is anything; an endpoint's text is not. */
static void agents_meet_where_an_endpoint_can_name(void **state)
{
    static const char *const names[] = {"a b", "a\nb", "a\tb", "a,b"};
    struct embedded_place place;
    struct identity identity;
    struct ck_endpoint endpoint;
    struct ck_err err;
    char url[128];
    char path[96];

    (void)state;
    identity_fill(&identity, 0, 1, 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", work, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(setenv("XDG_RUNTIME_DIR", path, 1), 0);
        assert_int_equal(embedded_place_find(&place, &identity, &err), 0);
        (void)snprintf(url, sizeof(url), "ipc://%s", place.socket);
        assert_int_equal(ck_endpoint_parse(url, &endpoint, &err), 0);
        assert_int_equal(endpoint.count, 1);
    }
}

int main(void)
{
#define CASE(name) WORKDIR_CASE(name, setup)
    const struct CMUnitTest tests[] = {
        CASE(the_address_that_answers_is_taken),
        CASE(after_the_limit_none_is_taken),
        CASE(names_are_not_probed),
        CASE(a_given_address_is_handed_out_at_once),
        CASE(a_given_text_that_is_no_address_is_refused),
        CASE(a_rank_of_the_same_host_goes_to_the_jobs_socket),
        CASE(the_socket_of_an_earlier_job_at_the_address_is_left),
        CASE(a_rank_of_another_host_waits_for_what_ckmpi_finds),
        CASE(a_fifo_in_place_of_an_endpoint_is_not_waited_for),
        CASE(in_a_directory_of_others_no_agents_meet),
        CASE(agents_meet_where_an_endpoint_can_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_where.c - a question where all ranks are gets an answer, or a reason
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/where.h"
#include "tests/aggregator/sim.h"

static const struct route client = {0, 1, {7}};

struct asked {
    struct agg *agg;
    struct reply *reply;
    struct jobs *jobs;
    struct where *where;
};

static void asked_init(struct asked *asked, const struct sim_place *place)
{
    const char *const urls[] = {place->url};
    const struct agg_options agg = {.urls = urls, .urls_count = 1};
    const struct jobs_options jobs = {
        .dir = place->run, .key = "key-1", .is_embedded = true};
    struct ck_err err;

    asked->agg = agg_create(&agg, &err);
    asked->reply = reply_create(asked->agg);
    asked->jobs = jobs_create(&jobs, &err);
    asked->where = where_create(asked->jobs, asked->reply);
    assert_non_null(asked->where);
}

static void asked_fini(struct asked *asked)
{
    where_destroy(asked->where);
    jobs_destroy(asked->jobs);
    reply_destroy(asked->reply);
    agg_destroy(asked->agg);
}

static void a_merge_without_an_end_is_ended(void **state)
{
    struct asked asked;
    struct job *job;

    asked_init(&asked, *state);
    job = jobs_at(asked.jobs, 0);
    assert_null(where_ask(asked.where, job, &client, CK_TIME_S));
    where_step(asked.where, CK_TIME_S); /* no agent is waited for: it begins */
    assert_true(where_is_busy(asked.where));
    where_step(asked.where, CK_TIME_S + WHERE_WALL);
    assert_false(where_is_busy(asked.where));
    assert_null(where_ask(asked.where, job, &client, 2 * WHERE_WALL));
    asked_fini(&asked);
}

static void more_clients_than_may_wait_are_refused(void **state)
{
    struct asked asked;
    struct job *job;

    asked_init(&asked, *state);
    job = jobs_at(asked.jobs, 0);
    for (int i = 0; i < WHERE_CLIENTS_MAX; i++) {
        assert_null(where_ask(asked.where, job, &client, CK_TIME_S));
    }
    assert_non_null(where_ask(asked.where, job, &client, CK_TIME_S));
    asked_fini(&asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_CASE(a_merge_without_an_end_is_ended),
        SIM_CASE(more_clients_than_may_wait_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

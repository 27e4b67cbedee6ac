/* test_torchrun.c - hosts of a torchrun, by its options and variables
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/torchrun.h"

#define WORDS_MAX 16

struct node_case {
    const char *argv[WORDS_MAX];
    const char *env[4];
    int nodes; /* 0 = no torchrun of several hosts */
    int node;
    const char *name;
};

/* 203.0.113.x is in use nowhere. */
static const struct node_case cases[] = {
    {{"torchrun", "--nnodes=2", "--node_rank=1", "--master_addr=h1", "--nnodes",
      "3", "t.py"},
     {NULL},
     3,
     1,
     "torch-h1.29500"},
    {{"/opt/bin/torchrun", "--nnodes", "2", "--nproc-per-node", "4",
      "--node-rank", "0", "--master-addr", "h1", "--master-port", "99", "t.py"},
     {NULL},
     2,
     0,
     "torch-h1.99"},
    {{"python3", "-u", "-m", "torch.distributed.run", "--nnodes=2",
      "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:77", "--rdzv-id=j5",
      "t.py"},
     {NULL},
     2,
     0,
     "torch-j5-127.0.0.1.77"},
    {{"python3.11", "/x/torchrun", "--no_python", "--nnodes=2:2",
      "--master_addr=h1", "t"},
     {NULL},
     0,
     0,
     NULL},
    {{"torchrun", "--no_python", "--nnodes=2", "--master_addr=h1", "t"},
     {NULL},
     2,
     0,
     "torch-h1.29500"},
    {{"torchrun", "--rdzv_backend", "c10d", "--rdzv_endpoint",
      "203.0.113.9:29400", "--nnodes", "4", "-t", "3", "-m", "pkg"},
     {NULL},
     4,
     -1,
     "torch-203.0.113.9.29400"},
    {{"torchrun", "t.py"},
     {"PET_NNODES=2", "PET_NODE_RANK=1", "PET_MASTER_ADDR=h"},
     2,
     1,
     "torch-h.29500"},
    {{"torchrun", "--nnodes=1", "t.py"}, {"PET_NNODES=2"}, 0, 0, NULL},
    {{"torchrun", "--nproc_per_node=2", "t.py"}, {NULL}, 0, 0, NULL},
    {{"torchrun", "--standalone", "--nnodes=2", "--master_addr=h", "t.py"},
     {NULL},
     0,
     0,
     NULL},
    {{"torchrun", "--nnodes=1:4", "--master_addr=h", "t.py"},
     {NULL},
     0,
     0,
     NULL},
    {{"torchrun", "--nnodes=2", "t.py"}, {NULL}, 0, 0, NULL},
    {{"torchrun", "--nnodes=2", "--master_addr=h", "--node_rank=x", "t.py"},
     {NULL},
     0,
     0,
     NULL},
    {{"torchrun", "--nnodes=2", "--rdzv_backend=etcd", "--rdzv_endpoint=h:1"},
     {NULL},
     0,
     0,
     NULL},
    /* The program's own words are not torchrun's. */
    {{"torchrun", "t.py", "--nnodes=2", "--master_addr=h"}, {NULL}, 0, 0, NULL},
    {{"./train", "--nnodes=2", "--master_addr=h"}, {NULL}, 0, 0, NULL},
    {{"python3", "t.py", "--nnodes=2", "--master_addr=h"}, {NULL}, 0, 0, NULL},
    {{"python3", "-m", "pkg", "--nnodes=2", "--master_addr=h"},
     {NULL},
     0,
     0,
     NULL},
    {{"python3"}, {NULL}, 0, 0, NULL},
    {{"python3", "-m"}, {NULL}, 0, 0, NULL},
    {{"torchrun", "--nnodes"}, {NULL}, 0, 0, NULL},
    {{"torchrun", "--nnodes=2", "--master_addr"}, {NULL}, 0, 0, NULL},
};

static void hosts_are_read_as_torchrun_reads_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct node_case *expected = &cases[i];
        char *env[5] = {NULL};
        struct torchrun_node node = {0};
        bool is_spread;

        for (size_t k = 0; k < 4; k++) {
            env[k] = (char *)(uintptr_t)expected->env[k];
        }
        is_spread =
            torchrun_read((char *const *)(uintptr_t)expected->argv, env, &node);
        print_message("case %zu: %s\n", i, expected->argv[0]);
        assert_int_equal(is_spread, expected->nodes != 0);
        if (is_spread) {
            assert_int_equal(node.nodes, expected->nodes);
            assert_int_equal(node.node, expected->node);
            assert_string_equal(node.name, expected->name);
        }
    }
}

#define LONG                                                                   \
    "training-of-a-large-model-with-a-very-long-name-in-a-cluster-of-many"

/* Masters of two jobs of one user, which differ at their ends alone. */
static void long_names_of_two_jobs_are_two(void **state)
{
    char *const one[] = {"torchrun", "--nnodes=2", "--rdzv_id=" LONG LONG "1",
                         "--master_addr=" LONG ".svc.cluster.local", NULL};
    char *const other[] = {"torchrun", "--nnodes=2", "--rdzv_id=" LONG LONG "2",
                           "--master_addr=" LONG ".svc.cluster.local", NULL};
    char *const third[] = {"torchrun", "--nnodes=2",
                           "--master_addr=" LONG "-1.svc", NULL};
    char *const fourth[] = {"torchrun", "--nnodes=2",
                            "--master_addr=" LONG "-2.svc", NULL};
    char *const env[] = {NULL};
    struct torchrun_node a, b;

    (void)state;
    assert_true(torchrun_read(one, env, &a) && torchrun_read(other, env, &b));
    assert_string_not_equal(a.name, b.name);
    assert_true(torchrun_read(one, env, &b));
    assert_string_equal(a.name, b.name);
    assert_true(torchrun_read(third, env, &a) &&
                torchrun_read(fourth, env, &b));
    assert_string_not_equal(a.name, b.name);
}

static void agents_of_all_hosts_are_one_job(void **state)
{
    char *const env[] = {NULL};
    struct torchrun_node node = {.nodes = 2, .node = 0, .name = "torch-h.1"};
    struct identity first, second;

    (void)state;
    assert_int_equal(identity_find(&first, env, NULL), 0);
    assert_int_equal(identity_find(&second, env, NULL), 0);
    assert_string_not_equal(first.job_key, "torch-h.1");
    torchrun_spread(&first, &node, false);
    node.node = -1;
    torchrun_spread(&second, &node, false);
    assert_string_equal(first.job_key, "torch-h.1");
    assert_string_equal(second.job_key, "torch-h.1");
    assert_int_equal(first.place.rank, 0);
    assert_int_equal(second.place.rank, 1);
    assert_false(identity_is_one_host(&first));
    assert_false(second.place.is_ranked);
    assert_true(second.is_name_reused);
}

static void a_name_that_the_user_gave_stays(void **state)
{
    char *const env[] = {NULL};
    struct torchrun_node node = {.nodes = 3, .node = -1, .name = "torch-h.1"};
    struct identity identity;

    (void)state;
    assert_int_equal(identity_find(&identity, env, "mine"), 0);
    torchrun_spread(&identity, &node, true);
    assert_string_equal(identity.job_key, "job-mine");
    assert_false(identity.is_name_reused);
    assert_int_equal(identity.place.size, 3);
    assert_true(identity.place.rank >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_read_as_torchrun_reads_them),
        cmocka_unit_test(long_names_of_two_jobs_are_two),
        cmocka_unit_test(agents_of_all_hosts_are_one_job),
        cmocka_unit_test(a_name_that_the_user_gave_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

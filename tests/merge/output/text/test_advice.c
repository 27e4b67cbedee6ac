/* test_advice.c - what to try, where a rule supports it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "merge/output/text/advice.h"

static const struct report_activity nothing;

static void advice_is(const struct advice_case *of, const char *part)
{
    const char *text = advice_find(of);

    if (part == NULL) {
        assert_null(text);
        return;
    }
    assert_non_null(text);
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, text);
    }
}

static void each_cause_has_its_own_advice_or_none(void **state)
{
    static const struct {
        enum cause kind;
        bool is_late;
        ck_time_t piece;
        const char *part;
    } cases[] = {
        {CAUSE_HOST_COMPUTE, true, CK_TIME_MS, "less of the work"},
        {CAUSE_HOST_COMPUTE, false, CK_TIME_MS, "another thread"},
        {CAUSE_OFFCPU_RUNNABLE, false, CK_TIME_MS, "no more ranks"},
        {CAUSE_IO, true, 50 * CK_TIME_US, "larger pieces"},
        {CAUSE_IO, true, CK_TIME_MS, "faster place"},
        {CAUSE_KERNEL, true, CK_TIME_MS, "device less of the work"},
        {CAUSE_KERNEL, false, CK_TIME_MS, NULL},
        {CAUSE_KERNEL_GAP, false, 50 * CK_TIME_US, "graph"},
        {CAUSE_KERNEL_GAP, false, CK_TIME_MS, "what else"},
        {CAUSE_LAUNCH_LATENCY, false, CK_TIME_MS, "fewer and larger"},
        {CAUSE_GPU_SYNC, false, CK_TIME_MS, "once a step"},
        {CAUSE_H2D, false, CK_TIME_MS, "one piece"},
        {CAUSE_D2H, false, CK_TIME_MS, "read back"},
        {CAUSE_MEM_MGMT, false, CK_TIME_MS, "allocate once"},
        {CAUSE_SLEEP, true, CK_TIME_MS, "explicit sleep"},
        {CAUSE_MPI_TRANSFER, false, CK_TIME_MS, "send less"},
        {CAUSE_LOCK, false, CK_TIME_MS, NULL}, /* no rank is named */
        {CAUSE_NO_HOST_DATA, false, CK_TIME_MS, "record the host"},
        {CAUSE_UNATTRIBUTED, false, CK_TIME_MS, NULL},
        {CAUSES, true, CK_TIME_MS, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct advice_case of = {.kind = cases[i].kind,
                                 .is_late = cases[i].is_late,
                                 .did = &nothing,
                                 .count = 10,
                                 .ns = 10 * cases[i].piece};

        advice_is(&of, cases[i].part);
    }
}

static void a_connection_is_no_file(void **state)
{
    struct report_activity did = {.call = "connect"};
    struct advice_case of = {.kind = CAUSE_IO,
                             .is_late = true,
                             .did = &did,
                             .count = 10,
                             .ns = 10 * CK_TIME_S};

    (void)state;
    advice_is(&of, "the other end of the connection");
    did.call = "read";
    advice_is(&of, "from a faster place");
}

static void a_thread_without_a_cpu_comes_first(void **state)
{
    struct report_activity did = {.running = {.total = 100, .preempted = 51}};
    struct advice_case of = {
        .kind = CAUSE_IO, .is_late = true, .did = &did, .count = 1, .ns = 1};

    (void)state;
    advice_is(&of, "no more ranks");
    did.running.preempted = 50;
    advice_is(&of, "larger pieces");
}

/* Where all ranks had no CPU for 73 % of their work, more work has none for
 * 77 %, and it is that work. */
static void more_work_is_not_what_all_lack(void **state)
{
    struct report_activity did = {.running = {.total = 100, .preempted = 77}};
    struct advice_case of = {.kind = CAUSE_OFFCPU_RUNNABLE,
                             .is_late = true,
                             .did = &did,
                             .count = 1,
                             .ns = 1};

    (void)state;
    advice_is(&of, "no more ranks");
    of.usual_ready = 0.73;
    advice_is(&of, "less of the work");
    did.running.preempted = 99;
    advice_is(&of, "no more ranks");
}

/* Sending less gives it no CPU. */
static void a_transfer_without_a_cpu_is_not_too_long(void **state)
{
    struct report_activity did = {.running = {.total = 100, .preempted = 76}};
    struct advice_case of = {.kind = CAUSE_MPI_TRANSFER,
                             .did = &did,
                             .count = 1,
                             .ns = 1,
                             .load = REPORT_LOAD_OTHERS,
                             .usual_ready = 0.68};

    (void)state;
    advice_is(&of, "no other program uses");
    did.running.preempted = 50;
    advice_is(&of, "send less");
}

static void who_had_the_cpus_decides_what_to_try(void **state)
{
    struct advice_case of = {
        .kind = CAUSE_OFFCPU_RUNNABLE, .did = &nothing, .count = 1, .ns = 1};

    (void)state;
    of.load = REPORT_LOAD_OWN;
    advice_is(&of, "no more ranks and threads than the CPUs");
    of.load = REPORT_LOAD_OTHERS;
    advice_is(&of, "no other program uses");
    of.load = REPORT_LOAD_QUOTA;
    advice_is(&of, "raise the cgroup's CPU quota");
    of.load = REPORT_LOAD_UNCLEAR;
    advice_is(&of, "bind ranks and threads");
    of.load = REPORT_LOAD_NONE;
    advice_is(&of, "what else ran");
}

static void a_lock_with_a_holder_has_advice(void **state)
{
    struct report_activity did = {.holder = {.tid = 7}};
    struct advice_case of = {
        .kind = CAUSE_LOCK, .did = &did, .count = 1, .ns = 1};

    (void)state;
    advice_is(&of, "holder");
}

static void without_sampled_faults_none_are_advised_against(void **state)
{
    struct report_activity did = {
        .sampled = {.total = 100, .ns = 90, .faulting = 80}};
    struct advice_case of = {
        .kind = CAUSE_HOST_COMPUTE, .is_late = true, .did = &did, .ns = 100};

    (void)state;
    advice_is(&of, "less of the work"); /* interrupts, perhaps */
    did.sampled.minor = 4000;
    advice_is(&of, "keep buffers");
    did.sampled.major = 17;
    advice_is(&of, "read the file ahead");
    did.sampled.faulting = 40;
    advice_is(&of, "less of the work");
}

static void a_program_is_built_once(void **state)
{
    struct report_activity did = {.call = "clBuildProgram"};
    struct advice_case of = {.kind = CAUSE_STARTUP, .did = &did, .ns = 100};

    (void)state;
    advice_is(&of, "build each program once");
    of.kind = CAUSE_GPU_API;
    advice_is(&of, "build each program once");
    did.call = "clCreateBuffer";
    of.kind = CAUSE_STARTUP;
    advice_is(&of, NULL);
}

static void what_a_late_rank_did_has_a_kind(void **state)
{
    static const struct {
        const char *call;
        enum cause kind;
    } cases[] = {
        {NULL, CAUSE_HOST_COMPUTE},   {"MPI_Recv", CAUSES},
        {"clFinish", CAUSE_GPU_SYNC}, {"clock_nanosleep", CAUSE_SLEEP},
        {"close", CAUSE_IO},          {"cudaDeviceSynchronize", CAUSE_GPU_SYNC},
        {"fwrite", CAUSE_IO},         {"pthread_cond_wait", CAUSE_LOCK},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct report_activity did = {.call = cases[i].call};

        assert_int_equal(advice_kind(&did), cases[i].kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_has_its_own_advice_or_none),
        cmocka_unit_test(a_connection_is_no_file),
        cmocka_unit_test(a_thread_without_a_cpu_comes_first),
        cmocka_unit_test(more_work_is_not_what_all_lack),
        cmocka_unit_test(a_transfer_without_a_cpu_is_not_too_long),
        cmocka_unit_test(who_had_the_cpus_decides_what_to_try),
        cmocka_unit_test(a_lock_with_a_holder_has_advice),
        cmocka_unit_test(without_sampled_faults_none_are_advised_against),
        cmocka_unit_test(a_program_is_built_once),
        cmocka_unit_test(what_a_late_rank_did_has_a_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

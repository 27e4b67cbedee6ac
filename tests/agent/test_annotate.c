/* test_annotate.c - a program with ck.h, the injected library, a real ring
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The test is the agent: it makes the ring's file, starts the target with the
 * library preloaded, takes records out of the slots while it runs, and looks
 * at what is there afterwards.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/ring/ringfile.h"
#include "schema/event.h"
#include "schema/ring/ring.h"
#include "tests/workdir.h"

#define SLOTS 32
#define RECORDS_MAX 8000000
#define NAMES_MAX 4096
#define WAIT_MS 600000

/* One record that was taken out, names resolved. */
struct taken {
    struct ck_mark mark;
    const char *name;
    uint32_t tid;
    uint32_t incarnation;
};

struct scene {
    struct ringfile ring;
    char dir[WORKDIR_BYTES];
    struct taken *records;
    size_t count;
    uint64_t lost;
    uint64_t reentered;
    char *names[8][NAMES_MAX]; /* by incarnation and id */
    uint32_t reading[SLOTS];   /* by slot: the thread whose records follow */
    int status;
    char output[256];
};

static void
record_take(struct scene *scene, uint32_t index, const struct ck_event *event)
{
    const struct ck_ring_slot *slot = &ck_ring_heads(scene->ring.header)[index];
    const struct ck_text *text = (const struct ck_text *)event;
    struct taken *taken = &scene->records[scene->count];

    assert_true(slot->incarnation < 8);
    if (event->kind == CK_KIND_NAME) {
        assert_true(event->name < NAMES_MAX);
        scene->names[slot->incarnation][event->name] =
            strndup(ck_text_bytes(text), text->length);
    } else if (event->kind == CK_KIND_THREAD) {
        scene->reading[index] = (uint32_t)text->object;
    } else if (ck_kind_class(event->kind) == CK_CLASS_MARK) {
        assert_true(scene->count < RECORDS_MAX);
        memcpy(&taken->mark, event, sizeof(taken->mark));
        taken->name = scene->names[slot->incarnation][event->name];
        taken->tid = scene->reading[index];
        taken->incarnation = slot->incarnation;
        scene->count++;
    }
}

static void slot_drain(struct scene *scene, uint32_t index)
{
    struct ck_ring_slot *slot = &ck_ring_heads(scene->ring.header)[index];
    uint32_t state = CK_SLOT_ENDED;
    /* Held, so that no thread takes an ended slot meanwhile. */
    bool is_held =
        atomic_compare_exchange_strong(&slot->state, &state, CK_SLOT_CLAIMED);
    uint64_t mask = scene->ring.header->slot_bytes / CK_UNIT_BYTES - 1;
    uint64_t head, tail;
    const uint8_t *body;

    if (state != CK_SLOT_LIVE && state != CK_SLOT_ENDED) {
        return;
    }
    body = ringfile_body(&scene->ring, index);
    assert_non_null(body);
    head = atomic_load_explicit(&slot->head, memory_order_acquire);
    for (tail = atomic_load(&slot->tail); tail < head;) {
        const struct ck_event *event =
            (const void *)(body + (tail & mask) * CK_UNIT_BYTES);

        assert_true(event->units > 0);
        record_take(scene, index, event);
        tail += event->units;
    }
    assert_int_equal(tail, head);
    atomic_store_explicit(&slot->tail, tail, memory_order_release);
    if (is_held) {
        scene->lost += atomic_load(&slot->dropped);
        scene->reentered += atomic_load(&slot->reentered);
        atomic_store(&slot->state, CK_SLOT_FREE);
        atomic_fetch_add(&scene->ring.header->offers, 1);
    }
}

static void ring_drain(struct scene *scene)
{
    for (uint32_t i = 0; i < scene->ring.backed; i++) {
        slot_drain(scene, i);
    }
}

static pid_t target_start(struct scene *scene, const char *scenario, int out)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(out, STDOUT_FILENO);
        (void)setenv(CK_RING_ENV, scene->ring.path, 1);
        (void)setenv("LD_PRELOAD", CK_TEST_LIBRARY, 1);
        (void)execl(CK_TEST_TARGET, "annotate_target", scenario, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* Run the scenario to its end, draining all the while. */
static void scene_run(struct scene *scene, const char *scenario)
{
    int out[2];
    pid_t pid;
    ssize_t got;

    assert_int_equal(pipe(out), 0);
    pid = target_start(scene, scenario, out[1]);
    (void)close(out[1]);
    for (int ms = 0; waitpid(pid, &scene->status, WNOHANG) == 0; ms++) {
        if (ms > WAIT_MS) {
            (void)kill(pid, SIGKILL);
            fail_msg("%s did not end", scenario);
        }
        ring_drain(scene);
        (void)usleep(1000);
    }
    ring_drain(scene);
    got = read(out[0], scene->output, sizeof(scene->output) - 1);
    (void)close(out[0]);
    assert_true(got >= 0);
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct ringfile_wish wish = {
        .plan = {.slots = SLOTS,
                 .slot_bytes = CK_RING_SLOT_BYTES,
                 .outbox_bytes = 1 << 20},
        .sharers = 1,
        .clock = CK_CLOCK_TSC,
    };
    struct ck_err err;

    scene->records = malloc(RECORDS_MAX * sizeof(*scene->records));
    if (workdir_make(scene->dir) != 0 || scene->records == NULL) {
        return -1;
    }
    wish.dir = scene->dir;
    if (ringfile_create(&scene->ring, &wish, &err) != 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    (void)ringfile_back(&scene->ring, SLOTS, SLOTS);
    (void)ringfile_widen(&scene->ring, SLOTS, SLOTS);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    int rc;

    for (size_t i = 0; i < 8; i++) {
        for (size_t k = 0; k < NAMES_MAX; k++) {
            free(scene->names[i][k]);
        }
    }
    ringfile_unlink(&scene->ring);
    ringfile_fini(&scene->ring);
    rc = workdir_remove(scene->dir);
    free(scene->records);
    free(scene);
    return rc;
}

static void
taken_is(const struct taken *taken, int kind, const char *name, int64_t value)
{
    assert_int_equal(taken->mark.e.kind, kind);
    assert_int_equal(taken->mark.value, value);
    if (name == NULL) {
        assert_int_equal(taken->mark.e.name, 0);
    } else {
        assert_string_equal(taken->name, name);
    }
}

static void nested_ranges_and_steps_are_one_record_each(void **state)
{
    struct scene *scene = *state;
    const struct taken *taken = scene->records;

    scene_run(scene, "nested");
    assert_int_equal(scene->status, 0);
    assert_int_equal(scene->count, 5);
    taken_is(&taken[0], CK_KIND_MARK, "point", 42);
    taken_is(&taken[1], CK_KIND_VALUE, "loss", -3);
    taken_is(&taken[2], CK_KIND_RANGE, "inner", 1);
    taken_is(&taken[3], CK_KIND_RANGE, "outer", 0);
    taken_is(&taken[4], CK_KIND_STEP, "step", 7);
    for (int i = 2; i < 4; i++) {
        const struct ck_mark *in = &taken[i].mark;
        const struct ck_mark *around = &taken[i + 1].mark;

        assert_true(in->e.start >= around->e.start && in->dur > 0);
        assert_true(in->e.start + in->dur <= around->e.start + around->dur);
    }
    assert_int_equal(atomic_load(&scene->ring.header->loaded),
                     CK_LIBRARY_ANNOTATE);
}

static void an_open_range_stays_visible_after_kill(void **state)
{
    struct scene *scene = *state;
    struct ck_ring_slot *slot = ck_ring_heads(scene->ring.header);

    scene_run(scene, "crossed");
    assert_true(WIFSIGNALED(scene->status));
    assert_int_equal(scene->count, 1);
    taken_is(&scene->records[0], CK_KIND_STEP, "step", 1);
    assert_int_equal(atomic_load(&slot->depth), 1);
    assert_int_equal(slot->open[0].kind, CK_KIND_RANGE);
    assert_string_equal(scene->names[1][slot->open[0].name], "crossing");
    assert_true(slot->open[0].site != 0);
}

static void a_buffer_with_new_content_has_a_new_name(void **state)
{
    struct scene *scene = *state;
    static const char *const names[] = {
        "first",
        "second",
        "first",
        "a name that is longer than two words",
        "a name that is longer than two",
        "",
        NULL,
    };

    scene_run(scene, "reused");
    assert_int_equal(scene->count, 7);
    for (int i = 0; i < 7; i++) {
        taken_is(&scene->records[i], CK_KIND_MARK, names[i], i + 1);
    }
    assert_int_equal(scene->records[0].mark.e.name,
                     scene->records[2].mark.e.name);
}

static void ranges_deeper_than_the_bound_are_counted(void **state)
{
    struct scene *scene = *state;
    struct ck_ring_slot *slot = ck_ring_heads(scene->ring.header);

    scene_run(scene, "deep");
    assert_int_equal(scene->count, 65);
    taken_is(&scene->records[0], CK_KIND_RANGE, "level", 63);
    taken_is(&scene->records[63], CK_KIND_RANGE, "level", 0);
    taken_is(&scene->records[64], CK_KIND_MARK, "after", 0);
    assert_int_equal(atomic_load(&slot->dropped), 6);
    assert_int_equal(atomic_load(&slot->depth), 0);
}

static void a_forked_child_records_in_its_own_image(void **state)
{
    struct scene *scene = *state;
    size_t by_child = 0;

    scene_run(scene, "forked");
    assert_int_equal(scene->status, 0);
    assert_int_equal(scene->count, 5);
    for (size_t i = 0; i < scene->count; i++) {
        const struct taken *taken = &scene->records[i];

        assert_non_null(taken->name);
        if (taken->incarnation == 2) {
            by_child++;
            assert_string_not_equal(taken->name, "around");
        }
    }
    assert_int_equal(by_child, 3);
    assert_int_equal(atomic_load(&scene->ring.header->incarnations), 2);
}

static void a_program_after_exec_is_another_image(void **state)
{
    struct scene *scene = *state;

    scene_run(scene, "replaced");
    assert_int_equal(scene->status, 0);
    assert_int_equal(scene->count, 6);
    taken_is(&scene->records[0], CK_KIND_MARK, "before", 1);
    assert_int_equal(scene->records[0].incarnation, 1);
    assert_int_equal(scene->records[5].incarnation, 2);
    assert_int_equal(atomic_load(&scene->ring.header->loaded),
                     CK_LIBRARY_ANNOTATE);
}

static void each_thread_gives_its_slot_back(void **state)
{
    struct scene *scene = *state;
    uint64_t noslot;

    scene_run(scene, "threads");
    assert_int_equal(scene->status, 0);
    noslot = atomic_load(&scene->ring.header->noslot);
    assert_int_equal(scene->lost, 0);
    assert_int_equal(scene->count + noslot, 300 * 20);
    assert_true(scene->count > 0);
    for (uint32_t i = 0; i < scene->ring.backed; i++) {
        struct ck_ring_slot *slot = &ck_ring_heads(scene->ring.header)[i];

        assert_int_equal(atomic_load(&slot->state), CK_SLOT_FREE);
    }
}

static void a_handler_loses_records_only_by_count(void **state)
{
    struct scene *scene = *state;
    struct ck_ring_slot *slot = ck_ring_heads(scene->ring.header);
    int64_t by_main = 0, by_handler = 0;
    long long made, handled;

    scene_run(scene, "interrupted");
    assert_int_equal(scene->status, 0);
    assert_int_equal(sscanf(scene->output, "%lld %lld", &made, &handled), 2);
    for (size_t i = 0; i < scene->count; i++) {
        const struct taken *taken = &scene->records[i];

        assert_non_null(taken->name);
        if (strcmp(taken->name, "main") == 0) {
            assert_true(taken->mark.value > by_main);
            by_main = taken->mark.value;
        } else if (strcmp(taken->name, "handler") == 0) {
            assert_true(taken->mark.value > by_handler);
            by_handler = taken->mark.value;
        }
    }
    /* The first signal was raised in the open, the others came from a thread
     * at any moment; those of 100 that did not interrupt a record are kept. */
    assert_true(handled > 100 && by_handler > 1);
    assert_int_equal(scene->count + atomic_load(&slot->dropped) +
                         atomic_load(&slot->reentered) +
                         atomic_load(&scene->ring.header->noslot),
                     2 * (made + handled));
    assert_int_equal(atomic_load(&slot->depth), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(nested_ranges_and_steps_are_one_record_each),
        CASE(an_open_range_stays_visible_after_kill),
        CASE(a_buffer_with_new_content_has_a_new_name),
        CASE(ranges_deeper_than_the_bound_are_counted),
        CASE(a_forked_child_records_in_its_own_image),
        CASE(a_program_after_exec_is_another_image),
        CASE(each_thread_gives_its_slot_back),
        CASE(a_handler_loses_records_only_by_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

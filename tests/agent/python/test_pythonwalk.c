/* test_pythonwalk.c - threads and frames of an interpreter's memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory is this process' own, so it is read as another's would be.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/python/pythonwalk.h"
#include "tests/agent/python/image.h"
#include "tests/emulator.h"

static const uint32_t versions[] = {0x30b, 0x30c, 0x30d, 0x30e};

static struct image image;
static struct pythonprogram program;
static struct pythonframe frames[PYTHONWALK_FRAMES_MAX];
static size_t count;

static enum pythonwalk walk(void)
{
    uint64_t state = pythonwalk_thread(getpid(), &program, IMAGE_TID, 0);

    return state == 0
               ? PYTHONWALK_NO_THREAD
               : pythonwalk_frames(getpid(), &program, state, frames, &count);
}

static void frames_are_found_in_each_version(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        assert_int_equal(image_fill(&image, versions[i], &program), 0);
        assert_int_equal(walk(), PYTHONWALK_TWICE);
        assert_int_equal(count, IMAGE_FRAMES);
        for (size_t k = 0; k < count; k++) {
            assert_int_equal(frames[k].code, image_at(image.codes[k]));
        }
    }
}

static void other_versions_and_wrong_tables_are_refused(void **unused)
{
    static const uint32_t words[] = {5, 9, 21, 25, 30, 35, 39, 66, 70};

    (void)unused;
    assert_int_equal(image_fill(&image, 0x30a, &program), -1);
    assert_int_equal(image_fill(&image, 0x30f, &program), -1);
    assert_int_equal(image_fill(&image, 0x30d, &program), 0);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct pythonlayout layout;
        uint64_t kept;

        memcpy(&kept, image.runtime + 8 * words[i], sizeof(kept));
        image_put(image.runtime, 8 * words[i], UINT64_MAX - i);
        assert_int_equal(pythonlayout_read(getpid(), program.runtime,
                                           image_at(&image.version), &layout),
                         -1);
        image_put(image.runtime, 8 * words[i], kept);
    }
}

static void a_thread_is_known_by_its_number_alone(void **unused)
{
    uint64_t state;

    (void)unused;
    assert_int_equal(image_fill(&image, 0x30b, &program), 0);
    state = image_at(image.threads[1]);
    assert_int_equal(pythonwalk_thread(getpid(), &program, IMAGE_TID, 0),
                     state);
    /* What was its state once is another's now, or no memory. */
    assert_int_equal(pythonwalk_thread(getpid(), &program, IMAGE_TID,
                                       image_at(image.threads[0])),
                     state);
    assert_int_equal(pythonwalk_thread(getpid(), &program, IMAGE_TID, 64),
                     state);
    assert_int_equal(pythonwalk_thread(getpid(), &program, IMAGE_TID + 1, 0),
                     0);
}

static void lists_that_lead_into_themselves_end(void **unused)
{
    (void)unused;
    assert_int_equal(image_fill(&image, 0x30b, &program), 0);
    image_put(image.threads[1], program.layout.next_thread,
              image_at(image.threads[0]));
    image_put(image.interpreter, program.layout.next_interpreter,
              image_at(image.interpreter));
    assert_int_equal(pythonwalk_thread(getpid(), &program, 1, 0), 0);
    image_put(image.frames[2], program.layout.previous,
              image_at(image.frames[0]));
    assert_int_equal(walk(), PYTHONWALK_TWICE);
    assert_int_equal(count, PYTHONWALK_FRAMES_MAX);
}

static void pointers_into_nothing_give_no_frames(void **unused)
{
    (void)unused;
    assert_int_equal(image_fill(&image, 0x30b, &program), 0);
    image_put(image.frames[1], program.layout.previous, 0x1000);
    assert_int_equal(walk(), PYTHONWALK_DAMAGED);
    assert_int_equal(count, 0);
    image_put(image.frames[1], program.layout.previous,
              image_at(image.frames[2]) + 1);
    assert_int_equal(walk(), PYTHONWALK_DAMAGED);
    image_put(image.cframe, (uint32_t)program.layout.current, 0);
    assert_int_equal(walk(), PYTHONWALK_EMPTY);
}

static atomic_bool is_over;

/* Calls and returns: the innermost frame comes and goes. */
static void *change(void *unused)
{
    volatile uint64_t *top =
        (uint64_t *)(void *)(image.cframe + program.layout.current);

    (void)unused;
    while (!atomic_load(&is_over)) {
        *top = image_at(image.frames[0]);
        *top = image_at(image.frames[1]);
    }
    return NULL;
}

static void outer_frames_of_a_thread_that_runs_are_right(void **unused)
{
    pthread_t thread;

    (void)unused;
    assert_int_equal(image_fill(&image, 0x30b, &program), 0);
    atomic_store(&is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, change, NULL), 0);
    for (int i = 0; i < 2000; i++) {
        enum pythonwalk how = walk();

        assert_in_range(how, PYTHONWALK_TWICE, PYTHONWALK_OUTER);
        assert_in_range(count, IMAGE_FRAMES - 1, IMAGE_FRAMES);
        assert_int_equal(frames[count - 1].code, image_at(image.codes[2]));
        assert_int_equal(frames[count - 2].code, image_at(image.codes[1]));
    }
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void a_process_that_is_gone_has_no_thread(void **unused)
{
    (void)unused;
    assert_int_equal(image_fill(&image, 0x30b, &program), 0);
    assert_int_equal(pythonwalk_thread(0x3fffffff, &program, IMAGE_TID,
                                       image_at(image.threads[1])),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_found_in_each_version),
        cmocka_unit_test(other_versions_and_wrong_tables_are_refused),
        cmocka_unit_test(a_thread_is_known_by_its_number_alone),
        cmocka_unit_test(lists_that_lead_into_themselves_end),
        cmocka_unit_test(pointers_into_nothing_give_no_frames),
        cmocka_unit_test(outer_frames_of_a_thread_that_runs_are_right),
        cmocka_unit_test(a_process_that_is_gone_has_no_thread),
    };

    if (is_emulated()) {
        print_message("skipped in an emulator: no process_vm_readv\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

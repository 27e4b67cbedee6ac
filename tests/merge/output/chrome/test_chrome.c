/* test_chrome.c - counters of device memory in a Chrome trace
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "merge/model/comm.h"
#include "merge/output/chrome/chrome.h"

#define DEVICES 2

static struct defs *defs;
static struct align *align;
static struct chrome *chrome;
static char path[] = "/tmp/ck-chrome.XXXXXX";
static char text[65536];

/* A process with two devices of one name. */
static int setup(void **state)
{
    uint8_t id[16] = {1};
    struct ck_err err;
    int fd;

    (void)state;
    defs = defs_create();
    (void)defs_process_find(defs, defs_agent_find(defs, id), 1);
    defs->processes[0].devices =
        calloc(DEVICES, sizeof(*defs->processes[0].devices));
    defs->processes[0].devices_count = DEVICES;
    defs->processes[0].devices_room = DEVICES;
    for (uint32_t i = 0; i < DEVICES; i++) {
        defs->processes[0].devices[i] =
            (struct defs_device){.number = i + 1,
                                 .name = texts_keep(defs->texts, "GPU", 3),
                                 .uuid = "",
                                 .sub = DEFS_NONE};
    }
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    strcpy(path + sizeof(path) - 7, "XXXXXX");
    fd = mkstemp(path);
    chrome = chrome_create(path, defs, align, (struct region){0, 1000}, &err);
    return chrome == NULL || fd < 0 || close(fd) != 0;
}

static int teardown(void **state)
{
    (void)state;
    chrome_destroy(chrome);
    align_destroy(align);
    defs_destroy(defs);
    return unlink(path);
}

static void allocated(ck_time_t time, uint32_t device, uint64_t bytes)
{
    struct ck_stacked record = {
        .e = {.kind = CK_KIND_DEVICE_ALLOCATED, .start = time},
        .bytes = bytes,
        .mean = device};
    struct timeline_event event = {
        .record = &record.e, .start = time, .end = time, .rank = -1};

    assert_int_equal(chrome_take(chrome, &event), 0);
}

/* What is in the file. */
static const char *written(void)
{
    static struct report report = {.name = "run", .version = ""};
    struct ck_err err;
    FILE *file;
    size_t length;

    assert_int_equal(chrome_finish(chrome, &report, &err), 0);
    file = fopen(path, "r");
    assert_non_null(file);
    length = fread(text, 1, sizeof(text) - 1, file);
    assert_int_equal(fclose(file), 0);
    text[length] = '\0';
    return text;
}

/* Readers of traces have one counter for all events of one name and id. */
static void devices_of_one_name_have_counters_of_their_own(void **state)
{
    (void)state;
    allocated(10, 1, 100);
    allocated(20, 2, 30);
    assert_non_null(strstr(written(), "\"name\":\"memory of GPU\",\"id\":\"0\","
                                      "\"ts\":0.010,\"args\":{\"value\":100}"));
    assert_non_null(strstr(text, "\"name\":\"memory of GPU\",\"id\":\"1\","
                                 "\"ts\":0.020,\"args\":{\"value\":30}"));
}

static void a_block_larger_than_any_is_not_in_the_counter(void **state)
{
    (void)state;
    allocated(10, 1, 100);
    allocated(20, 1, CK_BLOCK_BYTES_MAX + 1);
    allocated(30, 1, 1);
    assert_non_null(strstr(written(), "\"ts\":0.030,\"args\":{\"value\":101}"));
    assert_null(strstr(text, "\"ts\":0.020"));
}

/* Damaged records; each alone could be true. */
static void a_sum_larger_than_any_number_does_not_wrap(void **state)
{
    (void)state;
    for (int i = 0; i < 32769; i++) {
        allocated(2000, 1, CK_BLOCK_BYTES_MAX);
    }
    allocated(10, 1, 1);
    assert_null(strstr(written(), "\"value\":-"));
    assert_non_null(strstr(text, "\"value\":9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            devices_of_one_name_have_counters_of_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_block_larger_than_any_is_not_in_the_counter, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_sum_larger_than_any_number_does_not_wrap, setup, teardown),
    };

    return cmocka_run_group_tests_name("chrome", tests, NULL, NULL);
}

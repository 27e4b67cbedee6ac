/* test_openclmemory.c - an object whose end cannot be seen is not live for ever
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/opencl/openclmemory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "agent/inject/liveblocks.h"
#include "agent/inject/opencl/opencldevice.h"
#include "tests/agent/inject/injectring.h"

static cl_int answer; /* of the driver, to who asks for an object's end */

static cl_int CL_API_CALL callback_set(
    cl_mem object, void(CL_CALLBACK *callback)(cl_mem, void *), void *data)
{
    (void)object;
    (void)callback;
    (void)data;
    return answer;
}

static const struct _cl_icd_dispatch driver = {
    .clSetMemObjectDestructorCallback = callback_set,
};
const struct _cl_icd_dispatch *opencl_driver = &driver;

/* The objects are of no context. */
struct opencl_device *device_find(cl_device_id handle)
{
    (void)handle;
    return NULL;
}

uint32_t device_number(struct opencl_device *device)
{
    (void)device;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return injectring_make(CK_LIBRARY_OPENCL, CK_CLOCK_RAW);
}

static int teardown(void **state)
{
    (void)state;
    return injectring_remove();
}

static void object_make(uint64_t address)
{
    const struct opencl_call call = {
        .call = {.writer = &inject_thread, .slot = inject_thread.slot}};
    const struct memory_made made = {.object = (const void *)(uintptr_t)address,
                                     .bytes = 100};

    memory_object(&call, &made);
}

static void an_object_is_live_until_its_end(void **state)
{
    (void)state;
    injectring_empty();
    answer = CL_SUCCESS;
    object_make(0x1000);
    assert_int_equal(injectring_count(CK_KIND_DEVICE_ALLOCATED), 1);
    assert_int_equal(injectring_count(CK_KIND_DEVICE_FREED), 0);
    assert_int_equal(memory_shared_gone((const void *)0x1000), 100);
    assert_int_equal(injectring_count(CK_KIND_DEVICE_FREED), 1);
}

static void one_whose_end_has_no_callback_is_not(void **state)
{
    (void)state;
    injectring_empty();
    answer = CL_OUT_OF_RESOURCES;
    object_make(0x2000);
    object_make(0x3000);
    assert_int_equal(injectring_count(CK_KIND_DEVICE_ALLOCATED), 2);
    assert_int_equal(injectring_count(CK_KIND_DEVICE_FREED), 2);
    assert_int_equal(injectring_count(CK_KIND_NOTE), 1);
    assert_int_equal(memory_shared_gone((const void *)0x2000), 0);
}

static void one_without_a_place_is_not(void **state)
{
    size_t set = liveblocks_set((const void *)0x5000);
    unsigned made = 0;

    (void)state;
    injectring_empty();
    answer = CL_SUCCESS;
    for (uint64_t address = 0x5000; made < LIVEBLOCKS_WAYS + 2; address += 16) {
        if (liveblocks_set((const void *)(uintptr_t)address) == set) {
            object_make(address);
            made++;
        }
    }
    assert_int_equal(injectring_count(CK_KIND_DEVICE_ALLOCATED), made);
    assert_int_equal(injectring_count(CK_KIND_DEVICE_FREED), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_live_until_its_end),
        cmocka_unit_test(one_whose_end_has_no_callback_is_not),
        cmocka_unit_test(one_without_a_place_is_not),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

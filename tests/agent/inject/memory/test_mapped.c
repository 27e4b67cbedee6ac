/* test_mapped.c - sampled mappings that are given back in parts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/memory/mapped.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "agent/inject/liveblocks.h"
#include "agent/inject/memory/memorysample.h"
#include "tests/agent/inject/injectring.h"

#define PAGE ((uint64_t)4096)
#define AT ((uint64_t)0x7f0000000000)
#define MEAN 80000

static struct inject_label label = INJECT_LABEL("munmap");
static struct live_block cut;

static int make(void **state)
{
    (void)state;
    return injectring_make(CK_LIBRARY_MEMORY, CK_CLOCK_RAW);
}

static int destroy(void **state)
{
    (void)state;
    return injectring_remove();
}

static int setup(void **state)
{
    (void)state;
    injectring_empty();
    return 0;
}

/* Nothing of a case is live in the next one. */
static int teardown(void **state)
{
    (void)state;
    (void)mapped_leave((const void *)(uintptr_t)AT, 1 << 30, &label, &cut);
    return 0;
}

static const void *page(uint64_t number)
{
    return (const void *)(uintptr_t)(AT + number * PAGE);
}

/* A sampled mapping. */
static void map(uint64_t first, uint64_t pages)
{
    struct live_block block = {.address = AT + first * PAGE,
                               .site = 0x1230,
                               .bytes = pages * PAGE,
                               .stack = 5,
                               .mean = MEAN};

    assert_true(liveblocks_add(&block));
    mapped_add(page(first), pages * PAGE);
}

static bool unmap(uint64_t first, uint64_t pages)
{
    return mapped_leave(page(first), pages * PAGE, &label, &cut);
}

/* Is so much of `all` pages a block of its own, which represents its share? */
static void assert_rest(uint64_t first, uint64_t pages, uint64_t all)
{
    struct live_block rest;

    assert_true(liveblocks_remove(page(first), &rest));
    assert_int_equal(rest.bytes, pages * PAGE);
    assert_int_equal(rest.mean, MEAN * pages / all);
    assert_int_equal(rest.site, 0x1230);
    assert_int_equal(rest.stack, 5);
    assert_true(liveblocks_add(&rest));
}

static void assert_records(unsigned freed, unsigned allocated)
{
    assert_int_equal(injectring_count(CK_KIND_FREED), freed);
    assert_int_equal(injectring_count(CK_KIND_ALLOCATED), allocated);
}

static void without_its_head_a_mapping_is_its_tail(void **state)
{
    (void)state;
    map(0, 8);
    assert_true(unmap(0, 2));
    assert_int_equal(cut.bytes, 8 * PAGE);
    assert_false(liveblocks_remove(page(0), &cut));
    assert_rest(2, 6, 8);
    assert_records(1, 1);
}

static void without_its_tail_a_mapping_is_its_head(void **state)
{
    (void)state;
    map(0, 8);
    assert_true(unmap(5, 3));
    assert_rest(0, 5, 8);
    assert_records(1, 1);
}

static void without_its_middle_a_mapping_is_two(void **state)
{
    (void)state;
    map(0, 8);
    assert_true(unmap(2, 2));
    assert_rest(0, 2, 8);
    assert_rest(4, 4, 8);
    assert_records(1, 2);
    /* Each is a mapping that may go in parts. */
    assert_true(unmap(6, 1));
    assert_rest(4, 2, 8);
    assert_rest(7, 1, 8);
    assert_records(2, 4);
}

static void of_a_mapping_that_goes_nothing_is_left(void **state)
{
    (void)state;
    map(0, 8);
    assert_true(unmap(0, 8));
    assert_false(unmap(0, 8));
    assert_records(1, 0);
}

static void one_munmap_takes_from_all_that_it_meets(void **state)
{
    (void)state;
    map(0, 8);
    map(8, 4);
    map(12, 8);
    assert_true(unmap(6, 8));
    assert_rest(0, 6, 8);
    assert_false(liveblocks_remove(page(8), &cut));
    assert_rest(14, 6, 8);
    assert_records(3, 2);
}

static void what_is_beside_a_mapping_is_none_of_it(void **state)
{
    (void)state;
    map(2, 4);
    assert_false(unmap(0, 2));
    assert_false(unmap(6, 9));
    assert_false(unmap(3, 0));
    assert_rest(2, 4, 4);
    assert_records(0, 0);
}

/* munmap() of a byte takes its page. */
static void parts_are_whole_pages(void **state)
{
    (void)state;
    map(0, 4);
    assert_true(mapped_leave(page(0), 1, &label, &cut));
    assert_rest(1, 3, 4);
    assert_true(mapped_leave(page(1), PAGE + 1, &label, &cut));
    assert_rest(3, 1, 4);
}

static void what_the_kernel_refuses_to_take_stays(void **state)
{
    (void)state;
    map(0, 8);
    assert_true(unmap(2, 3));
    mapped_return(&cut, page(2), 3 * PAGE, &label);
    assert_rest(0, 2, 8);
    assert_rest(2, 3, 8);
    assert_rest(5, 3, 8);
    /* Of one that went as a whole, and of more than it was. */
    map(20, 2);
    assert_true(unmap(19, 4));
    mapped_return(&cut, page(19), 4 * PAGE, &label);
    assert_rest(20, 2, 2);
}

/* As mremap() does: gone there, and another one here. */
static void a_mapping_that_moved_is_where_it_is(void **state)
{
    (void)state;
    map(0, 4);
    assert_true(unmap(0, 4));
    map(100, 8);
    assert_false(unmap(0, 4));
    assert_true(unmap(104, 4));
    assert_rest(100, 4, 8);
}

/* free() of a block that is no mapping is not known here. */
static void a_block_that_went_elsewhere_is_not_cut(void **state)
{
    (void)state;
    map(0, 4);
    assert_true(liveblocks_remove(page(0), &cut));
    assert_false(unmap(0, 1));
    assert_records(0, 0);
}

static void a_childs_mappings_are_its_own(void **state)
{
    (void)state;
    map(0, 4);
    mapped_forget();
    assert_false(unmap(0, 1));
    assert_true(liveblocks_remove(page(0), &cut));
    map(0, 4);
    assert_true(unmap(0, 1));
    assert_rest(1, 3, 4);
}

static unsigned notes(void)
{
    unsigned count = injectring_count(CK_KIND_NOTE);

    injectring_empty();
    return count;
}

static void beyond_the_limit_parts_are_not_followed(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < MAPPED_MAX; i++) {
        map(4 * i, 2);
    }
    assert_int_equal(notes(), 0);
    map(4 * MAPPED_MAX, 2);
    assert_int_equal(notes(), 1);
    assert_false(unmap(4 * MAPPED_MAX, 1));
    assert_true(liveblocks_remove(page(4 * MAPPED_MAX), &cut));
    map(4 * MAPPED_MAX, 2);
    assert_int_equal(notes(), 0);
    assert_true(liveblocks_remove(page(4 * MAPPED_MAX), &cut));
    assert_true(unmap(0, 2));
    map(4 * MAPPED_MAX, 2);
    assert_true(unmap(4 * MAPPED_MAX, 1));
    assert_rest(4 * MAPPED_MAX + 1, 1, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_its_head_a_mapping_is_its_tail),
        CASE(without_its_tail_a_mapping_is_its_head),
        CASE(without_its_middle_a_mapping_is_two),
        CASE(of_a_mapping_that_goes_nothing_is_left),
        CASE(one_munmap_takes_from_all_that_it_meets),
        CASE(what_is_beside_a_mapping_is_none_of_it),
        CASE(parts_are_whole_pages),
        CASE(what_the_kernel_refuses_to_take_stays),
        CASE(a_mapping_that_moved_is_where_it_is),
        CASE(a_block_that_went_elsewhere_is_not_cut),
        CASE(a_childs_mappings_are_its_own),
        CASE(beyond_the_limit_parts_are_not_followed),
    };

    return cmocka_run_group_tests(tests, make, destroy);
}

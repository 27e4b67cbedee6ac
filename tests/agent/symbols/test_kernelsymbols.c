/* test_kernelsymbols.c - functions of the kernel by lines of /proc/kallsyms
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/symbols/kernelsymbols.h"

#define COUNT 5

static const char text[] = "0000000000000000 A hidden\n"
                           "ffffffff81000000 T _text\n"
                           "ffffffff81000100 t vfs_read\n"
                           "ffffffff81000180 d data_is_none\n"
                           "ffffffff81000200 W ksys_read\n"
                           "ffffffffc0500000 t later\t[module]\n"
                           "ffffffffc0402000 t ext4_init\t[ext4]\n";

static size_t
find(struct kernelsymbol *symbols, size_t count, const char *lines)
{
    FILE *file = fmemopen((void *)(uintptr_t)lines, strlen(lines), "r");
    size_t found;

    assert_non_null(file);
    found = kernelsymbols_find(file, symbols, count);
    assert_int_equal(fclose(file), 0);
    return found;
}

static void addresses_have_the_function_before_them(void **state)
{
    struct kernelsymbol symbols[COUNT] = {
        {.address = 0xffffffffc0402010}, {.address = 0xffffffff81000190},
        {.address = 0xffffffff81000100}, {.address = 0xffffffff810fffff},
        {.address = 0xffffffff80000000},
    };

    (void)state;
    assert_int_equal(find(symbols, COUNT, text), 3);
    assert_string_equal(symbols[0].name, ""); /* before all */
    assert_string_equal(symbols[1].name, "vfs_read");
    assert_string_equal(symbols[2].name, "vfs_read");
    assert_string_equal(symbols[3].name, ""); /* far behind all */
    assert_string_equal(symbols[4].name, "ext4_init");
}

static void lines_cut_anywhere_are_no_fault(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < sizeof(text); cut++) {
        struct kernelsymbol symbol = {.address = 0xffffffff81000190};
        char part[sizeof(text)];

        memcpy(part, text, cut);
        part[cut] = '\0';
        assert_true(find(&symbol, 1, part) <= 1);
    }
}

static void the_kernel_that_runs_names_its_own(void **state)
{
    struct kernelsymbol symbol = {.address = 0};
    char line[1024], type, name[512];
    FILE *file = fopen("/proc/kallsyms", "r");
    unsigned long address = 0;

    (void)state;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "%lx %c %511s", &address, &type, name) == 3 &&
            strcmp(name, "vfs_read") == 0) {
            break;
        }
    }
    if (file == NULL || address == 0 || strcmp(name, "vfs_read") != 0) {
        skip();
    }
    rewind(file);
    symbol.address = address + 1;
    assert_int_equal(kernelsymbols_find(file, &symbol, 1), 1);
    assert_string_equal(symbol.name, "vfs_read");
    assert_int_equal(fclose(file), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_have_the_function_before_them),
        cmocka_unit_test(lines_cut_anywhere_are_no_fault),
        cmocka_unit_test(the_kernel_that_runs_names_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

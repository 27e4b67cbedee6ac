/* test_module.c - what cannot be loaded is named, with why
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/child.h"
#include "launch/module.h"

#define THERE "libckpfm.so"
#define CUT "libcktestcut.so"

static void what_is_there_is_found_again(void **state)
{
    struct ck_err err = {""};
    void *first = ck_module_symbol(THERE, "counterevent_find", &err);

    (void)state;
    assert_string_equal(err.text, "");
    assert_non_null(first);
    assert_ptr_equal(ck_module_symbol(THERE, "counterevent_find", NULL), first);
}

static void what_is_not_there_is_named(void **state)
{
    struct ck_err err = {""};

    (void)state;
    assert_null(ck_module_symbol("libcknosuch.so", "any", &err));
    assert_non_null(strstr(err.text, "libcknosuch.so is not in "));
    assert_null(ck_module_symbol(THERE, "no_such_name", &err));
    assert_non_null(strstr(err.text, THERE ": "));
    assert_non_null(strstr(err.text, "no_such_name"));
}

/* The first bytes of a library, as a full disk leaves them. */
static void a_cut_file_is_refused(void **state)
{
    struct ck_err err = {""};
    char there[PATH_MAX], cut[PATH_MAX + sizeof(CUT)];
    unsigned char bytes[100];
    FILE *file;

    (void)state;
    assert_int_equal(ck_child_find(THERE, there, &err), 0);
    file = fopen(there, "r");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof(bytes), file), sizeof(bytes));
    (void)fclose(file);
    (void)snprintf(cut, sizeof(cut), "%.*s%s",
                   (int)(strrchr(there, '/') + 1 - there), there, CUT);
    file = fopen(cut, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, sizeof(bytes), file), sizeof(bytes));
    (void)fclose(file);
    assert_null(ck_module_symbol(CUT, "any", &err));
    (void)unlink(cut);
    assert_non_null(strstr(err.text, CUT ": "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_found_again),
        cmocka_unit_test(what_is_not_there_is_named),
        cmocka_unit_test(a_cut_file_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

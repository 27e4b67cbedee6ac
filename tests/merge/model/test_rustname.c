/* test_rustname.c - names of Rust as their source has them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The names are rustc 1.95's; what they are is what c++filt 2.40 has, less its
 * hashes of crates, types of constants and lifetimes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge/model/demangle.h"
#include "merge/model/rustname.h"
#include "merge/output/cxxname.h"

static const struct {
    const char *name, *plain;
} names[] = {
    {"_RNvCshhNdl82Kjmm_1g4main", "g::main"},
    {"_RNCNvCshhNdl82Kjmm_1g4main0B3_", "g::main::{closure#0}"},
    {"_RINvCshhNdl82Kjmm_1g3geneThAnj4_EEB2_",
     "g::gen::<str, (u8, [i128; 4])>"},
    {"_RINvCshhNdl82Kjmm_1g3genDNtNtCsgEmfK2I1SDS_4core3fmt5DebugNtNtBr_"
     "6marker4SendEL_FjEzEB2_",
     "g::gen::<dyn core::fmt::Debug + core::marker::Send, fn(usize) -> !>"},
    {"_RINvCshhNdl82Kjmm_1g4passNCNvB2_4mains0_0INtNtNtCslNYArtu3iFV_5alloc"
     "3vec9into_iter8IntoIterxEEB2_",
     "g::pass::<g::main::{closure#2}, alloc::vec::into_iter::IntoIter<i64>>"},
    {"_RNvMs_CshhNdl82Kjmm_1gINtB4_3FoohKj3_E3ownB4_", "<g::Foo<u8, 3>>::own"},
    {"_RNvXs0_CshhNdl82Kjmm_1gINtB5_3FoohKj3_ENtNtCsgEmfK2I1SDS_4core3fmt"
     "7Display3fmt",
     "<g::Foo<u8, 3> as core::fmt::Display>::fmt"},
    {"_RNSNvYNCNvCshhNdl82Kjmm_1g4main0INtNtNtCsgEmfK2I1SDS_4core3ops8function"
     "6FnOnceTlEE9call_once6vtableB8_",
     "<g::main::{closure#0} as core::ops::function::FnOnce<(i32,)>>::"
     "call_once::{shim:vtable#0}"},
    {"_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCslNYArtu3iFV_5alloc"
     "5boxed3BoxDINtNtNtB4_3ops8function2FnTlEEp6OutputlEL_EECshhNdl82Kjmm_1g"
     ".llvm.7480849790867028666",
     "core::ptr::drop_in_place::<alloc::boxed::Box<dyn "
     "core::ops::function::Fn<(i32,), Output = i32>>>"},
    {"_RNvMs_C1gINtB4_1CKb1_Kc71_Kln5_E2go", "<g::C<true, 113, -5>>::go"},
    {"_RNvNtNtCshhNdl82Kjmm_1g4deep2eru8nave_6pa",
     "g::deep::er::punycode{nave_6pa}"},
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static void a_name_is_that_of_its_source(void **state)
{
    char plain[4096];

    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        char *found = demangle_name(names[i].name);

        assert_true(rustname_whole(plain, sizeof(plain), names[i].name));
        assert_string_equal(plain, names[i].plain);
        assert_non_null(found);
        assert_string_equal(found, names[i].plain);
        free(found);
    }
}

static void what_a_person_reads_has_no_arguments(void **state)
{
    static const char *const short_names[NAMES] = {
        [2] = "g::gen",
        [4] = "g::pass",
        [5] = "<g::Foo>::own",
        [6] = "<g::Foo as core::fmt::Display>::fmt",
        [8] = "core::ptr::drop_in_place",
    };
    char plain[4096];

    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        if (short_names[i] != NULL) {
            assert_true(cxxname_plain(plain, sizeof(plain), names[i].name));
            assert_string_equal(plain, short_names[i]);
        }
    }
    assert_true(cxxname_plain(plain, sizeof(plain),
                              "_ZN4core5slice4sort17h0123456789abcdefE"));
    assert_string_equal(plain, "core::slice::sort");
}

/* In room of its own size, so that a sanitizer sees what is read behind it. */
static void a_name_that_is_cut_is_none(void **state)
{
    char plain[256];

    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        size_t length = strcspn(names[i].name, ".");

        for (size_t cut = 0; cut < length; cut++) {
            char *part = strndup(names[i].name, cut);

            /* What makes an instance may be missing. */
            if (rustname_whole(plain, sizeof(plain), part)) {
                assert_string_equal(plain, names[i].plain);
            }
            free(part);
        }
    }
}

static void a_name_has_the_room_that_it_gets(void **state)
{
    char plain[16];

    (void)state;
    assert_true(rustname_whole(plain, 8, names[0].name));
    assert_false(rustname_whole(plain, 7, names[0].name));
}

/* Tuples of what is before them, each twice as long: it ends with the room. So
 * do references in what is not printed, and to themselves. */
static void hostile_names_take_no_time(void **state)
{
    char name[2048] = "_RINvC1a1bTeeE";
    char plain[4096];

    (void)state;
    for (int i = 0; i < 40; i++) {
        char last[16];

        (void)snprintf(last, sizeof(last), "TB%c_B%c_E", "6789abcdefgh"[i % 12],
                       "6789abcdefgh"[i % 12]);
        strcat(name, last);
    }
    strcat(name, "E");
    assert_false(rustname_whole(plain, sizeof(plain), name));
    assert_false(rustname_whole(plain, sizeof(plain), "_RB_"));
    assert_false(rustname_whole(plain, sizeof(plain), "_RNvB_1a"));
    assert_false(rustname_whole(plain, sizeof(plain), "_RMB_B_"));
    memset(name, 'T', sizeof(name) - 1);
    memcpy(name, "_RIC1a", 6);
    assert_false(rustname_whole(plain, sizeof(plain), name));
    assert_false(rustname_whole(plain, sizeof(plain),
                                "_RNvC99999999999999999"
                                "99999999999991a"));
}

static void names_of_the_older_mangling_lose_their_hash(void **state)
{
    static const struct {
        const char *name, *plain;
    } older[] = {
        {"_ZN4core5slice4sort17h0123456789abcdefE", "core::slice::sort"},
        {"_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into"
         "17h0123456789abcdefE",
         "<T as core::convert::Into<U>>::into"},
        {"_ZN4core5slice4sort17h0123456789abcdefE.llvm.7480849790867028666",
         "core::slice::sort"},
        {"_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into"
         "17h0123456789abcdefE.llvm.48F2A0@@11",
         "<T as core::convert::Into<U>>::into"},
        {"_ZN4core5slice4sortE", "core::slice::sort"},
        {"_Z4sortv.llvm.12", "sort() [clone .llvm.12]"},
        {"_ZN3one4hashE", "one::hash"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(older) / sizeof(older[0]); i++) {
        char *plain = demangle_name(older[i].name);

        assert_non_null(plain);
        assert_string_equal(plain, older[i].plain);
        free(plain);
    }
}

static void other_names_stay(void **state)
{
    (void)state;
    assert_null(demangle_name("_R"));
    assert_null(demangle_name("_Run"));
    assert_null(demangle_name("main"));
    assert_null(demangle_name("_RNvCs_1g4mainX"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_that_of_its_source),
        cmocka_unit_test(what_a_person_reads_has_no_arguments),
        cmocka_unit_test(a_name_that_is_cut_is_none),
        cmocka_unit_test(a_name_has_the_room_that_it_gets),
        cmocka_unit_test(hostile_names_take_no_time),
        cmocka_unit_test(names_of_the_older_mangling_lose_their_hash),
        cmocka_unit_test(other_names_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

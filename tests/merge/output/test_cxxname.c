/* test_cxxname.c - names of C++, as compilers write them, and broken ones
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

#include <cmocka.h>

#include "merge/output/cxxname.h"

static const struct {
    const char *mangled;
    const char *plain; /* NULL = left as it is */
} cases[] = {
    {"_ZN2at16CPUGeneratorImpl6randomEv", "at::CPUGeneratorImpl::random"},
    {"_ZNSt6thread4joinEv", "std::thread::join"},
    {"_Z3fooi", "foo"},
    {"_ZL4stepPf", "step"},
    {"_Z3addIfEvPT_S1_i", "add<...>"},
    {"_ZSt4sortIPiEvT_S1_", "std::sort<...>"},
    {"_ZNK5torch8autograd4Node4nameEv", "torch::autograd::Node::name"},
    {"_ZN3OneC2Ei", "One::One"},
    {"_ZN3OneD1Ev", "One::~One"},
    {"_ZN12_GLOBAL__N_14workEv", "(anonymous)::work"},
    {"_ZN1aclEv", "a::operator()"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIff"
     "fNS0_15binary_internal10MulFunctorIfEEEESt5arrayIPcLm3EEEEviT0_T1_",
     "at::native::vectorized_elementwise_kernel<...>"},
    {"_ZN3foo3barILN2ns4EnumE2EEEvv", "foo::bar<...>"},
    {"_Z1fIL_Z1gvEEvv", "f<...>"},
    {"_Z1fIA10_iEvRT_", "f<...>"},
    {"MPI_Allreduce", NULL},
    {"_Z", NULL},
    {"_ZN", NULL},
    {"_ZNE", NULL},
    {"_ZN7shortE", NULL},
    {"_Z99foo", NULL},
    {"_ZN1aILi", NULL},
    {"_ZTV3One", NULL},
    {"_ZN1aIZNS_1bEvEUlvE_EEvv", "a<...>"},
    {"_ZN9__gnu_cxxneIPiSt6vectorIiSaIiEEEEbRKNS_17__normal_iteratorIT_T0_EE"
     "SA_",
     "__gnu_cxx::operator!=<...>"},
    {"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
     "std::operator<<<...>"},
    {"_ZNSolsEi", "std::ostream::operator<<"},
    {"_ZNSsC1EPKcRKSaIcE", "std::string::string"},
    {"_ZN6MatrixixEm", "Matrix::operator[]"},
    {"_ZeqRK1aS1_", "operator=="},
    {"_ZZ4mainENKUlvE_clEv", "main::{lambda}::operator()"},
    {"_ZZN3app3runEiENKUliE0_clEi", "app::run::{lambda}::operator()"},
    {"_ZZZN3app3runEvENKUlvE_clEvENKUlvE1_clEv",
     "app::run::{lambda}::operator()::{lambda}::operator()"},
    {"_ZSt6invokeIZ4mainEUlT_E_JiEEvOS0_DpOT0_", "std::invoke<...>"},
    {"_ZN3foo3barB5cxx11Ev", "foo::bar"},
    {"_ZN1aUt_1bEv", "a::{unnamed}::b"},
    {"_ZN1aqqEv", NULL},
    {"_ZZ4main", NULL},
    {"_ZZ4mainE", NULL},
    {"_ZZ4mainENKUl", NULL},
};

static void names_are_spelled_out_or_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char plain[256] = "";
        int is_known = cxxname_plain(plain, sizeof(plain), cases[i].mangled);

        if (is_known != (cases[i].plain != NULL)) {
            fail_msg("%s: %s", cases[i].mangled, plain);
        }
        if (is_known) {
            assert_string_equal(plain, cases[i].plain);
        }
    }
}

static void a_name_cut_anywhere_stays_within_its_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t length = strlen(cases[i].mangled);

        for (size_t cut = 0; cut <= length; cut++) {
            char *text = strndup(cases[i].mangled, cut);
            char plain[64];

            assert_non_null(text);
            (void)cxxname_plain(plain, sizeof(plain), text);
            (void)cxxname_plain(plain, 4, text);
            free(text);
        }
    }
}

/* Arguments within arguments have a bound. */
static void a_name_that_nests_without_end_is_left(void **state)
{
    static char text[60000] = "_Z1f";
    char plain[64];

    (void)state;
    memset(text + 4, 'I', sizeof(text) - 5);
    assert_false(cxxname_plain(plain, sizeof(plain), text));
    for (size_t i = 5; i + 2 < sizeof(text) - 1; i += 2) {
        memcpy(text + i, "LN", 2);
    }
    assert_false(cxxname_plain(plain, sizeof(plain), text));
    for (size_t i = 5; i + 2 < sizeof(text) - 1; i += 2) {
        memcpy(text + i, "Ul", 2);
    }
    assert_false(cxxname_plain(plain, sizeof(plain), text));
    memset(text + 2, 'Z', sizeof(text) - 3);
    assert_false(cxxname_plain(plain, sizeof(plain), text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_spelled_out_or_left),
        cmocka_unit_test(a_name_cut_anywhere_stays_within_its_bytes),
        cmocka_unit_test(a_name_that_nests_without_end_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

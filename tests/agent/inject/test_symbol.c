/* test_symbol.c - definitions found without the loader are those it finds
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/symbol.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Those that ckposix asks for, and kinds of their own: of several versions,
 * chosen by the processor, data, of the loader. */
static const char *const names[] = {
#define POSIX_ENTRY(symbol, name, words, shape) #symbol,
#include "agent/inject/posix/posix.def"
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_rwlock_tryrdlock",
    "sem_trywait",
    "fopen",
    "fread",
    "fflush",
    "_exit",
    "quick_exit",
    "prctl",
    "syscall",
    "memcpy",
    "strlen",
    "stdout",
    "realpath",
    "__tls_get_addr",
    "_dl_find_object",
};

static void the_next_definition_is_the_loaders(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *loaders = dlsym(RTLD_NEXT, names[i]);

        if (symbol_next(names[i]) != loaders) {
            fail_msg("%s: %p, the loader's is %p", names[i],
                     symbol_next(names[i]), loaders);
        }
    }
}

static void the_first_definition_is_the_loaders(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_ptr_equal(symbol_first(names[i]), dlsym(RTLD_DEFAULT, names[i]));
    }
}

static void what_is_not_defined_is_not_found(void **state)
{
    (void)state;
    assert_null(symbol_next("no_library_has_this"));
    assert_null(symbol_first("no_library_has_this"));
    assert_null(symbol_first(""));
}

/* In the program alone: first, and not behind it. */
__attribute__((visibility("default"))) int symbol_of_the_test = 1;

static void the_program_is_first_and_not_next(void **state)
{
    (void)state;
    assert_ptr_equal(symbol_first("symbol_of_the_test"),
                     dlsym(RTLD_DEFAULT, "symbol_of_the_test"));
    assert_ptr_equal(symbol_first("symbol_of_the_test"), &symbol_of_the_test);
    assert_null(symbol_next("symbol_of_the_test"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_definition_is_the_loaders),
        cmocka_unit_test(the_first_definition_is_the_loaders),
        cmocka_unit_test(what_is_not_defined_is_not_found),
        cmocka_unit_test(the_program_is_first_and_not_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_symboltable.c - the functions of this very program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/symbols/symboltable.h"

#define ASKED 100
/* The address of the next instruction. */
#ifdef __x86_64__
#define HERE "lea 0(%%rip), %0"
#else
#define HERE "adr %0, . + 4"
#endif

static uint64_t load_bias;
static char build_id[SYMBOLTABLE_ID_BYTES];
static struct symboltable *table;

__attribute__((noinline)) static int first_known(int number)
{
    return number * 3 + 1;
}

__attribute__((noinline)) static int second_known(int number)
{
    return number * 5 + 2;
}

/* Two functions that are not there by themselves. */
__attribute__((always_inline)) static inline void *inner_known(void)
{
    void *here;

    __asm__ volatile(HERE : "=r"(here));
    return here;
}

__attribute__((always_inline)) static inline void *between_known(void)
{
    return inner_known();
}

__attribute__((noinline)) static void *outer_known(void)
{
    return between_known();
}

/* The program itself is the first of all. */
static int program_take(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    load_bias = info->dlpi_addr;
    return 1;
}

static int setup(void **state)
{
    uint64_t unused;

    (void)state;
    (void)dl_iterate_phdr(program_take, NULL);
    if (symboltable_identify("/proc/self/exe", 0, 0, false, &unused,
                             build_id) != 0) {
        return -1;
    }
    table = symboltable_create("/proc/self/exe", build_id);
    return table == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    symboltable_destroy(table);
    table = NULL;
    return 0;
}

static const char *name_of(int (*function)(int), uint64_t offset)
{
    return symboltable_function(table, (uint64_t)(uintptr_t)function -
                                           load_bias + offset);
}

static void functions_that_were_inlined_come_innermost_first(void **state)
{
    struct symbol_place place = {.function = NULL};
    uint64_t here = (uint64_t)(uintptr_t)outer_known() - load_bias;

    (void)state;
    symboltable_find(table, here - 1, &place);
    assert_string_equal(place.function, "outer_known");
    if (place.line == 0) {
        skip(); /* built without lines */
    }
    assert_int_equal(place.inlined_count, 2);
    assert_string_equal(place.inlined[0].function, "inner_known");
    assert_string_equal(place.inlined[1].function, "between_known");
    assert_non_null(strstr(place.inlined[0].file, "test_symboltable.c"));
    assert_true(place.line < place.inlined[0].line &&
                place.inlined[0].line < place.inlined[1].line);
}

static void a_function_is_found_however_often_was_asked(void **state)
{
    (void)state;
    assert_int_equal(first_known(1) + second_known(1), 11);
    for (int i = 0; i < ASKED; i++) {
        assert_string_equal(name_of(first_known, 0), "first_known");
        assert_string_equal(name_of(second_known, 1), "second_known");
    }
}

static void an_address_before_all_of_them_has_none(void **state)
{
    (void)state;
    for (int i = 0; i < ASKED; i++) {
        assert_null(symboltable_function(table, 0));
    }
}

static void another_build_is_refused(void **state)
{
    (void)state;
    assert_null(symboltable_create("/proc/self/exe", "00"));
}

/* The file of this program, for a shell: its /proc/PID/exe would be an emulator
 * where one runs it. */
static const char *own_file(void)
{
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    assert_true(length > 0);
    path[length] = '\0';
    return path;
}

/* A copy of this program without symbols in a folder of its own, and these in
 * a file beside it. */
static void copy_strip(char *folder)
{
    char command[2 * PATH_MAX];

    assert_non_null(mkdtemp(folder));
    (void)snprintf(command, sizeof(command),
                   "cd %s && cp '%s' program && " CK_OBJCOPY
                   " --only-keep-debug program program.debug && " CK_STRIP
                   " program && " CK_OBJCOPY
                   " --add-gnu-debuglink=program.debug program",
                   folder, own_file());
    assert_int_equal(system(command), 0);
}

static void
the_functions_of_a_stripped_file_are_those_of_its_debug_file(void **state)
{
    char folder[] = "/tmp/ck-symbols.XXXXXX";
    char path[64], command[64];

    (void)state;
    copy_strip(folder);
    (void)snprintf(path, sizeof(path), "%s/program", folder);
    symboltable_destroy(table);
    table = symboltable_create(path, build_id);
    assert_non_null(table);
    assert_string_equal(name_of(first_known, 0), "first_known");
    (void)snprintf(command, sizeof(command), "rm %s/program.debug", folder);
    assert_int_equal(system(command), 0);
    symboltable_destroy(table);
    table = symboltable_create(path, build_id);
    assert_non_null(table);
    assert_null(name_of(first_known, 0));
    /* No server is asked, and the library that would is not loaded. */
    assert_null(dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_NOLOAD));
    (void)snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* As Fedora's packages have them: compressed, in a section of the file. */
static void a_stripped_file_may_have_its_symbols_compressed_in_it(void **state)
{
    char folder[] = "/tmp/ck-symbols.XXXXXX";
    char path[64], command[1024];

    (void)state;
    copy_strip(folder);
    (void)snprintf(command, sizeof(command),
                   "cd %s && " CK_OBJCOPY
                   " -S --keep-symbol=first_known program.debug mini && "
                   "rm program.debug && xz mini && " CK_OBJCOPY
                   " --add-section .gnu_debugdata=mini.xz program",
                   folder);
    assert_int_equal(system(command), 0);
    (void)snprintf(path, sizeof(path), "%s/program", folder);
    symboltable_destroy(table);
    table = symboltable_create(path, build_id);
    assert_non_null(table);
    assert_string_equal(name_of(first_known, 0), "first_known");
    (void)snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* A copy of this program, in a folder of its own. */
static void copy_make(char *folder, char path[64])
{
    char command[PATH_MAX + 128];

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, 64, "%s/program", folder);
    (void)snprintf(command, sizeof(command), "cp '%s' %s", own_file(), path);
    assert_int_equal(system(command), 0);
}

static void copy_remove(const char *folder)
{
    char command[64];

    (void)snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* With relocated data (PIE) the section is a part of another, whose name is
 * before its own. */
static void a_file_is_gos_by_its_table_of_functions(void **state)
{
    static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
    char path[64], command[256];

    (void)state;
    for (int i = 0; i < 2; i++) {
        char folder[] = "/tmp/ck-symbols.XXXXXX";

        copy_make(folder, path);
        assert_false(symboltable_is_go(path));
        (void)snprintf(command, sizeof(command),
                       CK_OBJCOPY " --add-section %s=/etc/passwd %s", names[i],
                       path);
        assert_int_equal(system(command), 0);
        assert_true(symboltable_is_go(path));
        copy_remove(folder);
    }
    assert_false(symboltable_is_go("/nowhere"));
}

/* Move .symtab to the file's end, and make it that long. */
static void symbols_move(const char *path, uint64_t bytes)
{
    static uint8_t symbols[1 << 20];
    int fd = open(path, O_RDWR | O_CLOEXEC);
    off_t end = lseek(fd, 0, SEEK_END);
    ElfW(Ehdr) file;
    ElfW(Shdr) section;
    off_t at;

    assert_int_equal(pread(fd, &file, sizeof(file), 0), sizeof(file));
    at = (off_t)file.e_shoff;
    do {
        at += (off_t)sizeof(section); /* the first is none */
        assert_int_equal(pread(fd, &section, sizeof(section), at),
                         sizeof(section));
    } while (section.sh_type != SHT_SYMTAB);
    assert_true(section.sh_size <= sizeof(symbols));
    end = (end + 7) / 8 * 8;
    assert_int_equal(
        pread(fd, symbols, section.sh_size, (off_t)section.sh_offset),
        section.sh_size);
    assert_int_equal(pwrite(fd, symbols, section.sh_size, end),
                     section.sh_size);
    section.sh_offset = (uint64_t)end;
    section.sh_size = bytes;
    assert_int_equal(pwrite(fd, &section, sizeof(section), at),
                     sizeof(section));
    assert_int_equal(ftruncate(fd, end + (off_t)bytes), 0);
    assert_int_equal(close(fd), 0);
}

static void a_table_larger_than_the_limit_is_not_read(void **state)
{
    static const char *const names[] = {"first_known"};
    const uint64_t most = (16u << 20) / sizeof(ElfW(Sym)) * sizeof(ElfW(Sym));
    char folder[] = "/tmp/ck-symbols.XXXXXX";
    struct symbol_range range;
    char path[64];

    (void)state;
    copy_make(folder, path);
    symbols_move(path, most);
    assert_int_equal(symboltable_ranges(path, names, 1, &range), 1);
    assert_int_equal(range.start, (uintptr_t)first_known - load_bias);
    copy_remove(folder);
    (void)strcpy(folder, "/tmp/ck-symbols.XXXXXX");
    copy_make(folder, path);
    symbols_move(path, most + sizeof(ElfW(Sym)));
    assert_int_equal(symboltable_ranges(path, names, 1, &range), 0);
    assert_int_equal(range.start, 0);
    copy_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            functions_that_were_inlined_come_innermost_first, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_function_is_found_however_often_was_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(an_address_before_all_of_them_has_none,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(another_build_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            the_functions_of_a_stripped_file_are_those_of_its_debug_file, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            a_stripped_file_may_have_its_symbols_compressed_in_it, setup,
            teardown),
        cmocka_unit_test(a_file_is_gos_by_its_table_of_functions),
        cmocka_unit_test_setup_teardown(
            a_table_larger_than_the_limit_is_not_read, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

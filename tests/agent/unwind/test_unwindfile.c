/* test_unwindfile.c - rules out of ELF files, whole, cut and damaged
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's vdso is a small ELF file with all that is needed.
 */
#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/unwind/unwindfile.h"
#include "tests/emulator.h"

#define DAMAGES 20000

static uint8_t *image;
static size_t image_bytes;
static uint64_t text_begin, text_end;
static char path[64];
static int fd = -1;

static int setup(void **state)
{
    const uint8_t *vdso =
        (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *header = (const void *)vdso;

    (void)state;
    if (vdso == NULL || !EHFRAME_IS_READ) {
        return 0;
    }
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment =
            (const void *)(vdso + header->e_phoff + i * sizeof(*segment));

        if (segment->p_type == PT_LOAD) {
            image_bytes = segment->p_offset + segment->p_filesz;
            text_begin = segment->p_vaddr;
            text_end = segment->p_vaddr + segment->p_memsz;
        }
    }
    image = malloc(image_bytes);
    memcpy(image, vdso, image_bytes);
    fd = memfd_create("file", MFD_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return fd < 0;
}

static int teardown(void **state)
{
    (void)state;
    free(image);
    image = NULL;
    if (fd >= 0) {
        (void)close(fd);
    }
    return 0;
}

static void needs_image(void)
{
    EMULATOR_SKIP("the vdso is its own");
    if (image == NULL) {
        print_message("skipped: no vdso here\n");
        skip();
    }
}

static void file_put(const uint8_t *bytes, size_t count)
{
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, bytes, count, 0), (ssize_t)count);
}

/* How many addresses have a rule; -1: no file. */
static int rules_count(const char *name)
{
    struct unwindspace space = {NULL};
    struct unwindfile *file = unwindfile_open(name, &space);
    struct ehframe_rule rule;
    int known = 0;

    if (file == NULL) {
        unwindspace_fini(&space);
        return -1;
    }
    for (uint64_t at = text_begin; at < text_end; at += 7) {
        known += unwindfile_find(file, at, &rule) == EHFRAME_FOUND;
    }
    unwindfile_destroy(file);
    unwindspace_fini(&space);
    return known;
}

static void the_vdso_is_read_from_memory_and_from_a_file(void **state)
{
    int known;

    (void)state;
    needs_image();
    known = rules_count(UNWINDFILE_VDSO);
    assert_true(known > 20);
    file_put(image, image_bytes);
    assert_int_equal(rules_count(path), known);
}

static void a_file_cut_at_any_byte_is_refused_or_harmless(void **state)
{
    int known;

    (void)state;
    needs_image();
    known = rules_count(UNWINDFILE_VDSO);
    for (size_t bytes = 0; bytes < image_bytes; bytes++) {
        file_put(image, bytes);
        assert_true(rules_count(path) <= known);
    }
}

static void damage_is_found_or_without_harm(void **state)
{
    const char *seed_text = getenv("CK_SEED");
    unsigned seed = seed_text != NULL ? (unsigned)atoi(seed_text) : 7;
    uint8_t *damaged;

    (void)state;
    needs_image();
    print_message("CK_SEED=%u\n", seed);
    damaged = malloc(image_bytes);
    assert_non_null(damaged);
    for (int i = 0; i < DAMAGES; i++) {
        memcpy(damaged, image, image_bytes);
        for (int k = 0; k < 8; k++) {
            /* Its headers, or anywhere. */
            size_t room = k % 2 == 0 ? 600 : image_bytes;

            damaged[(size_t)rand_r(&seed) % room] = (uint8_t)rand_r(&seed);
        }
        file_put(damaged, image_bytes);
        (void)rules_count(path);
    }
    free(damaged);
}

static void what_is_no_elf_file_is_refused(void **state)
{
    struct unwindspace space = {NULL};

    (void)state;
    assert_null(unwindfile_open("/no/such/file", &space));
    assert_null(unwindfile_open("/dev/zero", &space));
    assert_null(unwindfile_open("/", &space));
    assert_null(unwindfile_open("/proc/self/status", &space));
    assert_null(space.chunks);
}

/* lld lets the last page of the data before the code be its first one too, at
 * another address. */
static void the_bias_is_that_of_the_code_in_a_page(void **state)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segments[2];
    } elf = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                   .e_phoff = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 2},
        .segments = {{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x13e48},
                     {.p_type = PT_LOAD,
                      .p_flags = PF_R | PF_X,
                      .p_offset = 0x13e50,
                      .p_vaddr = 0x14e50,
                      .p_filesz = 0x3000}},
    };
    struct unwindspace space = {NULL};
    struct unwindfile *file;
    uint64_t bias = 1;

    (void)state;
    needs_image();
    file_put((const uint8_t *)&elf, sizeof(elf));
    file = unwindfile_open(path, &space);
    assert_non_null(file);
    assert_int_equal(unwindfile_bias(file, 0x7014000, 0x13000, &bias), 0);
    assert_int_equal(bias, 0x7000000);
    assert_int_equal(unwindfile_bias(file, 0x7000000, 0, &bias), -1);
    assert_int_equal(unwindfile_bias(file, 0, (uint64_t)1 << 40, &bias), -1);
    unwindfile_destroy(file);
    unwindspace_fini(&space);
}

/* The loader of this program: the kernel began there. */
static void the_entry_of_the_loader_has_no_caller(void **state)
{
    uint64_t base = getauxval(AT_BASE);
    const Elf64_Ehdr *header = (const void *)(uintptr_t)base;
    struct unwindspace space = {NULL};
    struct ehframe_rule rule;
    struct unwindfile *file;
    Dl_info loader;

    (void)state;
    needs_image();
    if (base == 0 || dladdr((const void *)(uintptr_t)(base + header->e_entry),
                            &loader) == 0) {
        skip(); /* linked with all that it needs, or emulated */
    }
    file = unwindfile_open(loader.dli_fname, &space);
    assert_non_null(file);
    for (uint64_t i = 1; i <= 8; i++) {
        assert_int_equal(unwindfile_find(file, header->e_entry + i, &rule),
                         EHFRAME_OUTERMOST);
    }
    unwindfile_destroy(file);
    unwindspace_fini(&space);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_vdso_is_read_from_memory_and_from_a_file),
        CASE(a_file_cut_at_any_byte_is_refused_or_harmless),
        CASE(damage_is_found_or_without_harm),
        CASE(what_is_no_elf_file_is_refused),
        CASE(the_bias_is_that_of_the_code_in_a_page),
        CASE(the_entry_of_the_loader_has_no_caller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_latelookup.c - places in stacks of this very program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/input/latelookup.h"
#include "merge/model/memory.h"
#include "schema/clock/domain.h"

#define STACK 3

__attribute__((noinline)) static int frame_of_the_test(void)
{
    return getpid() != 0;
}

/* The build id in a segment of notes. */
static void id_read(const uint8_t *notes, size_t bytes, char *id)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        const ElfW(Nhdr) *note = (const void *)(notes + at);
        const uint8_t *name = notes + at + sizeof(*note);
        const uint8_t *value = name + (note->n_namesz + 3) / 4 * 4;

        if (note->n_type == 3 && memcmp(name, "GNU", 4) == 0) {
            for (size_t i = 0; i < note->n_descsz && i < 31; i++) {
                (void)sprintf(id + 2 * i, "%02x", value[i]);
            }
        }
        at = (size_t)(value - notes) + (note->n_descsz + 3) / 4 * 4;
    }
}

/* This program, which is the first that is given. */
static int module_fill(struct dl_phdr_info *info, size_t size, void *state)
{
    struct defs_module *module = state;
    static char id[64], path[PATH_MAX];

    (void)size;
    *module = (struct defs_module){.bias = info->dlpi_addr,
                                   .start = UINT64_MAX,
                                   .path = path,
                                   .build_id = id};
    path[readlink("/proc/self/exe", path, sizeof(path) - 1)] = '\0';
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_NOTE) {
            id_read((const uint8_t *)(uintptr_t)start, part->p_memsz, id);
        }
        if (part->p_type == PT_LOAD) {
            module->start = start < module->start ? start : module->start;
            module->end = start + part->p_memsz;
        }
    }
    return 1;
}

/* An agent of this machine; one thread of it was looked at. */
static struct defs *defs_of(uint64_t frame, bool is_own)
{
    static const uint8_t id[16] = {7};
    struct defs *defs = defs_create();
    uint32_t number = defs_agent_find(defs, id);
    uint32_t process = defs_process_find(defs, number, 1);
    struct defs_agent *agent = &defs->agents[number];
    struct defs_stack *stack = defs_stack_enter(agent, STACK);
    struct ck_domain domain;
    struct ck_err err;
    char identity[256];

    assert_int_equal(ck_domain_read(&domain, &err), 0);
    (void)snprintf(identity, sizeof(identity), "boot_id=%s\n", domain.boot_id);
    agent->identity = texts_keep(defs->texts, identity, strlen(identity));
    stack->frames = xcalloc(1, sizeof(*stack->frames));
    stack->frames[0] = frame;
    stack->depth = stack->count = 1;
    agent->standings = xcalloc(1, sizeof(*agent->standings));
    agent->standings[0] =
        (struct defs_standing){.incarnation = 1, .stack = STACK, .lines = ""};
    agent->standings_count = agent->standings_room = 1;
    defs->processes[process].modules =
        xcalloc(1, sizeof(*defs->processes[process].modules));
    (void)dl_iterate_phdr(module_fill, defs->processes[process].modules);
    defs->processes[process].modules->is_own = is_own;
    defs->processes[process].modules_count = 1;
    defs->processes[process].modules_room = 1;
    return defs;
}

/* What the frame is called by one that has looked. */
static const char *function_of(bool is_own)
{
    static char function[64];
    uint64_t frame = (uint64_t)(uintptr_t)frame_of_the_test + 4;
    struct defs *defs = defs_of(frame, is_own);
    struct latelookup *lookup = latelookup_create(defs);
    struct place place;

    latelookup_ask(lookup, NULL);
    place = defs_place(defs, 0, frame);
    (void)snprintf(function, sizeof(function), "%s",
                   place.function == NULL ? "" : place.function);
    latelookup_destroy(lookup);
    defs_destroy(defs);
    return function;
}

static void a_frame_of_a_stack_gets_its_function(void **state)
{
    (void)state;
    assert_true(frame_of_the_test());
    assert_string_equal(function_of(false), "frame_of_the_test");
}

static void frames_of_our_own_libraries_are_not_looked_up(void **state)
{
    (void)state;
    assert_string_equal(function_of(true), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_of_a_stack_gets_its_function),
        cmocka_unit_test(frames_of_our_own_libraries_are_not_looked_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

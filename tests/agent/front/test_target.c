/* test_target.c - environment and start of the program to record
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/front/target.h"
#include "agent/process/identity.h"
#include "tests/emulator.h"

static const struct target_variable named[] = {
    {"OPENCL_LAYERS", "/o.so", TARGET_BEFORE},
    {"CUDA_INJECTION64_PATH", "/c.so", TARGET_UNSET},
    {"NCCL_PROFILER_PLUGIN", "/n.so", TARGET_UNSET},
    {"NVTX_INJECTION64_PATH", "/x.so", TARGET_UNSET},
};
static const struct target_injection injection = {
    .ring = "/r", .preload = "/a.so:/b.so", .named = named, .named_count = 4};

static void a_bare_environment_gets_all_six_variables(void **state)
{
    char *const env[] = {(char[]){"A=1"}, NULL};
    char **made = target_environment(env, &injection);

    (void)state;
    assert_string_equal(identity_variable(made, "A"), "1");
    assert_string_equal(identity_variable(made, "CKAGENT_RING"), "/r");
    assert_string_equal(identity_variable(made, "LD_PRELOAD"), "/a.so:/b.so");
    assert_string_equal(identity_variable(made, "OPENCL_LAYERS"), "/o.so");
    assert_string_equal(identity_variable(made, "CUDA_INJECTION64_PATH"),
                        "/c.so");
    assert_string_equal(identity_variable(made, "NCCL_PROFILER_PLUGIN"),
                        "/n.so");
    assert_string_equal(identity_variable(made, "NVTX_INJECTION64_PATH"),
                        "/x.so");
    target_environment_free(made);
}

static void what_the_user_injects_stays_in_force(void **state)
{
    char *const env[] = {(char[]){"LD_PRELOAD=/u.so"},
                         (char[]){"OPENCL_LAYERS=/v.so"},
                         (char[]){"CUDA_INJECTION64_PATH=/w.so"},
                         (char[]){"NCCL_PROFILER_PLUGIN=none"},
                         (char[]){"CKAGENT_RING=/old"},
                         NULL};
    char **made = target_environment(env, &injection);

    (void)state;
    assert_string_equal(identity_variable(made, "NCCL_PROFILER_PLUGIN"),
                        "none");
    assert_string_equal(identity_variable(made, "LD_PRELOAD"),
                        "/u.so:/a.so:/b.so");
    assert_string_equal(identity_variable(made, "OPENCL_LAYERS"),
                        "/o.so:/v.so");
    assert_string_equal(identity_variable(made, "CUDA_INJECTION64_PATH"),
                        "/w.so");
    assert_string_equal(identity_variable(made, "CKAGENT_RING"), "/r");
    target_environment_free(made);
}

static void libraries_that_were_not_built_change_nothing(void **state)
{
    static const struct target_variable none[] = {
        {"OPENCL_LAYERS", NULL, TARGET_BEFORE}};
    static const struct target_injection only_ring = {
        .ring = "/r", .named = none, .named_count = 1};
    char *const env[] = {NULL};
    char **made = target_environment(env, &only_ring);

    (void)state;
    assert_string_equal(made[0], "CKAGENT_RING=/r");
    assert_null(made[1]);
    target_environment_free(made);
}

static int run_with(char *const *argv, char *const *env, int *status)
{
    struct target target;
    int failed;

    assert_int_equal(target_fork(&target, argv, env), 0);
    /* Held: it has not become the program yet. */
    assert_int_equal(waitpid(target.pid, status, WNOHANG), 0);
    failed = target_go(&target);
    assert_int_equal(waitpid(target.pid, status, 0), target.pid);
    return failed;
}

static int run(char *const *argv, int *status)
{
    return run_with(argv, environ, status);
}

/* The kernel takes no single text of 128 KiB, nor more than some MiB in all. */
static void it_runs_without_us_where_our_variables_find_no_room(void **state)
{
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"exit 5"},
                          NULL};
    static char large[256 << 10];
    char *const env[] = {large, NULL};
    int status;

    (void)state;
    memset(large, 'x', sizeof(large) - 1);
    large[1] = '=';
    assert_int_equal(run_with(argv, env, &status), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static void the_program_runs_when_it_is_let_go(void **state)
{
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"exit 5"},
                          NULL};
    int status;

    (void)state;
    assert_int_equal(run(argv, &status), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static void a_failed_exec_comes_back_as_its_errno(void **state)
{
    char *const missing[] = {(char[]){"/nonexistent"}, NULL};
    char *const data[] = {(char[]){"/etc/passwd"}, NULL};
    int status;

    (void)state;
    assert_int_equal(run(missing, &status), ENOENT);
    assert_int_equal(WEXITSTATUS(status), 127);
    assert_int_equal(run(data, &status), EACCES);
    assert_int_equal(WEXITSTATUS(status), 126);
}

static void a_dynamic_program_has_no_obstacle(void **state)
{
    (void)state;
    EMULATOR_SKIP("shells are of another machine");
    assert_null(target_obstacle("sh"));
    assert_null(target_obstacle("/nonexistent"));
    assert_non_null(strstr(target_obstacle("/usr/bin/passwd"), "setuid"));
}

/* An ELF file of 64 bits with this interpreter, NULL = none. */
static const char *
elf_write(unsigned char class, unsigned machine, const char *interpreter)
{
    static char path[] = "elf";
    Elf64_Ehdr elf = {.e_ident = ELFMAG,
                      .e_machine = (Elf64_Half)machine,
                      .e_phoff = sizeof(elf),
                      .e_phentsize = sizeof(Elf64_Phdr),
                      .e_phnum = interpreter != NULL};
    Elf64_Phdr segment = {.p_type = PT_INTERP,
                          .p_offset = sizeof(elf) + sizeof(segment)};
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    elf.e_ident[EI_CLASS] = class;
    assert_int_equal(fwrite(&elf, sizeof(elf), 1, file), 1);
    if (interpreter != NULL) {
        segment.p_filesz = strlen(interpreter) + 1;
        assert_int_equal(fwrite(&segment, sizeof(segment), 1, file), 1);
        assert_int_equal(fwrite(interpreter, segment.p_filesz, 1, file), 1);
    }
    assert_int_equal(fclose(file), 0);
    return "./elf";
}

static void what_no_library_fits_into_is_named(void **state)
{
    Elf64_Ehdr selfstream;
    FILE *file = fopen("/proc/self/exe", "r");

    (void)state;
    assert_int_equal(fread(&selfstream, sizeof(selfstream), 1, file), 1);
    assert_int_equal(fclose(file), 0);
    assert_null(target_obstacle(elf_write(ELFCLASS64, selfstream.e_machine,
                                          "/lib64/ld-linux-x86-64.so.2")));
    assert_string_equal(
        target_obstacle(elf_write(ELFCLASS64, selfstream.e_machine,
                                  "/lib/ld-musl-x86_64.so.1")),
        "it is linked with musl");
    assert_string_equal(
        target_obstacle(elf_write(ELFCLASS64, selfstream.e_machine, NULL)),
        "it is statically linked");
    assert_string_equal(
        target_obstacle(elf_write(ELFCLASS64, EM_S390, "/lib/ld64.so.1")),
        "it is built for another machine");
    assert_string_equal(
        target_obstacle(elf_write(ELFCLASS32, EM_386, "/lib/ld-linux.so.2")),
        "it is a 32-bit program");
    assert_int_equal(remove("elf"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_library_fits_into_is_named),
        cmocka_unit_test(a_bare_environment_gets_all_six_variables),
        cmocka_unit_test(what_the_user_injects_stays_in_force),
        cmocka_unit_test(libraries_that_were_not_built_change_nothing),
        cmocka_unit_test(the_program_runs_when_it_is_let_go),
        cmocka_unit_test(it_runs_without_us_where_our_variables_find_no_room),
        cmocka_unit_test(a_failed_exec_comes_back_as_its_errno),
        cmocka_unit_test(a_dynamic_program_has_no_obstacle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

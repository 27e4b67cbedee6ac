/* test_symbols.c - real processes, their modules and call sites
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/symbols/symbols.h"
#include "agent/symbols/symboltable.h"
#include "tests/agent/said.h"
#include "tests/emulator.h"

#define IMAGE 3
#define SITES 3

/* What the target prints of itself: caller, main, inside the library. */
struct scene {
    struct said said;
    struct symbols *symbols;
    uint64_t sites[SITES];
    char functions[SITES][64];
    unsigned lines[SITES];
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    said_init(&scene->said);
    scene->symbols = symbols_create();
    assert_non_null(scene->symbols);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    symbols_destroy(scene->symbols);
    said_fini(&scene->said);
    free(scene);
    return 0;
}

/* Start the program, read its sites, look at its maps, let it end. */
static void target_look(struct scene *scene, const char *path)
{
    int in[2], out[2], status;
    FILE *words;
    pid_t pid;

    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(in[1]);
        (void)execl(path, path, (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    words = fdopen(out[0], "r");
    assert_non_null(words);
    for (int i = 0; i < SITES; i++) {
        assert_int_equal(fscanf(words, "%" SCNx64 " %63s %u", &scene->sites[i],
                                scene->functions[i], &scene->lines[i]),
                         3);
    }
    symbols_seen_process(scene->symbols, IMAGE, pid);
    symbols_seen_process(scene->symbols, IMAGE, pid);
    (void)close(in[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void)fclose(words);
    symbols_seen_process(scene->symbols, IMAGE, pid);
}

static const struct ck_text *symbol_of(const struct scene *scene, uint64_t site)
{
    const struct ck_text *text = NULL;

    while ((text = said_next(&scene->said, CK_KIND_SYMBOL, text)) != NULL) {
        if (text->object == site && text->e.name == IMAGE) {
            return text;
        }
    }
    return NULL;
}

static void text_ends_with(const char *bytes, size_t length, const char *end)
{
    assert_true(length >= strlen(end));
    assert_memory_equal(bytes + length - strlen(end), end, strlen(end));
}

static void site_is(const struct scene *scene, int number, const char *file)
{
    const struct ck_text *text = symbol_of(scene, scene->sites[number]);
    const char *bytes;

    assert_non_null(text);
    bytes = ck_text_bytes(text);
    assert_int_equal(text->extra, scene->lines[number]);
    assert_int_equal(strnlen(bytes, text->length),
                     strlen(scene->functions[number]));
    assert_memory_equal(bytes, scene->functions[number],
                        strlen(scene->functions[number]) + 1);
    text_ends_with(bytes, text->length, file);
}

static void sites_say(struct scene *scene)
{
    for (int i = 0; i < SITES; i++) {
        symbols_site(scene->symbols, IMAGE, scene->sites[i]);
        symbols_site(scene->symbols, IMAGE, scene->sites[i]);
    }
    assert_int_equal(
        symbols_finish(scene->symbols, scene->said.selfstream, 20 * CK_TIME_S),
        0);
    said_read(&scene->said);
}

static void sites_of_a_position_independent_program(void **state)
{
    struct scene *scene = *state;

    target_look(scene, CK_TEST_DIR "/symbols_pie");
    sites_say(scene);
    site_is(scene, 0, "symbols_target.c");
    site_is(scene, 1, "symbols_target.c");
    site_is(scene, 2, "symbols_library.c");
}

static void sites_of_a_program_at_a_fixed_address(void **state)
{
    struct scene *scene = *state;

    target_look(scene, CK_TEST_DIR "/symbols_fixed");
    sites_say(scene);
    site_is(scene, 0, "symbols_target.c");
    site_is(scene, 1, "symbols_target.c");
    site_is(scene, 2, "symbols_library.c");
}

/* The first page of such a file is mapped as read-only data, as code and as
 * variables, each at another address. */
static void sites_of_a_program_of_lld(void **state)
{
#ifdef CK_TEST_HAS_LLD
    struct scene *scene = *state;
    char build_id[SYMBOLTABLE_ID_BYTES];
    uint64_t of_data, of_code;
    const char *path = CK_TEST_DIR "/symbols_lld";

    target_look(scene, path);
    sites_say(scene);
    site_is(scene, 0, "symbols_target.c");
    site_is(scene, 1, "symbols_target.c");
    site_is(scene, 2, "symbols_library.c");
    assert_int_equal(
        symboltable_identify(path, 1 << 20, 0, false, &of_data, build_id), 0);
    assert_int_equal(
        symboltable_identify(path, 1 << 20, 0, true, &of_code, build_id), 0);
    assert_int_equal(of_data, 1 << 20);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(of_code < of_data); /* else the first page has no code */
#endif
#else
    (void)state;
    skip();
#endif
}

static void a_stripped_program_gives_module_and_offset(void **state)
{
    struct scene *scene = *state;
    const struct ck_text *text;

    target_look(scene, CK_TEST_DIR "/symbols_stripped");
    sites_say(scene);
    text = symbol_of(scene, scene->sites[0]);
    assert_non_null(text);
    assert_memory_equal(ck_text_bytes(text), "symbols_stripped+0x", 19);
    assert_int_equal(text->extra, 0);
    site_is(scene, 2, "symbols_library.c");
}

/* The first site is a frame of a stack, the last one of the library's. */
static void frames_say(struct scene *scene)
{
    symbols_frame(scene->symbols, IMAGE, scene->sites[0]);
    symbols_frame(scene->symbols, IMAGE, scene->sites[2]);
    assert_int_equal(
        symbols_finish(scene->symbols, scene->said.selfstream, 20 * CK_TIME_S),
        0);
    said_read(&scene->said);
}

static void lines_in_a_debug_file_are_found_for_calls(void **state)
{
    struct scene *scene = *state;

    target_look(scene, CK_TEST_DIR "/symbols_apart");
    sites_say(scene);
    site_is(scene, 0, "symbols_target.c");
    site_is(scene, 1, "symbols_target.c");
}

static void lines_in_a_debug_file_are_not_read_for_stacks(void **state)
{
    struct scene *scene = *state;
    const struct ck_text *text;

    target_look(scene, CK_TEST_DIR "/symbols_apart");
    frames_say(scene);
    text = symbol_of(scene, scene->sites[0]);
    assert_non_null(text);
    assert_string_equal(ck_text_bytes(text), scene->functions[0]);
    assert_int_equal(text->extra, 0);
    site_is(scene, 2, "symbols_library.c");
}

static void a_frame_that_is_a_call_as_well_has_its_line(void **state)
{
    struct scene *scene = *state;

    target_look(scene, CK_TEST_DIR "/symbols_apart");
    symbols_frame(scene->symbols, IMAGE, scene->sites[0]);
    symbols_site(scene->symbols, IMAGE, scene->sites[0]);
    frames_say(scene);
    site_is(scene, 0, "symbols_target.c");
}

/* Where clock_gettime() is in what the kernel maps, 0 = nowhere. */
static uint64_t vdso_clock(void)
{
    static const char *const names[] = {"__vdso_clock_gettime",
                                        "__kernel_clock_gettime"};
    void *image = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *found = NULL;

    for (size_t i = 0; image != NULL && found == NULL && i < 2; i++) {
        found = dlsym(image, names[i]);
    }
    return getauxval(AT_SYSINFO_EHDR) == 0 ? 0 : (uint64_t)(uintptr_t)found;
}

static void a_frame_in_the_vdso_has_its_name(void **state)
{
    struct scene *scene = *state;
    const struct ck_text *text;
    uint64_t frame = vdso_clock() + 9;

    EMULATOR_SKIP("the vdso is its own");
    if (frame == 9) {
        print_message("skipped: no vdso with clock_gettime here\n");
        skip();
    }
    symbols_seen_process(scene->symbols, IMAGE, getpid());
    symbols_frame(scene->symbols, IMAGE, frame);
    assert_int_equal(
        symbols_finish(scene->symbols, scene->said.selfstream, 20 * CK_TIME_S),
        0);
    said_read(&scene->said);
    text = symbol_of(scene, frame);
    assert_non_null(text);
    assert_string_equal(ck_text_bytes(text), "[vdso] clock_gettime");
    assert_int_equal(text->extra, 0);
}

/* Where a function of the kernel is, 0 = it is not shown. */
static uint64_t kernel_function(const char *name)
{
    FILE *file = fopen("/proc/kallsyms", "re");
    char line[512], word[256];
    uint64_t found = 0;

    while (file != NULL && found == 0 &&
           fgets(line, sizeof(line), file) != NULL) {
        uint64_t address;

        if (sscanf(line, "%" SCNx64 " %*c %255s", &address, word) == 2 &&
            strcmp(word, name) == 0) {
            found = address;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

static void the_kernel_is_named_for_many_samples_alone(void **state)
{
    struct scene *scene = *state;
    uint64_t frame = kernel_function("vfs_read") + 5;

    if (frame == 5) {
        print_message("skipped: no addresses in /proc/kallsyms here\n");
        skip();
    }
    symbols_frame(scene->symbols, IMAGE, frame);
    for (int i = 1; i < SYMBOLS_KERNEL_SAMPLES; i++) {
        symbols_in_kernel(scene->symbols);
    }
    frames_say(scene);
    assert_null(symbol_of(scene, frame));
    assert_null(said_next(&scene->said, CK_KIND_NOTE, NULL));
    symbols_in_kernel(scene->symbols);
    frames_say(scene);
    assert_non_null(symbol_of(scene, frame));
    assert_string_equal(ck_text_bytes(symbol_of(scene, frame)), "vfs_read");
}

static void each_module_is_recorded_once(void **state)
{
    struct scene *scene = *state;
    const struct ck_text *text = NULL;
    int programs = 0, libraries = 0;

    target_look(scene, CK_TEST_DIR "/symbols_pie");
    /* At once, so that a killed collector has recorded them. */
    assert_int_equal(symbols_modules(scene->symbols, scene->said.selfstream),
                     0);
    sites_say(scene);
    while ((text = said_next(&scene->said, CK_KIND_MODULE, text)) != NULL) {
        char *bytes = strndup(ck_text_bytes(text), text->length);
        uint64_t start, end;

        assert_non_null(bytes);
        assert_int_equal(text->e.name, IMAGE);
        assert_non_null(strstr(bytes, "\nbuild_id="));
        assert_int_equal(sscanf(strstr(bytes, "\nstart="),
                                "\nstart=%" SCNx64 "\nend=%" SCNx64, &start,
                                &end),
                         2);
        assert_true(start < end);
        if (strstr(bytes, "/symbols_pie\n") != NULL) {
            programs++;
            assert_true(scene->sites[0] > start && scene->sites[0] < end);
            assert_int_equal(text->object, start);
        }
        libraries += strstr(bytes, "libsymbols_library.so\n") != NULL;
        free(bytes);
    }
    assert_int_equal(programs, 1);
    assert_int_equal(libraries, 1);
}

/* The file at the path is another one when the sites are looked up. */
static void a_replaced_file_is_not_believed(void **state)
{
    struct scene *scene = *state;
    const struct ck_text *text;
    char dir[] = "/tmp/ck-symbols-XXXXXX";
    char path[64], command[512];

    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/program", dir);
    (void)snprintf(command, sizeof(command),
                   "cp " CK_TEST_DIR "/symbols_pie %s", path);
    assert_int_equal(system(command), 0);
    target_look(scene, path);
    (void)snprintf(command, sizeof(command),
                   "cp " CK_TEST_DIR "/symbols_fixed %s", path);
    assert_int_equal(system(command), 0);
    sites_say(scene);
    (void)unlink(path);
    (void)rmdir(dir);
    text = symbol_of(scene, scene->sites[0]);
    assert_non_null(text);
    assert_memory_equal(ck_text_bytes(text), "program+0x", 10);
    assert_int_equal(text->extra, 0);
}

/* Map a page of this program's code once more: a module more. */
static char *code_map(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    char *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

    assert_true(at != MAP_FAILED);
    (void)close(fd);
    return at;
}

/* Modules that are known after a look that may be due at `now`. */
static int modules_at(struct scene *scene, ck_time_t now)
{
    const struct ck_text *text = NULL;
    int count = 0;

    symbols_follow_process(scene->symbols, IMAGE, getpid(), now);
    assert_int_equal(symbols_modules(scene->symbols, scene->said.selfstream),
                     0);
    said_read(&scene->said);
    while ((text = said_next(&scene->said, CK_KIND_MODULE, text)) != NULL) {
        count++;
    }
    return count;
}

static void a_process_is_looked_at_where_it_is_worth_it(void **state)
{
    struct scene *scene = *state;
    ck_time_t now = 1000 * CK_TIME_S;
    int known = modules_at(scene, now);
    char *code[3];

    assert_true(known > 0);
    code[0] = code_map();
    assert_int_equal(modules_at(scene, now + CK_TIME_S / 2), known);
    assert_int_equal(modules_at(scene, now + CK_TIME_S), known + 1);
    code[1] = code_map();
    assert_int_equal(modules_at(scene, now + CK_TIME_S), known + 1);
    symbols_mapped(scene->symbols, IMAGE);
    assert_int_equal(modules_at(scene, now + CK_TIME_S), known + 2);
    code[2] = code_map();
    symbols_site(scene->symbols, IMAGE, (uint64_t)(uintptr_t)code[1] + 64);
    assert_int_equal(modules_at(scene, now + CK_TIME_S), known + 2);
    symbols_site(scene->symbols, IMAGE, (uint64_t)(uintptr_t)code[2] + 64);
    assert_int_equal(modules_at(scene, now + CK_TIME_S), known + 3);
    for (int i = 0; i < 3; i++) {
        (void)munmap(code[i], 4096);
    }
}

static void looks_at_a_process_that_stays_grow_rare(void **state)
{
    struct scene *scene = *state;
    ck_time_t now = 1000 * CK_TIME_S;
    int known = modules_at(scene, now);
    char *code;

    for (int i = 0; i < 60; i++) {
        now += CK_TIME_S;
        assert_int_equal(modules_at(scene, now), known);
    }
    code = code_map();
    assert_int_equal(modules_at(scene, now + CK_TIME_S), known);
    assert_int_equal(modules_at(scene, now + 16 * CK_TIME_S), known + 1);
    (void)munmap(code, 4096);
}

/* Shortens the file and makes it whole again, for ever. */
static pid_t shortener_start(const char *path)
{
    static char bytes[4 << 20];
    int fd = open(path, O_RDWR);
    ssize_t length = read(fd, bytes, sizeof(bytes));
    pid_t pid = fork();

    assert_true(length > 0 && (size_t)length < sizeof(bytes) && pid >= 0);
    while (pid == 0) {
        (void)!pwrite(fd, bytes, (size_t)length, 0);
        (void)usleep(300);
        (void)!ftruncate(fd, 100);
    }
    (void)close(fd);
    return pid;
}

/* Each time anew: a file that ended its reader is not read again. */
static int finish_apart(struct scene *scene)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (symbols_finish(scene->symbols, scene->said.selfstream,
                           20 * CK_TIME_S) != 0) {
            _exit(1);
        }
        said_read(&scene->said);
        _exit(symbol_of(scene, scene->sites[SITES - 1]) == NULL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* The program, or who builds it again, may do so at any time: what was mapped
 * is gone then, which is a signal for who reads it. */
static void a_file_that_is_shortened_costs_its_names_alone(void **state)
{
    struct scene *scene = *state;
    char path[64], command[512];
    pid_t other;
    int died = 0;

    /* By cmocka's handler a reader that dies would go on with other cases. */
    (void)signal(SIGBUS, SIG_DFL);
    (void)signal(SIGSEGV, SIG_DFL);
    (void)snprintf(path, sizeof(path), "/tmp/ck-symbols-%d", (int)getpid());
    (void)snprintf(command, sizeof(command),
                   "cp " CK_TEST_DIR "/symbols_pie %s", path);
    assert_int_equal(system(command), 0);
    target_look(scene, path);
    for (int i = 0; i < SITES; i++) {
        symbols_site(scene->symbols, IMAGE, scene->sites[i]);
    }
    other = shortener_start(path);
    for (int i = 0; i < 200; i++) {
        died += finish_apart(scene) != 0;
    }
    (void)kill(other, SIGKILL);
    (void)waitpid(other, NULL, 0);
    (void)unlink(path);
    assert_int_equal(died, 0);
}

static void time_over_is_noted(void **state)
{
    struct scene *scene = *state;
    const struct ck_text *note;

    symbols_site(scene->symbols, IMAGE, 4096);
    assert_int_equal(
        symbols_finish(scene->symbols, scene->said.selfstream, -CK_TIME_S), 0);
    said_read(&scene->said);
    note = said_next(&scene->said, CK_KIND_NOTE, NULL);
    assert_non_null(note);
    assert_memory_equal(ck_text_bytes(note), "1 of 1 call sites", 17);
}

#define SPINNERS 8
#define SITES_MANY 4000

/* Processes that take the CPU that this one is bound to. */
static void spinners_start(pid_t spinners[SPINNERS])
{
    for (int i = 0; i < SPINNERS; i++) {
        spinners[i] = fork();
        assert_true(spinners[i] >= 0);
        if (spinners[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile unsigned turns = 0;; turns++) {
            }
        }
    }
}

static void spinners_end(const pid_t spinners[SPINNERS])
{
    for (int i = 0; i < SPINNERS; i++) {
        (void)kill(spinners[i], SIGKILL);
        (void)waitpid(spinners[i], NULL, 0);
    }
}

static ck_time_t finish_time(struct scene *scene, ck_time_t limit)
{
    ck_time_t start = ck_time_raw();

    assert_int_equal(
        symbols_finish(scene->symbols, scene->said.selfstream, limit), 0);
    return ck_time_raw() - start;
}

extern const char etext; /* the end of this program's code */

/* Beside others that want the CPU it takes SPINNERS times as long, and twice as
 * long is permitted. What the reader waits is known when it has run again, so
 * the work is longer than that. */
static void waiting_for_a_cpu_is_not_counted(void **state)
{
    struct scene *scene = *state;
    pid_t spinners[SPINNERS];
    cpu_set_t before, one;
    ck_time_t alone;

    EMULATOR_SKIP("its threads wait for each other");
    if (access("/proc/thread-self/schedstat", R_OK) != 0) {
        skip();
    }
    symbols_seen_process(scene->symbols, IMAGE, getpid());
    for (uint64_t i = 1; i <= SITES_MANY; i++) {
        symbols_site(scene->symbols, IMAGE, (uint64_t)&etext - i * 16);
    }
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    alone = finish_time(scene, 20 * CK_TIME_S);
    spinners_start(spinners);
    print_message("%" PRId64 " ms alone, ", alone / CK_TIME_MS);
    print_message("%" PRId64 " ms beside others\n",
                  finish_time(scene, 2 * alone) / CK_TIME_MS);
    spinners_end(spinners);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    said_read(&scene->said);
    assert_null(said_next(&scene->said, CK_KIND_NOTE, NULL));
}

static void sites_beyond_the_bound_are_counted(void **state)
{
    struct scene *scene = *state;

    for (uint64_t i = 1; i <= SYMBOLS_SITES_MAX + 5; i++) {
        symbols_site(scene->symbols, IMAGE, i * 16);
    }
    assert_int_equal(
        symbols_finish(scene->symbols, scene->said.selfstream, 20 * CK_TIME_S),
        0);
    said_read(&scene->said);
    assert_null(said_next(&scene->said, CK_KIND_SYMBOL, NULL));
    assert_non_null(said_next(&scene->said, CK_KIND_NOTE, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(sites_of_a_position_independent_program),
        CASE(sites_of_a_program_at_a_fixed_address),
        CASE(sites_of_a_program_of_lld),
        CASE(a_stripped_program_gives_module_and_offset),
        CASE(lines_in_a_debug_file_are_found_for_calls),
        CASE(lines_in_a_debug_file_are_not_read_for_stacks),
        CASE(a_frame_that_is_a_call_as_well_has_its_line),
        CASE(a_frame_in_the_vdso_has_its_name),
        CASE(the_kernel_is_named_for_many_samples_alone),
        CASE(each_module_is_recorded_once),
        CASE(a_replaced_file_is_not_believed),
        CASE(a_process_is_looked_at_where_it_is_worth_it),
        CASE(looks_at_a_process_that_stays_grow_rare),
        CASE(a_file_that_is_shortened_costs_its_names_alone),
        CASE(time_over_is_noted),
        CASE(waiting_for_a_cpu_is_not_counted),
        CASE(sites_beyond_the_bound_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

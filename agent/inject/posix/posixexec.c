/* posixexec.c - a program of our own kind loads us without a look at /proc
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * LD_PRELOAD has $PLATFORM in place of a directory, for children with another
 * loader (agent/front/libraries.c). Wherever it is used, glibc's loader asks
 * /proc for the name of its program: 4 % of the life of a program that ends at
 * once. The folder of each platform that can load us is a link to `.`, so for
 * a program whose loader is glibc's for this processor $PLATFORM may as well be
 * left out. execve() gives such a program the same text with as many
 * characters that lead nowhere else; there it is written back before main(),
 * so that the program finds it unchanged, and other children are as safe as
 * before.
 *
 * A program that comes many times a second, and in which nothing would be
 * recorded, gets no library at all (posixstarts.h): the loader's work for one
 * is 8 % of its life. Nor does one whose address space is limited to little: a
 * library and a ring would take what it needs.
 */
#include "agent/inject/posix/posixexec.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "agent/inject/posix/posixcall.h"
#include "agent/inject/posix/posixstarts.h"
#include "schema/kernelask.h"

#define VARIABLE "LD_PRELOAD="
#define RING CK_RING_ENV "="
#define NAME_MOST (sizeof(RING) - 1) /* the longer one of both */
/* With more of them, or a longer text, all stays as it is. */
#define VARIABLES_MAX 512
#define TEXT_MAX 1024
#define PAGE_BYTES 4096
#define KINDS 8
#define HEAD_BYTES 1024 /* of a program: its table of parts, and its loader */
/* The first thread's stack, this far from its begin. Other stacks may be of one
 * page (a handler's, that of a child of clone()). */
#define FIRST_STACK_BYTES ((uintptr_t)256 << 10)
/* Of an address space, twice what ours of one thread take. */
#define SPACE_LEAST ((uint64_t)32 << 20)
/* A frame of its own, which those that have no room for it do not make. */
#define ALONE __attribute__((noinline))

/* Of the same length, before the name of a library of ours. Short, and used as
 * CK_RING_ENV_HERE is: each program reads them. */
#define BY_PLATFORM "$PLATFORM/"
#define DIRECT "./././././"
#define PLACE_LENGTH (sizeof(DIRECT) - 1)
_Static_assert(sizeof(BY_PLATFORM) == sizeof(DIRECT), "written in place");

static const char own_loader[] = "/lib64/ld-linux-x86-64.so.2";

typedef int (*execve_f)(const char *, char *const *, char *const *);

POSIX_SYMBOL(execve, 0, POSIX_PLAIN);

INJECT_START static bool is_at(const char *text, const char *part)
{
    size_t i = 0;

    while (i < PLACE_LENGTH && text[i] == part[i]) {
        i++;
    }
    return i == PLACE_LENGTH && text[i] == 'l' && text[i + 1] == 'i' &&
           text[i + 2] == 'b' && text[i + 3] == 'c' && text[i + 4] == 'k';
}

/* Each `from` in the text becomes `to`. How many. */
INJECT_START static unsigned
text_replace(char *text, const char *from, const char *to)
{
    unsigned count = 0;

    for (; *text != '\0'; text++) {
        if (is_at(text, from)) {
            for (size_t i = 0; i < PLACE_LENGTH; i++) {
                text[i] = to[i];
            }
            text += PLACE_LENGTH - 1;
            count++;
        }
    }
    return count;
}

static uintptr_t first_stack; /* an address in it; 0 = not known */

static bool is_on_first_stack(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    return here - (first_stack - FIRST_STACK_BYTES) < 2 * FIRST_STACK_BYTES;
}

INJECT_START void posix_exec_load(char *preload)
{
    first_stack = (uintptr_t)__builtin_frame_address(0);
    if (preload != NULL) {
        (void)text_replace(preload, (char[]){DIRECT}, (char[]){BY_PLATFORM});
    }
}

static uint64_t key_mix(uint64_t key, uint64_t word)
{
    key = (key ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 32;
}

/* Of a plain file that gives no rights, what another content would have
 * otherwise; 0 = it is none. */
ALONE static uint64_t file_key(const char *path)
{
    struct stat st;
    uint64_t key = 1;

    if (ck_kernel_ask(SYS_newfstatat,
                      (long[6]){AT_FDCWD, (long)path, (long)&st, 0}) != 0 ||
        !S_ISREG(st.st_mode) || (st.st_mode & (S_ISUID | S_ISGID)) != 0) {
        return 0;
    }
    key = key_mix(key, st.st_dev);
    key = key_mix(key, st.st_ino);
    key = key_mix(key, (uint64_t)st.st_size);
    key = key_mix(key, (uint64_t)st.st_mtim.tv_sec);
    key = key_mix(key, (uint64_t)st.st_mtim.tv_nsec);
    key = key_mix(key, (uint64_t)st.st_ctim.tv_sec);
    return key_mix(key, (uint64_t)st.st_ctim.tv_nsec) | 1;
}

/* The first bytes of a file. */
static size_t head_read(const char *path, void *head)
{
    long fd = ck_kernel_open(path);
    long bytes;

    if (fd < 0) {
        return 0;
    }
    bytes = ck_kernel_ask(SYS_read, (long[6]){fd, (long)head, HEAD_BYTES});
    (void)ck_kernel_ask(SYS_close, (long[6]){fd});
    return bytes > 0 ? (size_t)bytes : 0;
}

/* Is glibc's loader for this processor what loads it? */
ALONE static bool has_own_loader(const char *path)
{
    union {
        Elf64_Ehdr elf;
        char bytes[HEAD_BYTES];
    } head;
    size_t bytes = head_read(path, &head);

    if (bytes < sizeof(head.elf) ||
        memcmp(head.elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.elf.e_machine != EM_X86_64 ||
        head.elf.e_phentsize != sizeof(Elf64_Phdr) ||
        head.elf.e_phoff > bytes) {
        return false;
    }
    for (size_t i = 0; i < head.elf.e_phnum; i++) {
        size_t at = (size_t)head.elf.e_phoff + i * sizeof(Elf64_Phdr);
        Elf64_Phdr part;

        if (at + sizeof(part) > bytes) {
            return false;
        }
        memcpy(&part, head.bytes + at, sizeof(part));
        if (part.p_type == PT_INTERP) {
            return part.p_filesz == sizeof(own_loader) &&
                   part.p_offset <= bytes - sizeof(own_loader) &&
                   memcmp(head.bytes + part.p_offset, own_loader,
                          sizeof(own_loader)) == 0;
        }
    }
    return false;
}

/* Keys of such files. A child of vfork() enters them for its parent, a shell
 * that may execute one a thousand times. */
static _Atomic uint64_t own_kinds[KINDS];

/* The file's key; 0 = it is of another kind. */
static uint64_t own_kind(const char *path)
{
    uint64_t key = file_key(path);
    _Atomic uint64_t *known = &own_kinds[(key >> 1) % KINDS];

    if (key == 0) {
        return 0;
    }
    if (atomic_load_explicit(known, memory_order_relaxed) != key) {
        if (!has_own_loader(path)) {
            return 0;
        }
        atomic_store_explicit(known, key, memory_order_relaxed);
    }
    return key;
}

/* Can this page be read? What a program passes to execve() may be no address,
 * which the kernel answers with an error. It is asked by a change of the signal
 * mask in a way that does not exist: that reads the new mask, and does no more.
 */
static bool is_readable(uintptr_t at)
{
    long words[6] = {-1, (long)(at & ~(uintptr_t)7), 0, 8};

    return words[1] != 0 && /* that is no mask */
           (ck_kernel_ask(SYS_rt_sigprocmask, words) != -1 || errno != EFAULT);
}

/* Can these bytes of a text be read, up to its end? *page is the number of the
 * last page that could. */
static bool is_text(const char *text, size_t bytes, uintptr_t *page)
{
    for (size_t i = 0; i < bytes; i++) {
        uintptr_t here = (uintptr_t)(text + i) / PAGE_BYTES;

        if (here != *page && !is_readable((uintptr_t)(text + i))) {
            return false;
        }
        *page = here;
        if (text[i] == '\0') {
            return true;
        }
    }
    return true;
}

static bool is_preload(const char *text)
{
    return text[0] == 'L' && strncmp(text, VARIABLE, sizeof(VARIABLE) - 1) == 0;
}

/* Can all be read that is compared and replaced here? */
static bool is_environment(char *const *env)
{
    uintptr_t array = UINTPTR_MAX;
    uintptr_t page = UINTPTR_MAX;

    for (size_t i = 0; i <= VARIABLES_MAX; i++) {
        uintptr_t here = (uintptr_t)&env[i] / PAGE_BYTES;

        if (here != array && !is_readable((uintptr_t)&env[i])) {
            return false;
        }
        array = here;
        if (env[i] == NULL) {
            return true;
        }
        if (!is_text(env[i], NAME_MOST, &page) ||
            (is_preload(env[i]) && !is_text(env[i], TEXT_MAX, &page))) {
            return false;
        }
    }
    return true;
}

/* Where LD_PRELOAD is, of so many variables; `count` = it is not there, or
 * there are too many. */
static size_t preload_find(char *const *env, size_t *count)
{
    size_t found = VARIABLES_MAX;

    for (*count = 0; env[*count] != NULL; ++*count) {
        if (*count == VARIABLES_MAX) {
            return VARIABLES_MAX;
        }
        if (found == VARIABLES_MAX && is_preload(env[*count])) {
            found = *count;
        }
    }
    return found;
}

/* Nothing is outside of this frame: a child of vfork() shares our memory. */
ALONE static int exec_direct(execve_f next,
                             const char *path,
                             char *const *argv,
                             char *const *env)
{
    char *changed[VARIABLES_MAX + 1];
    char text[TEXT_MAX];
    size_t count;
    size_t at = preload_find(env, &count);

    strcpy(text, env[at]);
    (void)text_replace(text, BY_PLATFORM, DIRECT);
    memcpy(changed, env, (count + 1) * sizeof(*env));
    changed[at] = text;
    return next(path, argv, changed);
}

/* Without the variables that are ours. */
ALONE static int exec_without(execve_f next,
                              const char *path,
                              char *const *argv,
                              char *const *env)
{
    char *changed[VARIABLES_MAX + 1];
    size_t count = 0;

    for (size_t i = 0; env[i] != NULL; i++) {
        if (!is_preload(env[i]) && strncmp(env[i], RING, NAME_MOST) != 0) {
            changed[count++] = env[i];
        }
    }
    changed[count] = NULL;
    return next(path, argv, changed);
}

/* Of libraries that the loader is to load: the end of this one. */
static const char *library_end(const char *text)
{
    return text + strcspn(text, ": ");
}

/* Is it one that records nothing in a program without CUDA and MPI? */
static bool is_ours(const char *text)
{
    static const char names[][sizeof("libckcuda.so")] = {"libck.so",
                                                         "libckcuda.so"};
    const char *end = library_end(text);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t length = PLACE_LENGTH + strlen(names[i]);

        if ((size_t)(end - text) >= length &&
            is_at(end - length, BY_PLATFORM) &&
            strncmp(end - strlen(names[i]), names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Are these all? What records memory is for each program, and the others are
 * the user's. */
static bool is_alone(char *const *env)
{
    size_t count;
    const char *text = env[preload_find(env, &count)] + sizeof(VARIABLE) - 1;

    while (is_ours(text)) {
        text = library_end(text);
        if (*text == '\0') {
            return true;
        }
        text++;
    }
    return false;
}

/* Do its variables name libraries of ours by $PLATFORM? */
static bool is_by_platform(char *const *env)
{
    size_t count;
    size_t at = preload_find(env, &count);

    if (at == VARIABLES_MAX || strlen(env[at]) >= TEXT_MAX) {
        return false;
    }
    for (const char *text = env[at]; *text != '\0'; text++) {
        if (is_at(text, BY_PLATFORM)) {
            return true;
        }
    }
    return false;
}

/* Is there no room for a library and a ring beside the program? */
ALONE static bool is_cramped(void)
{
    struct ck_ring_header *header = inject_ring.header;
    struct rlimit space;

    if (header == NULL ||
        ck_kernel_ask(SYS_prlimit64,
                      (long[6]){0, RLIMIT_AS, 0, (long)&space}) != 0 ||
        space.rlim_cur >= SPACE_LEAST) {
        return false;
    }
    (void)atomic_fetch_add(&header->cramped, 1);
    return true;
}

INJECT_ENTRY(int, execve, const char *path, char *const *argv, char *const *env)
{
    execve_f next = (execve_f)POSIX_NEXT(execve);
    int saved = errno;
    bool is_spared;
    uint64_t key;

    if (next == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (path == NULL || env == NULL || !is_on_first_stack() ||
        atomic_load(&inject_ring.is_closed) || !is_environment(env) ||
        !is_by_platform(env) || (key = own_kind(path)) == 0) {
        errno = saved;
        return next(path, argv, env);
    }
    is_spared =
        is_alone(env) && (is_cramped() || posix_starts_spare(path, key));
    errno = saved;
    return is_spared ? exec_without(next, path, argv, env)
                     : exec_direct(next, path, argv, env);
}

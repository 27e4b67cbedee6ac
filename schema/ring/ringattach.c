/* ringattach.c - map an agent's ring and enter its table of process images
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs inside the target, as ring.c does and under the same rules, but for
 * ck_ring_enroll().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "schema/kernelask.h"
#include "schema/ring/ring.h"

/* Placed with the other code that runs when a program starts or forks
 * (agent/inject/inject.h): code elsewhere would cost one more page fault. */
#define START __attribute__((section(".text.startup")))

/* Key of an image: its pid and the random bytes of its exec, folded, which are
 * the same in a forked child. */
static uint64_t image_key(uint32_t pid, const uint8_t *bytes)
{
    uint32_t tag = 0x9e3779b9u;

    for (int i = 0; bytes != NULL && i < CK_RING_IMAGE_BYTES; i++) {
        tag = (tag ^ bytes[i]) * 0x01000193u;
    }
    return ((uint64_t)pid << 32) | tag | 1;
}

START static bool is_body_size(uint64_t bytes)
{
    return bytes >= CK_TEXT_BYTES_MAX + CK_UNIT_BYTES &&
           (bytes & (bytes - 1)) == 0;
}

START static int header_check(const struct ck_ring_header *header,
                              uint64_t bytes)
{
    uint64_t heads = CK_RING_HEADS_OFFSET +
                     (uint64_t)header->slots * sizeof(struct ck_ring_slot);

    if (header->magic != CK_RING_MAGIC || header->version != CK_RING_VERSION ||
        header->layout_sum != ck_ring_layout_sum(header) ||
        header->slots == 0 || header->slots > CK_RING_SLOTS_MAX ||
        header->header_bytes < heads || header->header_bytes > bytes ||
        !is_body_size(header->slot_bytes) ||
        !is_body_size(header->small_bytes) ||
        header->small_bytes > header->slot_bytes ||
        header->slot_offset > bytes ||
        header->slot_bytes > (bytes - header->slot_offset) / header->slots) {
        errno = EPROTO;
        return -1;
    }
    return 0;
}

/* The first bytes of the file, shared; NULL with errno. */
START static void *file_map(int fd, uint64_t bytes)
{
    int rights = PROT_READ | PROT_WRITE;
#if defined(__x86_64__)
    long place = ck_kernel_ask(
        SYS_mmap, (long[6]){0, (long)bytes, rights, MAP_SHARED, fd, 0});

    return place == -1 ? NULL : (void *)place;
#else
    void *map = mmap(NULL, bytes, rights, MAP_SHARED, fd, 0);

    return map == MAP_FAILED ? NULL : map;
#endif
}

/* Copies a text and its end; false where it is longer. */
START static bool text_copy(char *to, size_t room, const char *text)
{
    for (size_t i = 0; i < room; i++) {
        to[i] = text[i];
        if (text[i] == '\0') {
            return true;
        }
    }
    return false;
}

/* Stamps are in the time of the agent, whatever namespace this process is in.
 */
START static ck_time_t clock_join(const struct ck_ring *ring,
                                  const struct ck_ring_header *header)
{
    return ck_time_space_look(
        header->alive != 0 ? header->alive : header->created, ring->raw_space);
}

/* What is checked is a copy: another thread may be writing to the header. */
START static int header_map(struct ck_ring *ring, int fd, uint64_t file_bytes)
{
    struct ck_ring_header copy;
    void *map;

    if (ck_kernel_ask(SYS_pread64, (long[6]){fd, (long)&copy, sizeof(copy)}) !=
            (long)sizeof(copy) ||
        header_check(&copy, file_bytes) != 0) {
        errno = EPROTO;
        return -1;
    }
    map = file_map(fd, copy.header_bytes);
    if (map == NULL) {
        return -1;
    }
    ring->header = map;
    ring->layout = ck_ring_layout(&copy);
    ring->loaded = copy.loaded;
    ring->raw_space = copy.raw_space;
    ring->mapped_raw = clock_join(ring, &copy);
    ring->mapped_ticks = ck_time_ticks();
    return 0;
}

/* A plain file of this user that no other can write to or shorten; its size
 * then, else -1 with errno. By system calls: a C library before 2.33 does not
 * export fstat(), and a library in between (fakeroot) gives another user. */
START static off_t file_bytes(int fd)
{
    struct stat st;

    if (ck_kernel_ask(SYS_fstat, (long[6]){fd, (long)&st}) != 0) {
        return -1;
    }
    if (!S_ISREG(st.st_mode) || (st.st_mode & 077) != 0 ||
        st.st_uid != (uid_t)ck_kernel_ask(SYS_geteuid, (long[6]){0})) {
        errno = EPERM;
        return -1;
    }
    return st.st_size;
}

START int ck_ring_map_at(struct ck_ring *ring, const char *path)
{
    struct ck_ring made = {.header = NULL};
    off_t bytes;
    int rc = -1;
    int fd;

    if (path == NULL || path[0] != '/') {
        errno = ENOENT;
        return -1;
    }
    if (!text_copy(made.path, sizeof(made.path), path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = (int)ck_kernel_ask(
        SYS_openat, (long[6]){AT_FDCWD, (long)path,
                              O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK});
    if (fd < 0) {
        return -1;
    }
    bytes = file_bytes(fd);
    if (bytes >= 0) {
        errno = EPROTO;
    }
    if (bytes >= (off_t)sizeof(struct ck_ring_header)) {
        rc = header_map(&made, fd, (uint64_t)bytes);
    }
    if (rc == 0) {
        made.clock = (enum ck_clock)made.layout.clock;
        *ring = made;
    }
    (void)ck_kernel_ask(SYS_close, (long[6]){fd});
    return rc;
}

int ck_ring_map(struct ck_ring *ring)
{
    return ck_ring_map_at(ring, getenv(CK_RING_ENV));
}

uint64_t ck_ring_pid_space(void)
{
    char name[64] = "";
    const char *digits;

    if (readlink("/proc/self/ns/pid", name, sizeof(name) - 1) <= 0) {
        return 0;
    }
    digits = strchr(name, '[');
    return digits == NULL ? 0 : strtoull(digits + 1, NULL, 10);
}

/* The entry of this key, else the first that may be taken, else NULL. */
static struct ck_ring_process *process_find(struct ck_ring_header *header,
                                            uint64_t key)
{
    struct ck_ring_process *table = ck_ring_processes(header);
    uint64_t at = (key * 0x9e3779b97f4a7c15ull) >> 40;
    struct ck_ring_process *open = NULL;

    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        struct ck_ring_process *entry = &table[(at + i) % CK_RING_PROCESSES];
        uint64_t seen = atomic_load(&entry->key);

        if (seen == key) {
            return entry;
        }
        if (open == NULL && (seen == 0 || seen == CK_RING_KEY_BACK)) {
            open = entry;
        }
        if (seen == 0) {
            break;
        }
    }
    return open;
}

/* Enter (pid, image) in the table; the winner of an entry numbers it. Who loses
 * one to another process looks again. */
static struct ck_ring_process *
process_enter(struct ck_ring_header *header, uint32_t pid, const uint8_t *bytes)
{
    uint64_t key = image_key(pid, bytes);
    uint64_t space = ck_ring_pid_space();

    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        struct ck_ring_process *entry = process_find(header, key);
        uint64_t seen = entry == NULL ? 0 : atomic_load(&entry->key);

        if (entry == NULL) {
            break;
        }
        if (seen == key) {
            return entry;
        }
        if ((seen == 0 || seen == CK_RING_KEY_BACK) &&
            atomic_compare_exchange_strong(&entry->key, &seen, key)) {
            entry->pid = pid;
            entry->pid_space = space;
            entry->started = ck_time_raw();
            atomic_store_explicit(&entry->incarnation,
                                  atomic_fetch_add(&header->incarnations, 1) +
                                      1,
                                  memory_order_release);
            return entry;
        }
    }
    atomic_fetch_add(&header->noprocess, 1);
    errno = ENOSPC;
    return NULL;
}

/* The other library of this process may be filling the entry in right now:
 * a few stores, so a bounded spin.
 */
static uint32_t process_incarnation(struct ck_ring_process *process)
{
    uint32_t number = 0;

    for (unsigned i = 0; i < 1u << 20 && number == 0; i++) {
        /* acquire: pairs with the release in process_enter() */
        number =
            atomic_load_explicit(&process->incarnation, memory_order_acquire);
    }
    return number;
}

int ck_ring_enter(struct ck_ring *ring, enum ck_library library)
{
    struct ck_ring_process *process;
    uint32_t incarnation;

    if (ring->is_child) { /* of one that asked for a time namespace? */
        (void)clock_join(ring, ring->header);
    }
    process = process_enter(ring->header, (uint32_t)getpid(),
                            (const uint8_t *)getauxval(AT_RANDOM));
    if (process == NULL) {
        return -1;
    }
    incarnation = process_incarnation(process);
    if (incarnation == 0) {
        errno = EAGAIN;
        return -1;
    }
    atomic_fetch_or(&process->libraries, (uint32_t)library);
    atomic_store(&ring->process, process);
    atomic_store(&ring->incarnation, incarnation);
    return 0;
}

int ck_ring_enroll(struct ck_ring_header *header,
                   uint32_t pid,
                   const uint8_t bytes[CK_RING_IMAGE_BYTES])
{
    return process_enter(header, pid, bytes) == NULL ? -1 : 0;
}

int ck_ring_attach(struct ck_ring *ring, enum ck_library library)
{
    struct ck_ring made;

    if (ck_ring_map(&made) != 0) {
        return -1;
    }
    if (ck_ring_enter(&made, library) != 0) {
        int saved = errno;

        (void)munmap(made.header, made.layout.header_bytes);
        errno = saved;
        return -1;
    }
    *ring = made;
    return 0;
}

START void ck_ring_forget(struct ck_ring *ring)
{
    atomic_store(&ring->process, NULL);
    atomic_store(&ring->incarnation, 0);
    ring->is_child = true;
}

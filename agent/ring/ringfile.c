/* ringfile.c - the ring's file: made, backed slot by slot, removed
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A store to a page of a full tmpfs is a SIGBUS in the target, so no page is
 * ever offered without memory behind it: the head and the outbox are
 * allocated here, the first part of a slot before its state becomes FREE, the
 * rest before `backed` is raised. A burst of new threads finds many slots with
 * their first part; a slot that is used gets the rest.
 */
#include "agent/ring/ringfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "schema/fd.h"
#include "schema/owndir.h"
#include "schema/ring/ringdir.h"
#include "schema/time.h"

#define PAGE_BYTES ((uint64_t)4096)
#define POPULATE_READ 22 /* MADV_POPULATE_READ, which older headers lack */
#define BODIES_FAIR ((uint64_t)2 << 20)
/* Backed when the file is made: whole ones for the threads that every program
 * has, first parts for a burst of threads. */
#define SLOTS_WHOLE 4
#define SLOT_FIRST_BYTES ((uint64_t)256 << 10)
#define SLOT_FIRST_LEAST ((uint64_t)8 << 10)

/* An open directory for a ring. */
struct ringplace {
    const char *dir; /* borrowed */
    int fd;
};

#define NEW_BYTES (sizeof(CK_RING_SUFFIX_NEW) - sizeof(CK_RING_SUFFIX))

/* Open a new locked file in the directory, under a name that no sweep takes for
 * a ring: who is killed before it is whole leaves nothing to recover. */
static int file_open(struct ringfile *ring,
                     const struct ringplace *place,
                     const uint8_t *id)
{
    const char *fresh;
    int fd;

    if (ck_ring_path(ring->path, sizeof(ring->path) - NEW_BYTES, place->dir,
                     id) != 0) {
        return -1;
    }
    strcpy(ring->path + strlen(ring->path) - strlen(CK_RING_SUFFIX),
           CK_RING_SUFFIX_NEW);
    fresh = strrchr(ring->path, '/') + 1;
    fd = openat(place->fd, fresh,
                O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -1;
    }
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
        int saved = errno;

        (void)unlinkat(place->fd, fresh, 0);
        (void)close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

/* It is whole: give it the name of a ring. 0, or -1 with errno. */
static int file_publish(struct ringfile *ring, const struct ringplace *place)
{
    char path[sizeof(ring->path)];
    size_t slash = (size_t)(strrchr(ring->path, '/') - ring->path) + 1;

    strcpy(path, ring->path);
    path[strlen(path) - NEW_BYTES] = '\0';
    if (renameat(place->fd, ring->path + slash, place->fd, path + slash) != 0) {
        return -1;
    }
    strcpy(ring->path, path);
    return 0;
}

static void header_fill(struct ck_ring_header *header,
                        const struct ringplan *plan,
                        const struct ringfile_wish *wish)
{
    header->header_bytes = (uint32_t)ringplan_head(plan->slots);
    header->clock = wish->clock;
    header->slots = plan->slots;
    header->large = plan->large;
    header->slot_bytes = plan->slot_bytes;
    header->small_bytes = plan->small_bytes;
    header->outbox_offset = header->header_bytes;
    header->outbox_bytes = plan->outbox_bytes;
    header->slot_offset = header->outbox_offset + plan->outbox_bytes;
    memcpy(header->agent, wish->agent, sizeof(header->agent));
    header->created = ck_time_raw();
    header->raw_space = ck_time_space("monotonic");
    header->rank = wish->rank;
    header->size = wish->size;
    header->owner_pid = (uint32_t)getpid();
    header->version = CK_RING_VERSION;
    header->magic = CK_RING_MAGIC;
    header->layout_sum = ck_ring_layout_sum(header);
}

/* Half of the memory at most goes to first parts of slots. */
static uint64_t first_bytes(const struct ringplan *plan)
{
    uint64_t bytes =
        ringplan_power(ringplan_bodies(plan) / 2 / RINGPLAN_SLOTS_AT_START);

    if (bytes < SLOT_FIRST_LEAST) {
        bytes = SLOT_FIRST_LEAST;
    }
    if (bytes > SLOT_FIRST_BYTES) {
        bytes = SLOT_FIRST_BYTES;
    }
    return bytes < plan->small_bytes ? bytes : plan->small_bytes;
}

/* A limit on files (ulimit -f) must not kill us: EFBIG then. 0 or -1. */
static int file_size(int fd, uint64_t bytes)
{
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    int rc = ftruncate(fd, (off_t)bytes);

    (void)signal(SIGXFSZ, before);
    return rc;
}

static void constants_take(struct ringfile *ring,
                           const struct ck_ring_header *header)
{
    ring->slot_offset = header->slot_offset;
    ring->clock = (enum ck_clock)header->clock;
    ring->rank = header->rank;
    memcpy(ring->agent, header->agent, sizeof(ring->agent));
}

/* Size the file, allocate its head and outbox, map them. */
static int file_fill(struct ringfile *ring,
                     const struct ringplan *plan,
                     const struct ringfile_wish *wish)
{
    uint64_t head = ringplan_head(plan->slots);
    uint64_t bytes = head + plan->outbox_bytes + plan->slots * plan->slot_bytes;
    void *map;

    if (file_size(ring->fd, bytes) != 0 ||
        fallocate(ring->fd, 0, 0, (off_t)(head + plan->outbox_bytes)) != 0) {
        return -1;
    }
    ring->bodies = calloc(plan->slots, sizeof(*ring->bodies));
    if (ring->bodies == NULL) {
        return -1;
    }
    map = mmap(NULL, head + plan->outbox_bytes, PROT_READ | PROT_WRITE,
               MAP_SHARED, ring->fd, 0);
    if (map == MAP_FAILED) {
        free(ring->bodies);
        ring->bodies = NULL;
        return -1;
    }
    ring->header = map;
    ring->outbox = (uint8_t *)map + head;
    ring->plan = *plan;
    ring->first_bytes = first_bytes(plan);
    header_fill(ring->header, plan, wish);
    constants_take(ring, ring->header);
    return 0;
}

/* What fits there, `least` bytes of bodies or more, and into the memory that is
 * allowed. 0, or -1 with errno. */
static int plan_in(const struct ringplace *place,
                   struct ringplan *plan,
                   const struct ringfile_wish *wish,
                   uint64_t least)
{
    uint64_t most = wish->memory / 3 * 4; /* a plan takes three quarters */
    struct statvfs fs;
    uint64_t available, total;

    if (fstatvfs(place->fd, &fs) != 0) {
        return -1;
    }
    available = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (wish->bound != 0 && wish->bound < available / 4 * 3) {
        available = wish->bound / 3 * 4;
    }
    total = (uint64_t)fs.f_blocks * fs.f_frsize;
    if (most != 0 && most < total) {
        total = most;
        available = available < most ? available : most;
    }
    if (ringplan_make(plan, total, available, wish->sharers, &wish->plan) !=
        0) {
        return -1;
    }
    /* Another place has no more where memory is what limits it. */
    if (ringplan_bodies(plan) < least && total != most) {
        errno = ENOSPC;
        return -1;
    }
    return 0;
}

/* All of it in one directory. 0, or -1 with errno. */
static int create_in(struct ringfile *ring,
                     const struct ringplace *place,
                     const struct ringfile_wish *wish,
                     uint64_t least)
{
    struct ringplan plan;
    int saved;

    if (plan_in(place, &plan, wish, least) != 0) {
        return -1;
    }
    ring->fd = file_open(ring, place, wish->agent);
    if (ring->fd < 0) {
        return -1;
    }
    if (file_fill(ring, &plan, wish) == 0 &&
        ringfile_back(ring, RINGPLAN_SLOTS_AT_START, RINGPLAN_SLOTS_AT_START) >
            0 &&
        file_publish(ring, place) == 0) {
        (void)ringfile_widen(ring, SLOTS_WHOLE, SLOTS_WHOLE);
        return 0;
    }
    saved = errno;
    ringfile_unlink(ring);
    ringfile_fini(ring);
    errno = saved;
    return -1;
}

/* Is the allowed memory the reason why even the first slots are not large? */
static bool is_memory_tight(const struct ringfile *ring,
                            const struct ringfile_wish *wish)
{
    uint64_t large = wish->plan.slot_bytes != 0
                         ? ringplan_power(wish->plan.slot_bytes)
                         : CK_RING_SLOT_BYTES;
    struct ringplan all;

    return wish->memory != 0 && ring->plan.slot_bytes < large &&
           (wish->bound == 0 || wish->bound > wish->memory) &&
           ringplan_make(&all, wish->memory / 3 * 4, wish->memory / 3 * 4,
                         wish->sharers, &wish->plan) == 0 &&
           ringplan_bodies(&all) <= ringplan_bodies(&ring->plan);
}

/* The same, where `dir` or what takes its place is. */
static int create_below(struct ringfile *ring,
                        char dir[CK_RING_DIR_BYTES],
                        const struct ringfile_wish *wish,
                        uint64_t least)
{
    struct ck_err refused = {.text = ""};
    struct ringplace place = {.dir = dir};
    int saved;
    int rc;

    place.fd = wish->dir != NULL ? ck_owndir_make(dir, NULL)
                                 : ck_ring_dir_open(dir, &refused);
    if (place.fd < 0) {
        return -1;
    }
    memset(ring, 0, sizeof(*ring));
    rc = create_in(ring, &place, wish, least);
    ring->is_tight = is_memory_tight(ring, wish);
    saved = errno;
    (void)snprintf(ring->refused, sizeof(ring->refused), "%.159s",
                   refused.text);
    (void)close(place.fd);
    if (rc != 0 && refused.text[0] != '\0') {
        (void)rmdir(dir);
    }
    errno = saved;
    return rc;
}

int ringfile_create(struct ringfile *ring,
                    const struct ringfile_wish *wish,
                    struct ck_err *err)
{
    char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES];
    char dir[CK_RING_DIR_BYTES];
    size_t count = 1;
    struct ringfile made;

    if (wish->dir != NULL) {
        (void)snprintf(dirs[0], sizeof(dirs[0]), "%s", wish->dir);
    } else {
        ck_ring_dirs(dirs);
        count = CK_RING_DIRS;
    }
    /* Enough in the second place is better than a little in the first. */
    for (size_t i = 0; i < 2 * count; i++) {
        strcpy(dir, dirs[i % count]);
        if (create_below(&made, dir, wish, i < count ? BODIES_FAIR : 0) == 0) {
            *ring = made;
            return 0;
        }
        (void)ck_err_set(err, "cannot make recording memory in %s: %s",
                         dirs[i % count], strerror(errno));
    }
    return -1;
}

/* Are these the sizes of a ring in a file of so many bytes? A program that
 * writes to what is not its own may have made the file longer: what was
 * recorded is where it was. */
static bool is_header_sound(const struct ck_ring_header *header, uint64_t bytes)
{
    return header->magic == CK_RING_MAGIC &&
           header->version == CK_RING_VERSION &&
           header->layout_sum == ck_ring_layout_sum(header) &&
           header->slots > 0 && header->slots <= CK_RING_SLOTS_MAX &&
           (header->clock == CK_CLOCK_RAW || header->clock == CK_CLOCK_TSC) &&
           header->header_bytes == ringplan_head(header->slots) &&
           header->outbox_offset == header->header_bytes &&
           header->outbox_bytes % PAGE_BYTES == 0 &&
           header->outbox_bytes < bytes &&
           header->slot_offset ==
               header->outbox_offset + header->outbox_bytes &&
           header->small_bytes >= RINGPLAN_SLOT_BYTES_LEAST &&
           header->small_bytes <= header->slot_bytes &&
           header->slot_bytes <= bytes &&
           header->small_bytes == ringplan_power(header->small_bytes) &&
           header->slot_bytes == ringplan_power(header->slot_bytes) &&
           header->slot_offset <= bytes &&
           header->slot_bytes <= (bytes - header->slot_offset) / header->slots;
}

bool ringfile_is_shortened(int fd)
{
    struct ck_ring_header header;
    struct stat st;
    uint64_t made;

    if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        header.slots > CK_RING_SLOTS_MAX || fstat(fd, &st) != 0 ||
        header.slot_bytes > INT64_MAX / CK_RING_SLOTS_MAX / 2 ||
        header.slot_offset > INT64_MAX / 2) {
        return false;
    }
    made = header.slot_offset + header.slots * header.slot_bytes;
    return (uint64_t)st.st_size < made && is_header_sound(&header, made);
}

/* Map what header describes. 0, or -1 with errno. */
static int adopted_map(struct ringfile *ring,
                       const struct ck_ring_header *header)
{
    void *map = mmap(NULL, header->slot_offset, PROT_READ | PROT_WRITE,
                     MAP_SHARED, ring->fd, 0);

    if (map == MAP_FAILED) {
        return -1;
    }
    ring->bodies = calloc(header->slots, sizeof(*ring->bodies));
    if (ring->bodies == NULL) {
        (void)munmap(map, header->slot_offset);
        return -1;
    }
    ring->header = map;
    ring->outbox = (uint8_t *)map + header->header_bytes;
    ring->plan = (struct ringplan){.slots = header->slots,
                                   .large = header->large,
                                   .slot_bytes = header->slot_bytes,
                                   .small_bytes = header->small_bytes,
                                   .outbox_bytes = header->outbox_bytes};
    constants_take(ring, header);
    ringfile_look(ring);
    return 0;
}

/* Open a ring's file where no other user could have made it. */
static int adopted_open(const char *path)
{
    const char *slash = strrchr(path, '/');
    char dir[CK_RING_DIR_BYTES];
    int place;
    int saved;
    int fd;

    if (slash == NULL || (size_t)(slash - path) >= sizeof(dir)) {
        errno = EINVAL;
        return -1;
    }
    (void)snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
    place = ck_owndir_open(dir, NULL);
    if (place < 0) {
        return -1;
    }
    fd = ck_owndir_file(place, slash + 1, O_RDWR);
    saved = errno;
    (void)close(place);
    errno = saved;
    return fd;
}

int ringfile_adopt(struct ringfile *ring, const char *path)
{
    struct ringfile made = {.fd = -1};
    struct ck_ring_header header;
    struct stat st;
    int saved = EPROTO;

    if (strlen(path) >= sizeof(made.path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(made.path, path);
    made.fd = adopted_open(path);
    if (made.fd < 0) {
        return -1;
    }
    if (flock(made.fd, LOCK_EX | LOCK_NB) != 0 || fstat(made.fd, &st) != 0) {
        saved = errno;
    } else if (pread(made.fd, &header, sizeof(header), 0) ==
                   (ssize_t)sizeof(header) &&
               is_header_sound(&header, (uint64_t)st.st_size)) {
        if (adopted_map(&made, &header) == 0) {
            *ring = made;
            return 0;
        }
        saved = errno;
    }
    (void)close(made.fd);
    errno = saved;
    return -1;
}

void ringfile_fini(struct ringfile *ring)
{
    int saved = errno;

    if (ring->header != NULL) {
        for (uint32_t i = 0; i < ring->plan.slots; i++) {
            if (ring->bodies[i] != NULL) {
                (void)munmap(ring->bodies[i], 2 * ringfile_body_bytes(ring, i));
            }
        }
        (void)munmap(ring->header, ring->slot_offset);
    }
    free(ring->bodies);
    ck_fd_close(ring->fd);
    ring->header = NULL;
    ring->outbox = NULL;
    ring->bodies = NULL;
    ring->fd = -1;
    errno = saved;
}

void ringfile_unlink(struct ringfile *ring)
{
    int saved = errno;

    (void)unlink(ring->path);
    ck_ring_dir_remove(ring->path);
    errno = saved;
}

uint64_t ringfile_body_bytes(const struct ringfile *ring, uint32_t slot)
{
    return slot < ring->plan.large ? ring->plan.slot_bytes
                                   : ring->plan.small_bytes;
}

void ringfile_look(struct ringfile *ring)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);

    ring->backed = 0;
    while (ring->backed < ring->plan.slots &&
           atomic_load(&heads[ring->backed].state) != CK_SLOT_UNBACKED) {
        ring->backed++;
    }
}

void ringfile_reopen(struct ringfile *ring)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);

    for (uint32_t i = 0; i < ring->backed; i++) {
        uint32_t state = CK_SLOT_FREE;

        if (atomic_load_explicit(&heads[i].head, memory_order_acquire) !=
            atomic_load_explicit(&heads[i].tail, memory_order_relaxed)) {
            (void)atomic_compare_exchange_strong(&heads[i].state, &state,
                                                 CK_SLOT_ENDED);
        }
    }
}

static bool is_free(const struct ck_ring_slot *slot)
{
    return atomic_load_explicit(&slot->state, memory_order_relaxed) ==
           CK_SLOT_FREE;
}

unsigned ringfile_free(const struct ringfile *ring)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);
    unsigned count = 0;

    for (uint32_t i = 0; i < ring->backed; i++) {
        count += is_free(&heads[i]);
    }
    return count;
}

bool ringfile_is_overwritten(const struct ringfile *ring, bool is_off)
{
    const struct ck_ring_header *header = ring->header;

    return header->layout_sum != ck_ring_layout_sum(header) ||
           header->slot_offset != ring->slot_offset ||
           (!is_off && atomic_load(&header->is_off) != 0);
}

ck_time_t ringfile_alive(const struct ringfile *ring)
{
    ck_time_t alive = ring->header->alive;

    return alive > 0 && alive <= ck_time_raw() ? alive : 0;
}

uint64_t ringfile_taken(const struct ringfile *ring)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);
    uint64_t units = 0;

    for (uint32_t i = 0; i < ring->backed; i++) {
        units += atomic_load_explicit(&heads[i].tail, memory_order_relaxed);
    }
    return units;
}

static bool is_whole(const struct ck_ring_slot *slot)
{
    return atomic_load_explicit(&slot->backed, memory_order_relaxed) ==
           CK_RING_BACKED_ALL;
}

/* Give memory to the body from `from` to `to` bytes. 0 or -1. */
static int
body_back(struct ringfile *ring, uint32_t index, uint64_t from, uint64_t to)
{
    struct ck_ring_slot *slot = &ck_ring_heads(ring->header)[index];
    uint64_t at = ring->slot_offset + index * ring->plan.slot_bytes + from;

    if (fallocate(ring->fd, 0, (off_t)at, (off_t)(to - from)) != 0) {
        ring->is_full = true;
        return -1;
    }
    /* release: pairs with the acquire in ck_ring_has_room() */
    atomic_store_explicit(&slot->backed,
                          to == ringfile_body_bytes(ring, index)
                              ? CK_RING_BACKED_ALL
                              : to / CK_UNIT_BYTES,
                          memory_order_release);
    return 0;
}

unsigned ringfile_back(struct ringfile *ring, unsigned ahead, unsigned most)
{
    struct ck_ring_header *header = ring->header;
    struct ck_ring_slot *heads = ck_ring_heads(header);
    unsigned added = 0;
    unsigned have = ringfile_free(ring);

    while (have + added < ahead && added < most &&
           ring->backed < ring->plan.slots) {
        if (body_back(ring, ring->backed, 0, ring->first_bytes) != 0) {
            break;
        }
        /* release: a thread that claims the slot sees its memory backed */
        atomic_store_explicit(&heads[ring->backed].state, CK_SLOT_FREE,
                              memory_order_release);
        ring->backed++;
        added++;
    }
    if (added > 0) {
        atomic_fetch_add(&header->offers, 1);
    }
    return added;
}

/* Give the rest of the body its memory. 0 or -1. */
static int slot_widen(struct ringfile *ring, uint32_t index)
{
    const struct ck_ring_slot *slot = &ck_ring_heads(ring->header)[index];
    uint64_t bytes = ringfile_body_bytes(ring, index);
    uint64_t backed = atomic_load(&slot->backed);

    /* Overwritten by the target: all of it is asked for again. */
    return body_back(
        ring, index,
        backed < bytes / CK_UNIT_BYTES ? backed * CK_UNIT_BYTES : 0, bytes);
}

/* What has memory is being used up: an eighth by a thread that lives, half by
 * those before. */
static bool is_filling(const struct ck_ring_slot *slot)
{
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

    return atomic_load_explicit(&slot->head, memory_order_relaxed) >
           atomic_load_explicit(&slot->backed, memory_order_relaxed) /
               (state == CK_SLOT_LIVE ? 8 : 2);
}

unsigned ringfile_widen(struct ringfile *ring, unsigned ahead, unsigned most)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);
    unsigned free_whole = 0;
    unsigned added = 0;

    ring->narrow = 0;
    for (uint32_t i = 0; i < ring->backed; i++) {
        bool is_wanted = is_free(&heads[i]) && free_whole < ahead;

        if (!is_whole(&heads[i]) && added < most &&
            (is_wanted || is_filling(&heads[i]))) {
            added += slot_widen(ring, i) == 0;
        }
        free_whole += is_free(&heads[i]) && is_whole(&heads[i]);
        ring->narrow += !is_free(&heads[i]) &&
                        (!is_whole(&heads[i]) || i >= ring->plan.large);
    }
    return added;
}

const uint8_t *ringfile_body(struct ringfile *ring, uint32_t slot)
{
    const struct ck_ring_slot *head = &ck_ring_heads(ring->header)[slot];
    uint64_t bytes = ringfile_body_bytes(ring, slot);
    off_t offset = (off_t)(ring->slot_offset + slot * ring->plan.slot_bytes);
    uint8_t *base = ring->bodies[slot];

    if (base != NULL) {
        return base;
    }
    base = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return NULL;
    }
    if (mmap(base, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, ring->fd,
             offset) == MAP_FAILED ||
        mmap(base + bytes, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, ring->fd,
             offset) == MAP_FAILED) {
        int saved = errno;

        (void)munmap(base, 2 * bytes);
        errno = saved;
        return NULL;
    }
    if (is_whole(head) && atomic_load(&head->state) == CK_SLOT_LIVE) {
        /* One call now instead of a fault a page in the first lap. */
        (void)madvise(base, bytes, POPULATE_READ);
    }
    ring->bodies[slot] = base;
    return base;
}

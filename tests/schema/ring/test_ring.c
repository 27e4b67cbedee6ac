/* test_ring.c - libraries of one process that share a thread's slot
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The test plays the agent: it lays out a ring file by ring.h, and reads
 * the slots directly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/ring/ring.h"

#define SLOTS 4
#define SLOT_BYTES ((uint64_t)16 << 10)
#define SLOT_UNITS (SLOT_BYTES / CK_UNIT_BYTES)

struct fixture {
    char path[64];
    struct ck_ring_header *header;
    uint8_t *file;
    size_t bytes;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    size_t head = CK_RING_HEADS_OFFSET + SLOTS * sizeof(struct ck_ring_slot);
    int fd;

    strcpy(f->path, "/tmp/ck-ring-XXXXXX");
    fd = mkstemp(f->path);
    f->bytes = head + SLOTS * SLOT_BYTES;
    if (fd < 0 || ftruncate(fd, (off_t)f->bytes) != 0) {
        return -1;
    }
    f->file = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    f->header = (struct ck_ring_header *)f->file;
    (void)close(fd);
    f->header->magic = CK_RING_MAGIC;
    f->header->version = CK_RING_VERSION;
    f->header->header_bytes = (uint32_t)head;
    f->header->clock = CK_CLOCK_RAW;
    f->header->slots = SLOTS;
    f->header->slot_bytes = SLOT_BYTES;
    f->header->small_bytes = SLOT_BYTES;
    f->header->slot_offset = head;
    f->header->layout_sum = ck_ring_layout_sum(f->header);
    for (int i = 0; i < SLOTS; i++) {
        atomic_store(&ck_ring_heads(f->header)[i].state, CK_SLOT_FREE);
        atomic_store(&ck_ring_heads(f->header)[i].backed, CK_RING_BACKED_ALL);
    }
    *state = f;
    return setenv(CK_RING_ENV, f->path, 1);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    (void)unlink(f->path);
    (void)munmap(f->file, f->bytes);
    free(f);
    return unsetenv(CK_RING_ENV);
}

static struct ck_ring_slot *head_of(struct fixture *f, unsigned i)
{
    return &ck_ring_heads(f->header)[i];
}

static void *unit_at(struct fixture *f, unsigned slot, uint64_t position)
{
    return f->file + f->header->slot_offset + slot * SLOT_BYTES +
           position % SLOT_UNITS * CK_UNIT_BYTES;
}

static int put_mark(struct ck_ring_writer *writer, int64_t value)
{
    struct ck_mark *mark = ck_ring_begin(writer, CK_CLOCK_RAW, 1);

    if (mark == NULL) {
        return -1;
    }
    *mark =
        (struct ck_mark){.e = {CK_KIND_MARK, 1, 0, 0, value}, .value = value};
    ck_ring_commit(writer, 1);
    return 0;
}

static void two_libraries_share_the_slot_of_a_thread(void **state)
{
    struct fixture *f = *state;
    struct ck_ring mpi = {0}, cl = {0};
    struct ck_ring_writer a = {0}, b = {0};

    assert_int_equal(ck_ring_attach(&mpi, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_attach(&cl, CK_LIBRARY_OPENCL), 0);
    assert_int_equal(mpi.incarnation, 1);
    assert_int_equal(cl.incarnation, 1);
    assert_int_equal(ck_ring_writer_init(&a, &mpi), 0);
    assert_int_equal(ck_ring_writer_init(&b, &cl), 0);
    assert_int_equal(a.slot - ck_ring_heads(mpi.header),
                     b.slot - ck_ring_heads(cl.header));
    assert_ptr_equal(a.body, b.body); /* mapped once */
    assert_int_equal(put_mark(&a, 10), 0);
    assert_int_equal(put_mark(&b, 20), 0);
    assert_int_equal(put_mark(&a, 30), 0);
    assert_int_equal(atomic_load(&head_of(f, 0)->head), 3);
    for (uint64_t i = 0; i < 3; i++) {
        const struct ck_mark *mark = unit_at(f, 0, i);

        assert_int_equal(mark->value, 10 * (i + 1));
    }
    assert_int_equal(ck_ring_name_id(&mpi), 1);
    assert_int_equal(ck_ring_name_id(&cl), 2);
    ck_ring_writer_fini(&a, &mpi);
    assert_int_equal(atomic_load(&head_of(f, 0)->state), CK_SLOT_LIVE);
    ck_ring_writer_fini(&b, &cl);
    assert_int_equal(atomic_load(&head_of(f, 0)->state), CK_SLOT_ENDED);
}

static void a_full_slot_drops_and_counts(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    struct ck_ring_writer writer = {0};
    struct ck_ring_slot *slot = head_of(f, 0);

    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&writer, &ring), 0);
    for (uint64_t i = 0; i < SLOT_UNITS; i++) {
        assert_int_equal(put_mark(&writer, (int64_t)i), 0);
    }
    assert_int_equal(put_mark(&writer, 1), -1);
    assert_int_equal(put_mark(&writer, 2), -1);
    assert_int_equal(atomic_load(&slot->dropped), 2);
    assert_true(atomic_load(&slot->lost_first) != 0);
    assert_true(atomic_load(&slot->lost_last) >=
                atomic_load(&slot->lost_first));
    atomic_store(&slot->tail, 1); /* the collector took one */
    assert_int_equal(put_mark(&writer, 99), 0);
    assert_int_equal(((struct ck_mark *)unit_at(f, 0, SLOT_UNITS))->value, 99);
    assert_int_equal(put_mark(&writer, 3), -1);
    assert_int_equal(atomic_load(&slot->dropped), 3);
    ck_ring_writer_fini(&writer, &ring);
}

static void a_record_does_not_wrap(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    struct ck_ring_writer writer = {0};
    char text[300], seen[300];
    struct ck_text fact = {.e = {.kind = CK_KIND_NOTE}};

    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&writer, &ring), 0);
    for (uint64_t i = 0; i < SLOT_UNITS - 3; i++) {
        assert_int_equal(put_mark(&writer, 0), 0);
    }
    atomic_store(&head_of(f, 0)->tail, SLOT_UNITS - 3);
    for (int i = 0; i < 300; i++) {
        text[i] = (char)i;
    }
    assert_int_equal(ck_ring_text(&writer, &ring, fact, text, 300), 0);
    assert_int_equal(atomic_load(&head_of(f, 0)->head), SLOT_UNITS + 8);
    memcpy(seen, unit_at(f, 0, SLOT_UNITS - 2), 64);
    memcpy(seen + 64, unit_at(f, 0, SLOT_UNITS), 300 - 64);
    assert_memory_equal(seen, text, 300);
    ck_ring_writer_fini(&writer, &ring);
}

static void a_signal_inside_a_recording_is_counted(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    struct ck_ring_writer writer = {0};

    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&writer, &ring), 0);
    assert_non_null(ck_ring_begin(&writer, CK_CLOCK_RAW, 1));
    assert_int_equal(put_mark(&writer, 1), -1); /* as a handler would */
    ck_ring_commit(&writer, 1);
    assert_int_equal(atomic_load(&head_of(f, 0)->reentered), 1);
    assert_int_equal(put_mark(&writer, 2), 0);
    ck_ring_writer_fini(&writer, &ring);
}

static void an_open_call_is_visible_until_it_is_left(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    struct ck_ring_writer writer = {0};
    struct ck_ring_open call = {.start = 5, .site = 6, .name = 7};
    struct ck_ring_slot *slot = head_of(f, 0);

    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&writer, &ring), 0);
    for (uint32_t i = 1; i <= CK_RING_OPEN_MAX + 2; i++) {
        assert_int_equal(ck_ring_open(&writer, &call), i);
    }
    assert_int_equal(atomic_load(&slot->depth), CK_RING_OPEN_MAX + 2);
    assert_int_equal(atomic_load(&slot->open[15].call), 16);
    assert_int_equal(slot->open[15].site, 6);
    for (uint32_t i = 0; i < CK_RING_OPEN_MAX + 3; i++) {
        ck_ring_close(&writer);
    }
    assert_int_equal(atomic_load(&slot->depth), 0);
    ck_ring_writer_fini(&writer, &ring);
}

static void a_forked_child_gets_an_incarnation_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    struct ck_ring_writer writer = {0};
    int status;
    pid_t pid;

    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&writer, &ring), 0);
    pid = fork();
    if (pid == 0) {
        ck_ring_forget(&ring);
        writer.slot = NULL;
        _exit(ck_ring_attach(&ring, CK_LIBRARY_MPI) == 0 &&
                      ck_ring_writer_init(&writer, &ring) == 0 &&
                      put_mark(&writer, 77) == 0
                  ? (int)ring.incarnation
                  : 100);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 2);
    assert_int_equal(head_of(f, 1)->incarnation, 2);
    assert_int_equal(head_of(f, 1)->tid, pid);
    assert_int_equal(atomic_load(&head_of(f, 0)->head), 0);
    assert_int_equal(atomic_load(&head_of(f, 1)->head), 1);
    ck_ring_writer_fini(&writer, &ring);
}

/* The image that exec replaced cannot end its slot; its successor does. */
static void an_entry_that_was_given_back_is_taken_again(void **state)
{
    struct fixture *f = *state;
    struct ck_ring_process *table = ck_ring_processes(f->header);
    struct ck_ring ring = {0};
    struct ck_ring_process *entry;

    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        atomic_store(&table[i].key, UINT64_MAX - i);
    }
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(atomic_load(&f->header->noprocess), 1);
    atomic_store(&table[7].key, CK_RING_KEY_BACK);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    entry = atomic_load(&ring.process);
    assert_int_equal(entry - ck_ring_processes(ring.header), 7);
    /* And another library of the image finds it, whatever is open before. */
    for (unsigned i = 8; i < CK_RING_PROCESSES; i++) {
        atomic_store(&table[i].key, CK_RING_KEY_BACK);
    }
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_OPENCL), 0);
    entry = atomic_load(&ring.process);
    assert_int_equal(entry - ck_ring_processes(ring.header), 7);
    assert_int_equal(ring.incarnation, 1);
}

static void an_exec_ends_the_slot_of_the_image_before(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    struct ck_ring_writer writer = {0};
    struct ck_ring_slot *old = head_of(f, 0);

    atomic_store(&f->header->incarnations, 1);
    atomic_store(&old->state, CK_SLOT_LIVE);
    old->incarnation = 1;
    old->tid = (uint32_t)syscall(SYS_gettid);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ring.incarnation, 2);
    assert_int_equal(ck_ring_writer_init(&writer, &ring), 0);
    assert_int_equal(atomic_load(&old->state), CK_SLOT_ENDED);
    assert_int_equal(writer.slot - ck_ring_heads(ring.header), 1);
    ck_ring_writer_fini(&writer, &ring);
}

struct worker {
    struct ck_ring *ring;
    int rc;
    int marks;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct ck_ring_writer writer = {0};

    worker->rc = ck_ring_writer_init(&writer, worker->ring);
    for (int i = 0; worker->rc == 0 && i < worker->marks; i++) {
        worker->rc = put_mark(&writer, i);
    }
    ck_ring_writer_fini(&writer, worker->ring);
    return NULL;
}

static void threads_have_slots_of_their_own_and_end_them(void **state)
{
    struct fixture *f = *state;
    struct worker workers[SLOTS];
    pthread_t threads[SLOTS];
    struct ck_ring ring = {0};

    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    for (int i = 0; i < SLOTS; i++) {
        workers[i] = (struct worker){&ring, -1, 400};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]),
                         0);
    }
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].rc, 0);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        assert_int_equal(atomic_load(&head_of(f, i)->state), CK_SLOT_ENDED);
        assert_int_equal(atomic_load(&head_of(f, i)->head), 400);
    }
}

/* One after the other, in threads that end: 10 marks each. */
static void threads_in_turn(struct ck_ring *ring, int count)
{
    for (int i = 0; i < count; i++) {
        struct worker worker = {ring, -1, 10};
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, work, &worker), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(worker.rc, 0);
    }
}

static void a_slot_that_ended_is_taken_by_the_next_thread(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    const struct ck_text *text = unit_at(f, 0, 10);
    uint32_t offers;

    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    offers = atomic_load(&f->header->offers);
    threads_in_turn(&ring, 3);
    assert_int_equal(atomic_load(&f->header->offers), offers + 3);
    assert_int_equal(atomic_load(&head_of(f, 1)->head), 0);
    /* What is not the first thread's begins with its name. */
    assert_int_equal(text->e.kind, CK_KIND_THREAD);
    assert_int_equal(((const struct ck_mark *)unit_at(f, 0, 10))->e.units, 2);
    assert_int_equal(((const struct ck_mark *)unit_at(f, 0, 12))->value, 0);
    text = unit_at(f, 0, 22);
    assert_int_equal(text->e.kind, CK_KIND_THREAD);
    assert_int_equal(text->object, atomic_load(&head_of(f, 0)->tid));
    assert_int_equal(atomic_load(&head_of(f, 0)->head), 34);
}

/* Does a thread of image 1 get slot 0, where all others are not to be had? */
static void slot_is_taken(struct fixture *f, bool is_taken)
{
    struct ck_ring ring = {0};
    struct ck_ring_writer writer = {0};
    int rc;

    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ring.incarnation, 1);
    rc = ck_ring_writer_init(&writer, &ring);
    assert_int_equal(rc, is_taken ? 0 : -1);
    if (is_taken) {
        assert_int_equal(writer.slot - ck_ring_heads(ring.header), 0);
    }
    assert_int_equal(f->header->slots, SLOTS);
    ck_ring_writer_fini(&writer, &ring);
    assert_int_equal(atomic_load(&head_of(f, 0)->state), CK_SLOT_ENDED);
}

static void a_slot_that_ended_is_not_taken_in_some_cases(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 0; i < SLOTS; i++) {
        head_of(f, i)->incarnation = i == 0 ? 1 : 9;
        atomic_store(&head_of(f, i)->state, CK_SLOT_ENDED);
    }
    slot_is_taken(f, true);
    /* Another image's. */
    head_of(f, 0)->incarnation = 2;
    slot_is_taken(f, false);
    head_of(f, 0)->incarnation = 1;
    /* It ended inside a call, which the collector has to record. */
    atomic_store(&head_of(f, 0)->depth, 1);
    slot_is_taken(f, false);
    atomic_store(&head_of(f, 0)->depth, 0);
    /* Half of it is full. */
    atomic_store(&head_of(f, 0)->head, SLOT_UNITS / 2 + 10);
    slot_is_taken(f, false);
    /* As it can be. */
    atomic_store(&head_of(f, 0)->tail, 300);
    slot_is_taken(f, true);
}

static void a_slot_is_written_as_far_as_its_memory_goes(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    struct ck_ring_writer writer = {0};
    struct ck_ring_slot *slot = head_of(f, 0);

    for (unsigned i = 0; i < SLOTS; i++) {
        atomic_store(&head_of(f, i)->backed, 128);
    }
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&writer, &ring), 0);
    for (int i = 0; i < 128; i++) {
        assert_int_equal(put_mark(&writer, i), 0);
    }
    assert_int_equal(put_mark(&writer, 128), -1);
    atomic_store(&slot->tail, 100);
    assert_int_equal(put_mark(&writer, 128), -1);
    atomic_store(&slot->backed, 256);
    for (int i = 128; i < 256; i++) {
        assert_int_equal(put_mark(&writer, i), 0);
    }
    assert_int_equal(put_mark(&writer, 256), -1);
    atomic_store(&slot->backed, CK_RING_BACKED_ALL);
    for (uint64_t i = 256; i < SLOT_UNITS + 100; i++) {
        assert_int_equal(put_mark(&writer, (int64_t)i), 0);
    }
    assert_int_equal(put_mark(&writer, 0), -1);
    assert_int_equal(atomic_load(&slot->dropped), 4);
    ck_ring_writer_fini(&writer, &ring);
}

static void whole_slots_are_taken_first(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    struct ck_ring_writer writer = {0};

    for (unsigned i = 0; i < SLOTS - 1; i++) {
        atomic_store(&head_of(f, i)->backed, 128);
    }
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&writer, &ring), 0);
    assert_int_equal(writer.slot - ck_ring_heads(ring.header), SLOTS - 1);
    ck_ring_writer_fini(&writer, &ring);
}

/* One thread writes while another reads: under TSan this shows that head and
 * tail alone order the bytes. */
static void a_reader_sees_whole_records_in_order(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    struct worker worker = {&ring, -1, 400};
    struct ck_ring_slot *slot = head_of(f, 0);
    uint64_t tail = 0;
    pthread_t thread;

    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(pthread_create(&thread, NULL, work, &worker), 0);
    while (tail < 400) {
        uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire);

        for (; tail < head; tail++) {
            const struct ck_mark *mark = unit_at(f, 0, tail);

            assert_int_equal(mark->value, tail);
        }
        atomic_store_explicit(&slot->tail, tail, memory_order_release);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(worker.rc, 0);
}

static void without_a_free_slot_a_thread_is_refused(void **state)
{
    struct fixture *f = *state;
    struct ck_ring ring = {0};
    struct ck_ring_writer writer = {0};

    for (unsigned i = 0; i < SLOTS; i++) {
        atomic_store(&head_of(f, i)->state,
                     i == 0 ? CK_SLOT_UNBACKED : CK_SLOT_ENDED);
    }
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&writer, &ring), -1);
    assert_int_equal(errno, EAGAIN);
    assert_null(writer.slot);
}

/* What the program writes there by mistake. */
static void an_overwritten_ring_does_not_move_the_recording(void **state)
{
    struct fixture *f = *state;
    struct ck_ring mpi = {0}, cl = {0}, late = {0};
    struct ck_ring_writer a = {0}, b = {0};
    struct ck_ring_slot *slot = head_of(f, 0);
    uint8_t elsewhere[64];

    memset(elsewhere, 0x55, sizeof(elsewhere));
    assert_int_equal(ck_ring_attach(&mpi, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_attach(&cl, CK_LIBRARY_OPENCL), 0);
    assert_int_equal(ck_ring_writer_init(&a, &mpi), 0);
    f->header->slots = f->header->large = UINT32_MAX;
    f->header->slot_bytes = f->header->slot_offset = (uint64_t)1 << 40;
    slot->body = (uintptr_t)elsewhere;
    atomic_store(&slot->backed, (uint64_t)1 << 40);
    slot->tail_seen = 0 - SLOT_UNITS;
    assert_int_equal(ck_ring_writer_init(&b, &cl), 0);
    assert_ptr_not_equal(b.body, elsewhere);
    assert_int_equal(b.mask, SLOT_UNITS - 1);
    for (uint64_t i = 0; i < 2 * SLOT_UNITS; i++) {
        (void)put_mark(&a, 10);
        (void)put_mark(&b, 20);
    }
    for (size_t i = 0; i < sizeof(elsewhere); i++) {
        assert_int_equal(elsewhere[i], 0x55);
    }
    assert_int_equal(ck_ring_attach(&late, CK_LIBRARY_ANNOTATE), -1);
    assert_int_equal(errno, EPROTO);
    ck_ring_writer_fini(&b, &cl);
    ck_ring_writer_fini(&a, &mpi);
}

static void a_foreign_or_hostile_ring_is_refused(void **state)
{
    struct fixture *f = *state;
    struct ck_ring_header good = *f->header;
    struct ck_ring ring = {0};

    assert_int_equal(unsetenv(CK_RING_ENV), 0);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(setenv(CK_RING_ENV, f->path, 1), 0);
    f->header->magic++;
    f->header->layout_sum = ck_ring_layout_sum(f->header);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), -1);
    assert_int_equal(errno, EPROTO);
    *f->header = good;
    f->header->version++;
    f->header->layout_sum = ck_ring_layout_sum(f->header);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), -1);
    *f->header = good;
    f->header->slots = CK_RING_SLOTS_MAX + 1;
    f->header->layout_sum = ck_ring_layout_sum(f->header);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), -1);
    *f->header = good;
    f->header->slot_offset = UINT64_MAX - 4096;
    f->header->layout_sum = ck_ring_layout_sum(f->header);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), -1);
    *f->header = good;
    f->header->slot_bytes = SLOT_BYTES * 2;
    f->header->layout_sum = ck_ring_layout_sum(f->header);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), -1);
    *f->header = good;
    f->header->created++;
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), -1);
    *f->header = good;
    assert_int_equal(truncate(f->path, 100), 0);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), -1);
    assert_int_equal(errno, EPROTO);
    assert_null(ring.header);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(two_libraries_share_the_slot_of_a_thread),
        CASE(a_full_slot_drops_and_counts),
        CASE(a_record_does_not_wrap),
        CASE(a_signal_inside_a_recording_is_counted),
        CASE(an_open_call_is_visible_until_it_is_left),
        CASE(a_forked_child_gets_an_incarnation_of_its_own),
        CASE(an_entry_that_was_given_back_is_taken_again),
        CASE(an_exec_ends_the_slot_of_the_image_before),
        CASE(threads_have_slots_of_their_own_and_end_them),
        CASE(a_slot_that_ended_is_taken_by_the_next_thread),
        CASE(a_slot_that_ended_is_not_taken_in_some_cases),
        CASE(a_slot_is_written_as_far_as_its_memory_goes),
        CASE(whole_slots_are_taken_first),
        CASE(a_reader_sees_whole_records_in_order),
        CASE(without_a_free_slot_a_thread_is_refused),
        CASE(an_overwritten_ring_does_not_move_the_recording),
        CASE(a_foreign_or_hostile_ring_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

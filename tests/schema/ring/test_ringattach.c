/* test_ringattach.c - what a program and its forked child map of a ring
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/ring/ring.h"

#define SLOTS 4
#define SLOT_BYTES ((uint64_t)1 << 20)
#define PAGES_OF_SLOT (SLOT_BYTES / 4096)

struct fixture {
    char path[64];
    struct ck_ring_header *header;
    size_t head;
};

/* A ring by ring.h; all slots have all their memory. */
static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int fd;

    strcpy(f->path, "/tmp/ck-ring-XXXXXX");
    fd = mkstemp(f->path);
    f->head = CK_RING_HEADS_OFFSET + SLOTS * sizeof(struct ck_ring_slot);
    if (fd < 0 || ftruncate(fd, (off_t)(f->head + SLOTS * SLOT_BYTES)) != 0) {
        return -1;
    }
    f->header = mmap(NULL, f->head, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    f->header->magic = CK_RING_MAGIC;
    f->header->version = CK_RING_VERSION;
    f->header->header_bytes = (uint32_t)f->head;
    f->header->clock = CK_CLOCK_RAW;
    f->header->slots = SLOTS;
    f->header->slot_bytes = SLOT_BYTES;
    f->header->large = SLOTS;
    f->header->small_bytes = SLOT_BYTES;
    f->header->slot_offset = f->head;
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
    (void)munmap(f->header, f->head);
    free(f);
    return unsetenv(CK_RING_ENV);
}

/* Page faults that a claim makes, or spares the recordings behind it. */
static long faults_of_claim(struct ck_ring *ring)
{
    struct ck_ring_writer writer = {0};
    struct rusage before;
    struct rusage after;

    (void)getrusage(RUSAGE_SELF, &before);
    if (ck_ring_writer_init(&writer, ring) != 0) {
        return -1;
    }
    (void)getrusage(RUSAGE_SELF, &after);
    ck_ring_writer_fini(&writer, ring);
    return after.ru_minflt - before.ru_minflt;
}

static void a_forked_child_maps_no_more_than_it_may_need(void **state)
{
    struct ck_ring ring = {0};
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_MPI), 0);
    if (faults_of_claim(&ring) < (long)PAGES_OF_SLOT) {
        print_message("SKIPPED: this kernel does not fill page tables\n");
        skip();
    }
    pid = fork();
    if (pid == 0) {
        long faults = -1;

        ck_ring_forget(&ring);
        if (ck_ring_enter(&ring, CK_LIBRARY_MPI) == 0) {
            faults = faults_of_claim(&ring);
        }
        _exit(faults >= 0 && faults < (long)PAGES_OF_SLOT / 2 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* CKAGENT_RING may name anything. */
static void a_file_that_others_may_use_is_not_mapped(void **state)
{
    const struct fixture *f = *state;
    struct ck_ring ring = {0};

    assert_int_equal(chmod(f->path, 0620), 0);
    assert_int_equal(ck_ring_map(&ring), -1);
    assert_int_equal(errno, EPERM);
    assert_null(ring.header);
    if (geteuid() == 0) {
        assert_int_equal(chmod(f->path, 0600), 0);
        assert_int_equal(chown(f->path, 64321, 64321), 0);
        assert_int_equal(ck_ring_map(&ring), -1);
        assert_int_equal(errno, EPERM);
        assert_int_equal(chown(f->path, 0, 0), 0);
    }
    assert_int_equal(chmod(f->path, 0600), 0);
    assert_int_equal(ck_ring_map(&ring), 0);
    (void)munmap(ring.header, ring.layout.header_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_forked_child_maps_no_more_than_it_may_need, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_file_that_others_may_use_is_not_mapped, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_ringfile.c - the ring's file: sizes, backing, leftovers
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/ring/ringfile.h"
#include "tests/workdir.h"

#define MIB ((uint64_t)1 << 20)

static struct ringfile_wish wish_in(const char *dir, unsigned sharers)
{
    static uint8_t number;
    struct ringfile_wish wish = {
        .dir = dir, .sharers = sharers, .clock = CK_CLOCK_RAW, .rank = ~0u};

    wish.agent[0] = ++number;
    return wish;
}

static void a_new_file_is_private_backed_and_attachable(void **state)
{
    struct ringfile_wish wish = wish_in(work, 4);
    struct ringfile file;
    struct ck_ring ring;
    struct ck_ring_writer writer;
    struct ck_err err;
    struct stat st;

    (void)state;
    assert_int_equal(ringfile_create(&file, &wish, &err), 0);
    assert_int_equal(stat(file.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(file.backed >= 1);
    assert_int_equal(setenv("CKAGENT_RING", file.path, 1), 0);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_ANNOTATE), 0);
    assert_int_equal(ck_ring_writer_init(&writer, &ring), 0);
    memset(writer.body, 0x5a, (size_t)(writer.mask + 1) * CK_UNIT_BYTES);
    /* Mapped twice in a row for the reader as well. */
    assert_int_equal(ringfile_body(&file, 0)[file.header->slot_bytes + 17],
                     0x5a);
    ck_ring_writer_fini(&writer, &ring);
    ringfile_unlink(&file);
    ringfile_fini(&file);
}

static void slots_are_backed_ahead_of_need_and_bounded(void **state)
{
    struct ringfile_wish wish = wish_in(work, 1);
    struct ringfile file;
    struct ck_err err;
    uint32_t before;

    (void)state;
    wish.plan.slot_bytes = 64 << 10;
    wish.plan.slots = 80;
    assert_int_equal(ringfile_create(&file, &wish, &err), 0);
    before = file.backed;
    assert_true(before >= 64);
    assert_int_equal(ringfile_back(&file, before + 3, 2), 2);
    assert_int_equal(ringfile_back(&file, before + 3, 2), 1);
    assert_int_equal(ringfile_back(&file, before + 3, 2), 0);
    (void)ringfile_back(&file, 1000, 1000);
    assert_int_equal(file.backed, 80);
    assert_int_equal(ringfile_free(&file), 80);
    ringfile_unlink(&file);
    ringfile_fini(&file);
}

static uint64_t backed_of(const struct ringfile *file, uint32_t slot)
{
    return atomic_load(&ck_ring_heads(file->header)[slot].backed);
}

static void a_slot_gets_all_its_memory_once_it_is_used(void **state)
{
    struct ringfile_wish wish = wish_in(work, 1);
    struct ck_ring_slot *slot;
    struct ringfile file;
    struct ringfile again;
    struct ck_err err;
    struct stat before;
    struct stat after;

    (void)state;
    wish.plan.slots = 16;
    assert_int_equal(ringfile_create(&file, &wish, &err), 0);
    assert_int_equal(file.backed, 16);
    assert_int_equal(backed_of(&file, 3), CK_RING_BACKED_ALL);
    assert_true(backed_of(&file, 4) < CK_RING_SLOT_BYTES / CK_UNIT_BYTES);
    assert_int_equal(ringfile_widen(&file, 4, 99), 0);
    slot = &ck_ring_heads(file.header)[9];
    atomic_store(&slot->state, CK_SLOT_LIVE);
    assert_int_equal(ringfile_widen(&file, 4, 99), 0);
    assert_int_equal(fstat(file.fd, &before), 0);
    atomic_store(&slot->head, backed_of(&file, 9) / 8 + 1);
    assert_int_equal(ringfile_widen(&file, 4, 99), 1);
    assert_int_equal(backed_of(&file, 9), CK_RING_BACKED_ALL);
    assert_int_equal(fstat(file.fd, &after), 0);
    assert_int_equal((uint64_t)(after.st_blocks - before.st_blocks) * 512,
                     CK_RING_SLOT_BYTES - backed_of(&file, 10) * CK_UNIT_BYTES);
    /* Another process finds the same. */
    again = file;
    again.backed = 1;
    ringfile_look(&again);
    assert_int_equal(again.backed, 16);
    /* And free ones ahead of need. */
    assert_int_equal(ringfile_widen(&file, 7, 2), 2);
    assert_int_equal(ringfile_widen(&file, 7, 99), 1);
    ringfile_unlink(&file);
    ringfile_fini(&file);
}

static void a_ring_takes_its_share_of_the_memory_allowed(void **state)
{
    struct ringfile_wish wish = wish_in(work, 2);
    struct ringfile file;
    struct ck_err err;
    struct stat st;

    (void)state;
    wish.memory = 6 << 20; /* for two */
    assert_int_equal(ringfile_create(&file, &wish, &err), 0);
    assert_true(ringplan_head(file.plan.slots) + file.plan.outbox_bytes +
                    ringplan_bodies(&file.plan) <=
                3 << 20);
    assert_int_equal(stat(file.path, &st), 0);
    assert_true((uint64_t)st.st_blocks * 512 <= 3 << 20);
    assert_true(file.is_tight);
    ringfile_unlink(&file);
    ringfile_fini(&file);
    wish = wish_in(work, 1);
    wish.memory = (uint64_t)1 << 40;
    assert_int_equal(ringfile_create(&file, &wish, &err), 0);
    assert_false(file.is_tight);
    ringfile_unlink(&file);
    ringfile_fini(&file);
}

static void only_a_file_that_is_not_held_is_adopted(void **state)
{
    struct ringfile_wish wish = wish_in(work, 1);
    struct ringfile file;
    struct ringfile adopted;
    struct ck_err err;

    (void)state;
    assert_int_equal(ringfile_create(&file, &wish, &err), 0);
    assert_int_equal(ringfile_adopt(&adopted, file.path), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    (void)ringfile_back(&file, 6, 6);
    ringfile_fini(&file);
    assert_int_equal(ringfile_adopt(&adopted, file.path), 0);
    assert_true(adopted.backed >= 6);
    assert_memory_equal(adopted.header->agent, wish.agent, sizeof(wish.agent));
    ringfile_unlink(&adopted);
    ringfile_fini(&adopted);
}

static void a_file_that_is_no_ring_is_refused(void **state)
{
    static const struct {
        long at;
        uint8_t byte;
    } wrong[] = {
        {offsetof(struct ck_ring_header, magic), 'X'},
        {offsetof(struct ck_ring_header, version), 99},
        {offsetof(struct ck_ring_header, slots) + 2, 1},
        {offsetof(struct ck_ring_header, slot_bytes), 1},
        {offsetof(struct ck_ring_header, slot_bytes) + 7, 0x80},
        {offsetof(struct ck_ring_header, small_bytes), 1},
        {offsetof(struct ck_ring_header, small_bytes) + 7, 0x80},
        {offsetof(struct ck_ring_header, outbox_bytes) + 7, 0x80},
        {offsetof(struct ck_ring_header, slot_offset), 8},
        {offsetof(struct ck_ring_header, clock), 9},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct ringfile_wish wish = wish_in(work, 1);
        struct ringfile file;
        struct ck_err err;
        int fd;

        assert_int_equal(ringfile_create(&file, &wish, &err), 0);
        ringfile_fini(&file);
        fd = open(file.path, O_WRONLY | O_CLOEXEC);
        assert_int_equal(pwrite(fd, &wrong[i].byte, 1, wrong[i].at), 1);
        assert_int_equal(close(fd), 0);
        assert_int_equal(ringfile_adopt(&file, file.path), -1);
        assert_int_equal(errno, EPROTO);
        ringfile_unlink(&file);
    }
}

static void a_directory_that_others_can_enter_is_refused(void **state)
{
    struct ringfile_wish wish = wish_in(work, 1);
    struct ringfile file;
    struct ck_err err;

    (void)state;
    assert_int_equal(chmod(work, 0755), 0);
    assert_int_equal(ringfile_create(&file, &wish, &err), -1);
    assert_non_null(strstr(err.text, work));
    assert_int_equal(chmod(work, 0700), 0);
}

/* In a process of its own: a tmpfs of 64 MB, four rings, every page of every
 * backed slot written. A page without memory behind it is a SIGBUS. */
static int small_shm_child(void)
{
    struct ringfile files[4];
    struct ck_err err;

    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", work, "tmpfs", 0, "size=64m,mode=0700") != 0) {
        return 77;
    }
    for (int i = 0; i < 4; i++) {
        struct ringfile_wish wish = wish_in(work, 4);

        if (ringfile_create(&files[i], &wish, &err) != 0) {
            return 1;
        }
        while (ringfile_back(&files[i], 1000, 1000) > 0 ||
               ringfile_widen(&files[i], 1000, 1000) > 0) {
        }
    }
    for (int i = 0; i < 4; i++) {
        if (files[i].is_full || files[i].backed < 68) {
            return 2;
        }
        if (setenv("CKAGENT_RING", files[i].path, 1) != 0) {
            return 3;
        }
        for (uint32_t slot = 0; slot < files[i].backed; slot++) {
            char zeros[4096] = {1};
            uint64_t backed = backed_of(&files[i], slot);
            uint64_t end = backed == CK_RING_BACKED_ALL
                               ? ringfile_body_bytes(&files[i], slot)
                               : backed * CK_UNIT_BYTES;
            uint64_t from = files[i].header->slot_offset +
                            slot * files[i].header->slot_bytes;

            for (uint64_t at = 0; at < end; at += sizeof(zeros)) {
                if (pwrite(files[i].fd, zeros, sizeof(zeros),
                           (off_t)(from + at)) != (ssize_t)sizeof(zeros)) {
                    return 4;
                }
            }
        }
    }
    return 0;
}

static void four_rings_live_in_64_mb_of_shm(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        _exit(small_shm_child());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("SKIPPED: mounting a tmpfs is not permitted here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORKDIR_CASE(a_new_file_is_private_backed_and_attachable,
                     workdir_setup),
        WORKDIR_CASE(slots_are_backed_ahead_of_need_and_bounded, workdir_setup),
        WORKDIR_CASE(a_slot_gets_all_its_memory_once_it_is_used, workdir_setup),
        WORKDIR_CASE(a_ring_takes_its_share_of_the_memory_allowed,
                     workdir_setup),
        WORKDIR_CASE(only_a_file_that_is_not_held_is_adopted, workdir_setup),
        WORKDIR_CASE(a_file_that_is_no_ring_is_refused, workdir_setup),
        WORKDIR_CASE(a_directory_that_others_can_enter_is_refused,
                     workdir_setup),
        WORKDIR_CASE(four_rings_live_in_64_mb_of_shm, workdir_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

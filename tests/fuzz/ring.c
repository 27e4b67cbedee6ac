/* ring.c - a ring file that was left behind, with any bytes of it changed
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is a list of changes: where (3 bytes, modulo the file's size), how
 * many bytes (1, modulo 16), and these. The paths in the file stay: they are
 * set by its owner, and are where a spool is to be.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/collector/salvage.h"
#include "agent/ring/outbox.h"
#include "agent/ring/ringfile.h"
#include "tests/fuzz/target.h"

#define MARKS 300

static char dir[] = "/tmp/ck-fuzz-XXXXXX";
static uint8_t *whole;
static size_t whole_bytes;
static size_t paths_at; /* of outbox_head's */

static void must(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

static void dir_empty(void)
{
    DIR *stream = opendir(dir);
    struct dirent *entry;

    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        (void)unlinkat(dirfd(stream), entry->d_name, 0);
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
}

static void dir_remove(void)
{
    dir_empty();
    (void)rmdir(dir);
    free(whole);
}

/* A process that is gone when it comes back. */
static void marks_write(const char *path)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct ck_ring ring;
        struct ck_ring_writer writer;

        (void)setenv("CKAGENT_RING", path, 1);
        must(ck_ring_attach(&ring, CK_LIBRARY_ANNOTATE) == 0 &&
             ck_ring_writer_init(&writer, &ring) == 0);
        for (int i = 0; i < MARKS; i++) {
            struct ck_mark *mark = ck_ring_begin(&writer, CK_CLOCK_RAW, 1);

            must(mark != NULL);
            *mark = (struct ck_mark){
                .e = {.kind = CK_KIND_MARK, .units = 1, .start = 1000 + i},
                .value = i};
            ck_ring_commit(&writer, 1);
        }
        _exit(0);
    }
    must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void template_make(void)
{
    struct ringfile_wish wish = {
        .dir = dir,
        .plan = {.slots = 4, .slot_bytes = 16 << 10, .outbox_bytes = 64 << 10},
        .sharers = 1,
        .clock = CK_CLOCK_RAW,
        .rank = 3};
    struct ringfile ring;
    struct outbox outbox;
    struct ck_err err;
    struct stat st;
    int fd;

    must(mkdtemp(dir) != NULL && atexit(dir_remove) == 0 &&
         setenv("TMPDIR", dir, 1) == 0);
    must(ringfile_create(&ring, &wish, &err) == 0 &&
         outbox_init(&outbox, ring.outbox, ring.header->outbox_bytes) == 0);
    outbox_keep_dir(&outbox, dir);
    marks_write(ring.path);
    paths_at = ring.header->outbox_offset + offsetof(struct outbox_head, spool);
    fd = open(ring.path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0 && fstat(fd, &st) == 0);
    whole_bytes = (size_t)st.st_size;
    whole = malloc(whole_bytes);
    must(whole != NULL && read(fd, whole, whole_bytes) == (ssize_t)whole_bytes);
    (void)close(fd);
    ringfile_unlink(&ring);
    ringfile_fini(&ring);
}

static void change(uint8_t *bytes, const uint8_t *data, size_t size)
{
    const size_t paths = sizeof(((struct outbox_head *)NULL)->spool) +
                         sizeof(((struct outbox_head *)NULL)->dir);

    while (size > 4) {
        size_t at = ((size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2]) %
                    whole_bytes;
        size_t count = 1 + data[3] % 16;

        count = count < size - 4 ? count : size - 4;
        count = count < whole_bytes - at ? count : whole_bytes - at;
        memcpy(bytes + at, data + 4, count);
        data += 4 + count;
        size -= 4 + count;
    }
    memcpy(bytes + paths_at, whole + paths_at, paths);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct salvage found;
    uint8_t *bytes;
    char path[128];
    int fd;

    if (whole == NULL) {
        template_make();
    }
    bytes = malloc(whole_bytes);
    must(bytes != NULL);
    memcpy(bytes, whole, whole_bytes);
    change(bytes, data, size);
    (void)snprintf(path, sizeof(path), "%s/left.ring", dir);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, bytes, whole_bytes) == (ssize_t)whole_bytes);
    (void)close(fd);
    free(bytes);
    if (salvage_ring(path, NULL, &found) == SALVAGE_DONE) {
        must(access(path, F_OK) != 0);
        must(size > 4 || found.records >= MARKS);
    }
    dir_empty();
    return 0;
}

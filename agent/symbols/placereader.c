/* placereader.c - a process that reads the program's files for places
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/symbols/placereader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/process/procfile.h"

/* An answer as it is sent; the three texts follow. */
struct head {
    uint32_t site;
    uint32_t line;
    uint32_t function_length;
    uint32_t file_length;
    uint32_t inlined_length;
};

/* Where memory runs out, it is the first to go, and not the program. */
static void mind_set(pid_t parent)
{
    static const struct rlimit none = {0, 0};
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &none);
    if (fd >= 0) {
        (void)!write(fd, "1000", 4);
        (void)close(fd);
    }
    if (getppid() != parent) {
        _exit(0); /* it ended before it could be bound to this */
    }
}

int placereader_start(struct placereader *reader,
                      placereader_f read,
                      void *context,
                      uint32_t first)
{
    pid_t parent = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    reader->used = reader->at = 0;
    reader->pid = fork();
    if (reader->pid == 0) {
        mind_set(parent);
        read(context, first, ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    if (reader->pid < 0) {
        reader->pid = 0;
        (void)close(ends[0]);
        return -1;
    }
    reader->in = ends[0];
    return 0;
}

ck_time_t placereader_kept_back(const struct placereader *reader)
{
    char task[16];

    if (reader->pid <= 0) {
        return reader->kept_back;
    }
    (void)snprintf(task, sizeof(task), "%d", (int)reader->pid);
    return reader->kept_back + procfile_kept_back(task);
}

void placereader_end(struct placereader *reader)
{
    int saved = errno;

    if (reader->pid > 0) {
        reader->kept_back = placereader_kept_back(reader);
        (void)close(reader->in);
        (void)kill(reader->pid, SIGKILL);
        while (waitpid(reader->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        reader->pid = 0;
    }
    errno = saved;
}

/* 1 = further bytes are there, 0 = the end, -1 = it is too late. */
static int more_read(struct placereader *reader, ck_time_t deadline)
{
    struct pollfd item = {.fd = reader->in, .events = POLLIN};
    ck_time_t left = deadline - ck_time_raw();
    int rc = poll(&item, 1, left <= 0 ? 0 : (int)(left / CK_TIME_MS) + 1);
    ssize_t got;

    if (rc <= 0) {
        return rc < 0 && errno == EINTR ? 1 : -1;
    }
    memmove(reader->bytes, reader->bytes + reader->at,
            reader->used - reader->at);
    reader->used -= reader->at;
    reader->at = 0;
    got = read(reader->in, reader->bytes + reader->used,
               sizeof(reader->bytes) - reader->used);
    if (got <= 0) {
        return got < 0 && errno == EINTR;
    }
    reader->used += (size_t)got;
    return 1;
}

/* Its memory was overwritten. */
static bool is_damaged(const struct head *head)
{
    return head->function_length >= PLACEREADER_TEXT ||
           head->file_length >= PLACEREADER_TEXT ||
           head->inlined_length >= PLACEREADER_TEXT;
}

static size_t texts_length(const struct head *head)
{
    return (size_t)head->function_length + head->file_length +
           head->inlined_length;
}

/* Is a whole answer there? */
static bool is_whole(const struct placereader *reader, struct head *head)
{
    size_t left = reader->used - reader->at;

    if (left < sizeof(*head)) {
        return false;
    }
    memcpy(head, reader->bytes + reader->at, sizeof(*head));
    return is_damaged(head) || left - sizeof(*head) >= texts_length(head);
}

enum placereader_next placereader_next(struct placereader *reader,
                                       ck_time_t deadline,
                                       struct placereader_place *place)
{
    struct head head;
    const char *text;

    while (!is_whole(reader, &head)) {
        int rc = more_read(reader, deadline);

        if (rc != 1) {
            return rc == 0 ? PLACEREADER_DIED : PLACEREADER_LATE;
        }
    }
    if (is_damaged(&head)) {
        return PLACEREADER_DIED;
    }
    text = reader->bytes + reader->at + sizeof(head);
    place->site = head.site;
    place->line = head.line;
    memcpy(place->function, text, head.function_length);
    place->function[head.function_length] = '\0';
    memcpy(place->file, text + head.function_length, head.file_length);
    place->file[head.file_length] = '\0';
    memcpy(place->inlined, text + head.function_length + head.file_length,
           head.inlined_length);
    place->inlined_length = head.inlined_length;
    reader->at += sizeof(head) + texts_length(&head);
    return PLACEREADER_PLACE;
}

static uint32_t length_of(const char *text)
{
    return text == NULL ? 0 : (uint32_t)strnlen(text, PLACEREADER_TEXT - 1);
}

/* What was inlined, as one text; functions that have no room are left out from
 * the outermost on. Its length. */
static uint32_t inlined_text(const struct symbol_place *place, char *text)
{
    int length = 0;

    for (size_t i = 0; i < place->inlined_count; i++) {
        const struct inlined *inlined = &place->inlined[i];
        const char *file = inlined->file == NULL ? "" : inlined->file;
        int left = PLACEREADER_TEXT - length;
        int more =
            snprintf(text + length, (size_t)left, "%c%s%c%s%c%" PRIu32, '\0',
                     inlined->function, '\0', file, '\0', inlined->line);

        if (more >= left) {
            break;
        }
        length += more;
    }
    return (uint32_t)length;
}

void placereader_put(int out, uint32_t site, const struct symbol_place *place)
{
    char inlined[PLACEREADER_TEXT];
    struct head head = {site, place->line, length_of(place->function),
                        length_of(place->file), inlined_text(place, inlined)};
    struct iovec parts[] = {
        {&head, sizeof(head)},
        {(char *)(uintptr_t)place->function, head.function_length},
        {(char *)(uintptr_t)place->file, head.file_length},
        {inlined, head.inlined_length},
    };
    ssize_t bytes = (ssize_t)(sizeof(head) + texts_length(&head));
    ssize_t sent = writev(out, parts, 4);

    /* A pipe takes 4 KiB at once, or what has room: the rest follows. */
    while (sent >= 0 && sent < bytes) {
        ssize_t more;
        size_t skip = (size_t)sent, part = 0;

        while (skip >= parts[part].iov_len) {
            skip -= parts[part++].iov_len;
        }
        more = write(out, (char *)parts[part].iov_base + skip,
                     parts[part].iov_len - skip);
        sent = more < 0 ? -1 : sent + more;
    }
    if (sent < 0) {
        _exit(1);
    }
}

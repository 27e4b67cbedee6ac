/* ckaggchild.c - a ckagg of our own, for a job on several hosts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/ckaggchild.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/child.h"

enum {
    READY_LIMIT_MS = 10000,
    READY_LINE_BYTES = 16384,
};

int ckaggchild_read_line(char *line, char **endpoint, char **dir)
{
    static const char head[] = "ckagg ready ";
    static const char run[] = " run=";
    char *at;

    if (strncmp(line, head, sizeof(head) - 1) != 0) {
        return -1;
    }
    at = strstr(line, run);
    if (at == NULL || at == line + sizeof(head) - 2) {
        return -1;
    }
    *at = '\0';
    *endpoint = line + sizeof(head) - 1;
    *dir = at + sizeof(run) - 1;
    return **endpoint != '\0' && **dir != '\0' ? 0 : -1;
}

/* Read one line without its newline. 0, or -1 with err. */
static int read_line(int fd, char *line, size_t room, struct ck_err *err)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    size_t length = 0;

    while (length < room - 1) {
        int ready = poll(&input, 1, READY_LIMIT_MS);
        ssize_t got;

        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready == 0) {
            return ck_err_set(err, "ckagg was not ready within %d s",
                              READY_LIMIT_MS / 1000);
        }
        got = read(fd, line + length, 1);
        if (got <= 0) {
            return ck_err_set(err, "ckagg ended before it was ready (its own "
                                   "message is above)");
        }
        if (line[length] == '\n') {
            line[length] = '\0';
            return 0;
        }
        length++;
    }
    return ck_err_set(err, "ckagg's ready line is longer than %zu bytes", room);
}

/* Is this the line of that beginning, and the first one? Its rest is kept. */
static bool pages_take(const char *line, const char *head, char **rest)
{
    size_t length = strlen(head);

    if (*rest != NULL || strncmp(line, head, length) != 0) {
        return false;
    }
    *rest = strdup(line + length);
    return *rest != NULL;
}

static int take_line(struct ckaggchild *service, struct ck_err *err)
{
    char line[READY_LINE_BYTES];
    char *endpoint;
    char *dir;

    do {
        if (read_line(service->fd, line, sizeof(line), err) != 0) {
            return -1;
        }
    } while (pages_take(line, "ckagg pages ", &service->pages) ||
             pages_take(line, "ckagg nopages ", &service->nopages));
    if (strncmp(line, "ckagg failed ", 13) == 0) {
        return ck_err_set(err, "ckagg could not start (its own message is "
                               "above)");
    }
    if (ckaggchild_read_line(line, &endpoint, &dir) != 0) {
        return ck_err_set(err, "not a ready line of ckagg: %.200s", line);
    }
    service->endpoint = strdup(endpoint);
    service->dir = strdup(dir);
    if (service->endpoint == NULL || service->dir == NULL) {
        return ck_err_set(err, "out of memory");
    }
    return 0;
}

int ckaggchild_start(struct ckaggchild *service,
                     char *const *argv,
                     struct ck_err *err)
{
    struct ck_child child = {
        .path = argv[0],
        .argv = argv,
        .fds = {-1, -1, -2},
        .is_detached = 1, /* a Ctrl-C ends the job first, then this */
    };
    int ends[2];
    int status;

    memset(service, 0, sizeof(*service));
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return ck_err_set(err, "cannot start ckagg: %s", strerror(errno));
    }
    child.fds[1] = ends[1];
    status = ck_child_start(&child, &service->pid, err);
    (void)close(ends[1]);
    service->fd = ends[0];
    if (status != 0) {
        (void)close(service->fd);
        return -1;
    }
    if (take_line(service, err) != 0) {
        (void)ckaggchild_stop(service, 0, 2000000000);
        return -1;
    }
    return 0;
}

int ckaggchild_stop(struct ckaggchild *service,
                    long long work_ns,
                    long long stop_ns)
{
    int status = -1;
    int ended = ck_child_wait(service->pid, work_ns, &status);

    if (ended == 0) {
        (void)kill(service->pid, SIGTERM);
        ended = ck_child_wait(service->pid, stop_ns, &status);
    }
    (void)close(service->fd);
    free(service->endpoint);
    free(service->dir);
    free(service->pages);
    free(service->nopages);
    service->endpoint = NULL;
    service->dir = NULL;
    service->pages = NULL;
    service->nopages = NULL;
    return ended == 1 ? status : -1;
}

/* service.c - a ckagg for a benchmark that plays many agents
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/bench/service.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/child.h"

static _Noreturn void service_failed(const char *what)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

pid_t ckaggchild_start(char *root,
                       const char *url,
                       struct ck_endpoint *endpoint)
{
    char program[PATH_MAX];
    char listen[192];
    char line[1024];
    char *argv[] = {program, "--listen",   listen, "--dir",
                    root,    "--no-merge", NULL,   NULL};
    int out[2];
    struct ck_child child = {.path = program, .argv = argv};
    struct ck_err err;
    ssize_t n;
    pid_t pid;

    (void)snprintf(listen, sizeof(listen), "ipc://%s/bench.sock", root);
    if (url != NULL) {
        (void)snprintf(listen, sizeof(listen), "%s", url);
    }
    if (ck_child_find("ckagg", program, &err) != 0 || pipe(out) != 0) {
        service_failed("ckagg");
    }
    child.fds[0] = -1;
    child.fds[1] = out[1];
    child.fds[2] = -2;
    if (ck_child_start(&child, &pid, &err) != 0) {
        service_failed(err.text);
    }
    (void)close(out[1]);
    n = read(out[0], line, sizeof(line) - 1);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (ck_endpoint_parse(line, endpoint, &err) != 0) {
        service_failed("ckagg is not ready");
    }
    return pid;
}

/* embedded.c - the ckagg that an agent starts for its job
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/link/embedded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/link/meetdir.h"
#include "launch/child.h"
#include "launch/parents.h"
#include "schema/fd.h"
#include "schema/owndir.h"
#include "schema/store/run.h"

#define BEGIN_BYTES 80
/* How long a meeting point without a ckagg is kept. */
#define OLD_SECONDS 600
/* Not TMPDIR: that may be another one for each rank. */
#define TMP "/tmp"

/* Meeting points of jobs that are long over: their lock is free. */
static void old_remove(const char *dir)
{
    time_t before = time(NULL) - OLD_SECONDS;
    DIR *stream = opendir(dir);
    struct dirent *entry;

    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        const char *kind = entry->d_name + 16;
        char other[64];
        struct stat st;
        int fd;

        if (strlen(entry->d_name) < 16 ||
            (strcmp(kind, ".lock") != 0 && strcmp(kind, ".clock") != 0 &&
             strcmp(kind, ".claim") != 0) ||
            fstatat(dirfd(stream), entry->d_name, &st, 0) != 0 ||
            st.st_mtime > before) {
            continue;
        }
        fd = openat(dirfd(stream), entry->d_name,
                    O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            (void)snprintf(other, sizeof(other), "%.16s.sock", entry->d_name);
            (void)unlinkat(dirfd(stream), other, 0);
            (void)unlinkat(dirfd(stream), entry->d_name, 0);
        }
        ck_fd_close(fd);
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
}

/* What an endpoint cannot have (ck_endpoint_check_url()). */
#define NOT_IN_ENDPOINT " \t\r\n,"

/* Where all agents look: $XDG_RUNTIME_DIR/ck, else /tmp/ck-UID. */
static void dir_known(char dir[EMBEDDED_DIR])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int n = -1;

    if (runtime != NULL && runtime[0] == '/' &&
        strpbrk(runtime, NOT_IN_ENDPOINT) == NULL &&
        access(runtime, W_OK) == 0) {
        n = snprintf(dir, EMBEDDED_DIR - 24, "%s/ck", runtime);
    }
    /* 16 hex digits and ".sock" must fit behind it as well. */
    if (n < 0 || (size_t)n >= EMBEDDED_DIR - 24) {
        (void)snprintf(dir, EMBEDDED_DIR, TMP "/ck-%u", (unsigned)geteuid());
    }
}

/* Ours alone, or not used: others could take the names first. Then a private
 * one, and *moved has the reason; else that is "". */
static int
dir_find(char dir[EMBEDDED_DIR], struct ck_err *moved, struct ck_err *err)
{
    struct ck_err why;
    int fd;

    dir_known(dir);
    fd = ck_owndir_make(dir, &why);
    moved->text[0] = '\0';
    if (fd >= 0) {
        return close(fd);
    }
    if (meetdir_find(TMP, dir, EMBEDDED_DIR - 24, err) != 0) {
        return -1;
    }
    (void)ck_err_set(moved, "%.300s: the agents of this user meet in %s",
                     why.text, dir);
    return 0;
}

int embedded_dir(char dir[EMBEDDED_DIR], struct ck_err *err)
{
    struct ck_err moved;

    return dir_find(dir, &moved, err);
}

int embedded_place_find(struct embedded_place *place,
                        const struct identity *identity,
                        struct ck_err *err)
{
    unsigned long long hash = identity_hash(identity);
    char dir[EMBEDDED_DIR];

    if (dir_find(dir, &place->moved, err) != 0) {
        return -1;
    }
    old_remove(dir);
    (void)snprintf(place->socket, sizeof(place->socket), "%.85s/%016llx.sock",
                   dir, hash);
    (void)snprintf(place->lock, sizeof(place->lock), "%.95s/%016llx.lock", dir,
                   hash);
    return 0;
}

/* Is this still the file of that name? A ckagg removes its lock at its end. */
static bool is_same(int fd, const char *path)
{
    struct stat ours;
    struct stat there;

    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* The lock's descriptor, inheritable; -1 with EWOULDBLOCK: it is held. */
static int lock_take(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        ck_fd_close(fd);
        return -1;
    }
    if (fd >= 0 && !is_same(fd, path)) {
        (void)close(fd);
        errno = EWOULDBLOCK; /* the next turn meets the new file */
        return -1;
    }
    return fd;
}

static int ckagg_run(struct embedded *embedded,
                     const struct agent_config *config,
                     const struct embedded_place *place,
                     const char *program,
                     struct ck_err *err)
{
    char listen[128];
    char size[16];
    char *argv[24];
    int argc = 0;
    int out[2];
    /* Slots fill up while we wait. */
    struct ck_child child = {
        .path = program, .argv = argv, .is_detached = 1, .is_unawaited = 1};
    int rc;

    (void)snprintf(listen, sizeof(listen), "ipc://%s", place->socket);
    (void)snprintf(size, sizeof(size), "%d", config->recorded);
    argv[argc++] = (char *)(uintptr_t) "ckagg";
    argv[argc++] = (char *)(uintptr_t) "--embedded";
    argv[argc++] = (char *)(uintptr_t) "--listen";
    argv[argc++] = listen;
    if (!identity_is_one_host(config->identity)) {
        argv[argc++] = (char *)(uintptr_t) "--listen";
        argv[argc++] = (char *)(uintptr_t) "tcp://*:0";
    }
    argv[argc++] = (char *)(uintptr_t) "--dir";
    argv[argc++] = (char *)(uintptr_t)config->dir;
    argv[argc++] = (char *)(uintptr_t) "--job";
    argv[argc++] = (char *)(uintptr_t)config->identity->job_key;
    argv[argc++] = (char *)(uintptr_t) "--size";
    argv[argc++] = size;
    if (config->is_insecure) {
        argv[argc++] = (char *)(uintptr_t) "--insecure";
    }
    if (config->keep != NULL) {
        argv[argc++] = (char *)(uintptr_t) "--keep";
        argv[argc++] = (char *)(uintptr_t)config->keep;
    }
    if (config->http != NULL) {
        argv[argc++] = (char *)(uintptr_t) "--http";
        argv[argc++] = (char *)(uintptr_t)config->http;
    }
    if (config->is_pageless) {
        argv[argc++] = (char *)(uintptr_t) "--no-page";
    }
    argv[argc] = NULL;
    if (pipe2(out, O_CLOEXEC) != 0) {
        return ck_err_set(err, "cannot make a pipe: %s", strerror(errno));
    }
    child.fds[0] = -1;
    child.fds[1] = out[1];
    child.fds[2] = config->is_verbose ? -2 : -1;
    rc = ck_child_start(&child, &embedded->pid, err);
    (void)close(out[1]);
    if (rc != 0) {
        (void)close(out[0]);
        return -1;
    }
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    embedded->ready = out[0];
    embedded->used = 0;
    return 0;
}

/* By a clock that no one can set, and the boot that it counts from. */
static void begin_write(int lock, const struct identity *identity)
{
    char line[BEGIN_BYTES];
    int n = snprintf(
        line, sizeof(line), "%lld %s\n",
        (long long)(ck_time_of(CLOCK_BOOTTIME) - ck_time_space("boottime")),
        identity->domain.boot_id);

    if (ftruncate(lock, 0) != 0 || pwrite(lock, line, (size_t)n, 0) != n) {
        (void)ftruncate(lock, 0); /* that is not known, then */
    }
}

bool embedded_begin(const struct embedded_place *place, struct ck_begin *begin)
{
    char line[BEGIN_BYTES] = "";
    long long boottime = 0;
    int fd = open(place->lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    *begin = (struct ck_begin){.boot_id = ""};
    if (fd >= 0) {
        (void)read(fd, line, sizeof(line) - 1);
        (void)close(fd);
    }
    if (sscanf(line, "%lld %39s", &boottime, begin->boot_id) != 2) {
        return false;
    }
    begin->boottime = boottime;
    return true;
}

int embedded_start(struct embedded *embedded,
                   const struct agent_config *config,
                   const struct embedded_place *place,
                   struct ck_err *err)
{
    char program[PATH_MAX];
    int lock;
    int rc;

    if (ck_child_find("ckagg", program, err) != 0) {
        return -1;
    }
    if (ck_run_create(config->dir, err) != 0 &&
        (!ck_parents_create(config->dir) ||
         ck_run_create(config->dir, err) != 0)) {
        return -1;
    }
    lock = lock_take(place->lock);
    if (lock < 0) {
        return errno == EWOULDBLOCK ? 0
                                    : ck_err_set(err, "cannot lock %s: %s",
                                                 place->lock, strerror(errno));
    }
    begin_write(lock, config->identity);
    rc = ckagg_run(embedded, config, place, program, err);
    (void)close(lock); /* the child's copy keeps it */
    return rc == 0 ? 1 : -1;
}

/* Is this a line of that beginning? Its rest is kept. */
static bool pages_take(const char *line, const char *head, char *rest)
{
    if (strncmp(line, head, strlen(head)) != 0) {
        return false;
    }
    (void)snprintf(rest, EMBEDDED_PAGES, "%.*s", EMBEDDED_PAGES - 1,
                   line + strlen(head));
    return true;
}

/* "ckagg ready ENDPOINT... run=DIR" -> endpoint and 1, "ckagg failed WHY" ->
 * err and -1; else 0: it is of the pages, or not for us. */
static int line_parse(struct embedded *embedded,
                      char *line,
                      char endpoint[CK_ENDPOINT_TEXT_BYTES],
                      struct ck_err *err)
{
    static const char ready[] = "ckagg ready ";
    static const char failed[] = "ckagg failed ";
    char *text = line + strlen(ready);
    char *run;

    if (pages_take(line, "ckagg pages ", embedded->pages) ||
        pages_take(line, "ckagg nopages ", embedded->nopages)) {
        return 0;
    }

    if (strncmp(line, failed, strlen(failed)) == 0) {
        return ck_err_set(err, "%s", line + strlen(failed));
    }
    if (strncmp(line, ready, strlen(ready)) != 0) {
        return 0;
    }
    run = strstr(text, " run=");
    if (run != NULL) {
        *run = '\0';
    }
    return snprintf(endpoint, CK_ENDPOINT_TEXT_BYTES, "%s", text) <
           CK_ENDPOINT_TEXT_BYTES;
}

/* Its stdout has ended. -1, with err where it never ran. */
static int ended_take(struct embedded *embedded, struct ck_err *err)
{
    int status = 0;

    (void)close(embedded->ready);
    embedded->ready = -1;
    if (waitpid(embedded->pid, &status, WNOHANG) != embedded->pid) {
        return -1;
    }
    embedded->pid = 0;
    return WIFEXITED(status) &&
                   (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)
               ? ck_err_set(err, "the program ckagg cannot be run")
               : -1;
}

/* Whole lines of its stdout so far, up to the one that ends the wait: 1, -1; 0:
 * there is none yet. */
static int lines_take(struct embedded *embedded,
                      char endpoint[CK_ENDPOINT_TEXT_BYTES],
                      struct ck_err *err)
{
    char *line = embedded->line;
    int rc = 0;

    line[embedded->used] = '\0';
    for (char *end; rc == 0 && (end = strchr(line, '\n')) != NULL;) {
        *end = '\0';
        rc = line_parse(embedded, line, endpoint, err);
        line = end + 1;
    }
    embedded->used = strlen(line);
    memmove(embedded->line, line, embedded->used);
    if (embedded->used == sizeof(embedded->line) - 1) {
        embedded->used = 0; /* that is not of ckagg */
    }
    return rc;
}

int embedded_ready(struct embedded *embedded,
                   char endpoint[CK_ENDPOINT_TEXT_BYTES],
                   struct ck_err *err)
{
    size_t room = sizeof(embedded->line) - 1 - embedded->used;
    ssize_t n;

    (void)ck_err_set(err, "%s", "");
    if (embedded->ready < 0) {
        return 0;
    }
    n = read(embedded->ready, embedded->line + embedded->used, room);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    }
    if (n == 0) {
        return ended_take(embedded, err);
    }
    embedded->used += (size_t)n;
    return lines_take(embedded, endpoint, err);
}

/* The process that listens on the job's socket, 0: none of ours. A ckagg
 * may have been started by a collector that was killed since, or by another
 * agent. A stopped one is found as well: the kernel answers. */
static pid_t listener_find(const struct embedded_place *place)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred who = {.pid = 0};
    socklen_t length = sizeof(who);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return 0;
    }
    memcpy(address.sun_path, place->socket, sizeof(address.sun_path));
    if (connect(fd, (const void *)&address, sizeof(address)) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0 ||
        who.uid != geteuid()) {
        who.pid = 0;
    }
    (void)close(fd);
    return who.pid;
}

void embedded_wake(const struct embedded *embedded,
                   const struct embedded_place *place)
{
    pid_t pid = listener_find(place);

    if (pid <= 0) {
        pid = embedded->pid;
    }
    if (pid > 0) {
        (void)kill(pid, SIGCONT);
    }
}

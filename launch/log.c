/* log.c - one line a message on stderr, repeats of one call site limited
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call site is its format text. Each may log LOG_BURST lines at once, then
 * one a second; the next line that passes, or the end of the process, has
 * the number of those left out. A line is one write(), so lines of several
 * processes do not mix; one that is too long for that goes on in the next line.
 */
#include "launch/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    LOG_SITES = 64, /* more share a place with others */
    LOG_BURST = 5,
    LOG_LINE_BYTES = 1024,
    LOG_PLAIN_BYTES = 8192, /* a path may be in it */
    LOG_LIKE_BYTES = 128,   /* of a line in place of those left out */
};

static const int64_t log_period_ns = 1000000000;

struct site {
    const char *format;
    int64_t next_ns; /* when one more line is earned */
    int said;        /* of the burst */
    unsigned left_out;
    char like[LOG_LIKE_BYTES]; /* the last line that passed */
};

static struct {
    pthread_mutex_t lock; /* of all below: the clock thread may log too */
    char program[32];
    int rank;
    enum ck_log_level level;
    int patience_ms; /* -1 = for ever */
    bool is_unread;
    unsigned dropped; /* lines that found no room */
    struct site sites[LOG_SITES];
} state = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .program = "ck",
    .rank = -1,
    .level = CK_LOG_INFO,
    .patience_ms = -1,
};

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char *level_text(enum ck_log_level level, bool has_colour)
{
    static const char *const plain[] = {"error: ", "warn: ", "", "debug: "};
    static const char *const coloured[] = {"\033[1;31merror:\033[0m ",
                                           "\033[1;33mwarn:\033[0m ", "",
                                           "\033[2mdebug:\033[0m "};

    return has_colour ? coloured[level] : plain[level];
}

/* "ckagent[3]: warn: ". Keeps errno, for %m. */
static size_t put_prefix(char *line, size_t room, enum ck_log_level level)
{
    int saved = errno;
    const char *text = level_text(level, ck_terminal_has_colour(STDERR_FILENO));
    int length;

    errno = saved;
    if (state.rank >= 0) {
        length =
            snprintf(line, room, "%s[%d]: %s", state.program, state.rank, text);
    } else {
        length = snprintf(line, room, "%s: %s", state.program, text);
    }
    return (size_t)length < room ? (size_t)length : room - 1;
}

void ck_terminal_tame(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)text[0];
        unsigned char next = (unsigned char)text[1];

        if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
            *text++ = '?';
            *text = '?';
        } else if ((c < 0x20 && c != '\n') || c == 0x7f) {
            *text = '?';
        }
    }
}

/* Text of other processes may be quoted in a line: it stays one line. */
static void tame(char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '\n' || *at == '\t') {
            *at = ' ';
        }
    }
    ck_terminal_tame(text);
}

/* Is there room in time? A pipe that has some takes PIPE_BUF bytes at once. */
static bool room_wait(void)
{
    struct pollfd item = {.fd = STDERR_FILENO, .events = POLLOUT};
    int ready;

    do {
        bool is_unread = state.is_unread && state.patience_ms >= 0;

        ready = poll(&item, 1, is_unread ? 0 : state.patience_ms);
    } while (ready < 0 && errno == EINTR);
    state.is_unread = ready == 0;
    return ready > 0;
}

/* Not more than PIPE_BUF bytes. False: they are not there, or not all. */
static bool put_bytes(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n;

        if (!room_wait()) {
            return false;
        }
        n = write(STDERR_FILENO, bytes, length);
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        bytes += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* As lines that a pipe takes as a whole: who else writes to it is not within
 * one. */
static bool put_pieces(const char *text, size_t length)
{
    char piece[PIPE_BUF];
    size_t used = 0;

    while (true) {
        size_t room = sizeof(piece) - 1 - used;
        size_t part = length < room ? length : room;

        memcpy(piece + used, text, part);
        piece[used + part] = '\n';
        if (!put_bytes(piece, used + part + 1)) {
            return false;
        }
        if (part == length) {
            return true;
        }
        text += part;
        length -= part;
        used = (size_t)snprintf(piece, sizeof(piece), "... ");
    }
}

/* Log how many lines are missing here. False: this is missing, too. */
static bool dropped_say(void)
{
    char line[LOG_LINE_BYTES];
    size_t prefix;

    if (state.dropped == 0) {
        return true;
    }
    prefix = put_prefix(line, sizeof(line), CK_LOG_WARN);
    (void)snprintf(line + prefix, sizeof(line) - prefix,
                   "%u %s dropped here: stderr was full", state.dropped,
                   state.dropped == 1 ? "line" : "lines");
    if (!put_pieces(line, strlen(line))) {
        return false;
    }
    state.dropped = 0;
    return true;
}

static void put_line(const char *line, size_t length)
{
    if (!dropped_say() || !put_pieces(line, length)) {
        state.dropped++;
    }
}

static struct site *site_of(const char *format)
{
    uintptr_t hash = (uintptr_t)format;
    struct site *site = &state.sites[(hash ^ hash >> 6) % LOG_SITES];

    if (site->format != format) {
        site->format = format;
        site->said = 0;
        site->left_out = 0;
    }
    return site;
}

/* May this site log now? Counts it when not. */
static bool site_may_speak(struct site *site)
{
    int64_t now = now_ns();

    if (site->said < LOG_BURST) {
        site->said++;
    } else if (now < site->next_ns) {
        site->left_out++;
        return false;
    }
    site->next_ns = now + log_period_ns;
    return true;
}

static void put_message(enum ck_log_level level,
                        struct site *site,
                        const char *format,
                        va_list arguments)
{
    char line[LOG_LINE_BYTES + 64];
    size_t prefix = put_prefix(line, LOG_LINE_BYTES, level);
    int length =
        vsnprintf(line + prefix, LOG_LINE_BYTES - prefix, format, arguments);
    size_t end;

    if (length < 0) {
        return;
    }
    tame(line + prefix);
    (void)snprintf(site->like, sizeof(site->like), "%.*s", LOG_LIKE_BYTES - 1,
                   line + prefix);
    end = prefix + strlen(line + prefix);
    if (site->left_out != 0) {
        end += (size_t)snprintf(line + end, sizeof(line) - end - 1,
                                " (%u more like it left out)", site->left_out);
    }
    put_line(line, end);
}

void ck_log(enum ck_log_level level, const char *format, ...)
{
    int saved = errno;
    va_list arguments;
    struct site *site;

    (void)pthread_mutex_lock(&state.lock);
    if (level <= state.level) {
        site = site_of(format);
        if (site_may_speak(site)) {
            va_start(arguments, format);
            errno = saved;
            put_message(level, site, format, arguments);
            va_end(arguments);
            site->left_out = 0;
        }
    }
    (void)pthread_mutex_unlock(&state.lock);
    errno = saved;
}

void ck_log_fact(const char *format, ...)
{
    int saved = errno;
    struct site site = {.format = format};
    va_list arguments;

    (void)pthread_mutex_lock(&state.lock);
    if (state.level >= CK_LOG_INFO) {
        va_start(arguments, format);
        errno = saved;
        put_message(CK_LOG_INFO, &site, format, arguments);
        va_end(arguments);
    }
    (void)pthread_mutex_unlock(&state.lock);
    errno = saved;
}

void ck_log_plain(const char *format, ...)
{
    char line[LOG_PLAIN_BYTES];
    int saved = errno;
    va_list arguments;

    (void)pthread_mutex_lock(&state.lock);
    va_start(arguments, format);
    if (vsnprintf(line, sizeof(line), format, arguments) > 0) {
        put_line(line, strlen(line));
    }
    va_end(arguments);
    (void)pthread_mutex_unlock(&state.lock);
    errno = saved;
}

void ck_log_patience(int limit_ms)
{
    (void)pthread_mutex_lock(&state.lock);
    state.patience_ms = limit_ms;
    (void)pthread_mutex_unlock(&state.lock);
}

/* At exit: log what was left out since the last count. */
static void say_left_out(void)
{
    (void)dropped_say();
    for (int i = 0; i < LOG_SITES; i++) {
        const struct site *site = &state.sites[i];
        char line[LOG_LINE_BYTES];
        size_t prefix;

        if (site->left_out == 0) {
            continue;
        }
        prefix = put_prefix(line, sizeof(line) - 1, CK_LOG_INFO);
        (void)snprintf(line + prefix, sizeof(line) - prefix - 1,
                       "%u lines left out that were like: %s", site->left_out,
                       site->like);
        put_line(line, strlen(line));
    }
}

void ck_log_init(const char *program, int rank, enum ck_log_level level)
{
    static bool is_registered;

    (void)pthread_mutex_lock(&state.lock);
    (void)snprintf(state.program, sizeof(state.program), "%s", program);
    state.rank = rank;
    state.level = level;
    memset(state.sites, 0, sizeof(state.sites));
    if (!is_registered) {
        is_registered = atexit(say_left_out) == 0;
    }
    (void)pthread_mutex_unlock(&state.lock);
}

bool ck_terminal_has_colour(int fd)
{
    const char *term = getenv("TERM");
    const char *refused = getenv("NO_COLOR");

    return (refused == NULL || *refused == '\0') && term != NULL &&
           strcmp(term, "dumb") != 0 && isatty(fd);
}

int ck_terminal_columns(int fd)
{
    struct winsize size;

    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return 100;
}

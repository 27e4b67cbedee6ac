/* log.h - one line a message on stderr: "ckagent[3]: warn: ..."
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Only main files and loops log. Repeats of one call site are rate-limited
 * (5 at once, then one a second with the count of those left out), but for
 * the facts that are each asked for afterwards.
 */
#ifndef CK_LAUNCH_LOG_H
#define CK_LAUNCH_LOG_H

#include <stdbool.h>

enum ck_log_level {
    CK_LOG_ERROR = 0,
    CK_LOG_WARN = 1,
    CK_LOG_INFO = 2,
    CK_LOG_DEBUG = 3,
};

/* program as shown; rank -1 = none. */
void ck_log_init(const char *program, int rank, enum ck_log_level level);
void ck_log(enum ck_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line of level info that is never left out. */
void ck_log_fact(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same in just these words, at any level. */
void ck_log_plain(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Of a program that must go on when no one reads stderr: a line waits so long
 * for room there, and is dropped then; those behind it do not wait before there
 * is room again. Their number is in a line before the next that finds room, or
 * at the exit. Without this a line waits for ever. */
void ck_log_patience(int limit_ms);

#define ck_error(...) ck_log(CK_LOG_ERROR, __VA_ARGS__)
#define ck_warn(...) ck_log(CK_LOG_WARN, __VA_ARGS__)
#define ck_info(...) ck_log(CK_LOG_INFO, __VA_ARGS__)
#define ck_debug(...) ck_log(CK_LOG_DEBUG, __VA_ARGS__)

/* True where colour and cursor movement are welcome on fd: a terminal, TERM
 * not dumb, NO_COLOR unset. */
bool ck_terminal_has_colour(int fd);
/* Columns of the terminal on fd; 100 where it is none. */
int ck_terminal_columns(int fd);
/* Write '?' in place of what a terminal obeys in the text of others: control
 * characters but newlines, of one byte, and of two in UTF-8. */
void ck_terminal_tame(char *text);

#endif

/* targetstate.c - the target's life, as the front reports it to the
 * collector
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/targetstate.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/process/procfile.h"
#include "schema/fd.h"

/* Since 6.15 the kernel gives the exit status of a process to the holder of a
 * pidfd of it, once its parent has taken note (pidfd_info of linux/pidfd.h,
 * which older headers lack). */
struct exit_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code; /* as wait() gives it */
};
_Static_assert(sizeof(struct exit_info) == 64, "the kernel's first size");

#define EXIT_INFO_ASK _IOWR(0xff, 11, struct exit_info)
#define EXIT_INFO_CODE (UINT64_C(1) << 3)
#define STAT_BYTES 1024
/* So long the parent may take. */
#define STATUS_WAIT (100 * CK_TIME_MS)

void targetstate_init(struct targetstate *targetstate,
                      int channel,
                      pid_t target,
                      bool is_begun)
{
    *targetstate = (struct targetstate){
        .channel = channel,
        .target = target,
        .front = getppid(),
        .target_fd = (int)syscall(SYS_pidfd_open, target, 0),
        .is_meeting = is_begun,
        .is_begun = is_begun,
    };
}

void targetstate_fini(struct targetstate *targetstate)
{
    ck_fd_close(targetstate->target_fd);
    targetstate->target_fd = -1;
}

static void end_take(struct targetstate *targetstate,
                     const struct frontpipe_end *end)
{
    targetstate->end = *end;
    targetstate->is_end_known = true;
}

static void stop_begin(struct targetstate *targetstate, pid_t front)
{
    targetstate->stopped_front = front;
    if (targetstate->stopped_at == 0) {
        targetstate->stopped_at = ck_time_raw();
        targetstate->stops++;
    }
}

/* It runs again, or is no more. */
static void stop_end(struct targetstate *targetstate, ck_time_t now)
{
    if (targetstate->stopped_at != 0) {
        targetstate->stopped_ns += now - targetstate->stopped_at;
        targetstate->stopped_at = 0;
    }
}

static void word_take(struct targetstate *targetstate,
                      const struct frontpipe_message *message)
{
    switch ((enum frontpipe_type)message->type) {
    case FRONTPIPE_BEGUN:
        targetstate->is_begun = true;
        targetstate->is_meeting = true;
        break;
    case FRONTPIPE_MEET:
        targetstate->is_meeting = true;
        break;
    case FRONTPIPE_FLUSH:
        targetstate->is_flush = true;
        targetstate->signal = message->u.signal != SIGCONT
                                  ? message->u.signal
                                  : targetstate->signal;
        targetstate->asked = targetstate->is_end_known ? targetstate->asked
                                                       : targetstate->signal;
        break;
    case FRONTPIPE_NEVER:
        targetstate->is_never = true;
        targetstate->is_meeting = true;
        end_take(targetstate, &message->u.end);
        break;
    case FRONTPIPE_STOPS:
        stop_begin(targetstate, message->u.pid);
        break;
    case FRONTPIPE_WOKEN:
        targetstate->stopped_front = 0;
        stop_end(targetstate, ck_time_raw());
        break;
    case FRONTPIPE_ENDED:
        stop_end(targetstate, ck_time_raw());
        end_take(targetstate, &message->u.end);
        break;
    default: /* the collector's own words */
        break;
    }
}

void targetstate_step(struct targetstate *targetstate)
{
    struct frontpipe_message message;
    int rc;

    while (!targetstate->is_front_gone &&
           (rc = frontpipe_receive(targetstate->channel, &message)) != 0) {
        if (rc > 0) {
            word_take(targetstate, &message);
        } else {
            targetstate->is_front_gone = true;
            targetstate->gone_at = ck_time_raw();
            targetstate->is_meeting = true; /* whatever it was about to send */
        }
    }
}

static bool target_is_gone(const struct targetstate *targetstate)
{
    struct pollfd item = {.fd = targetstate->target_fd, .events = POLLIN};

    if (targetstate->target_fd >= 0) {
        return poll(&item, 1, 0) == 1;
    }
    return kill(targetstate->target, 0) != 0 && errno == ESRCH;
}

/* May we read all of /proc/PID? A process that ended has no program any more;
 * where we may not, that cannot be seen. */
static bool is_readable(pid_t pid)
{
    char path[64];
    char text[1];

    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return readlink(path, text, sizeof(text)) < 0 && errno == ENOENT;
}

/* What /proc/PID/stat has behind the program's name, which may be any text:
 * ") S 1 2 ..."; NULL = nothing. */
static const char *stat_read(pid_t pid, char line[STAT_BYTES])
{
    (void)procfile_read(line, STAT_BYTES, "/proc/%d/stat", (int)pid);
    return strrchr(line, ')');
}

/* Until its parent takes note (of an orphan that is init, and some take their
 * time) the kernel keeps how a process ended as the last number of a line. True
 * when it is there, and still of that process. */
static bool status_read(const struct targetstate *targetstate, int32_t *status)
{
    char line[STAT_BYTES];
    const char *rest = stat_read(targetstate->target, line);

    if (rest == NULL || strncmp(rest, ") Z ", 4) != 0 ||
        !is_readable(targetstate->target) ||
        syscall(SYS_pidfd_send_signal, targetstate->target_fd, 0, NULL, 0) !=
            0) {
        return false;
    }
    *status = (int32_t)strtol(strrchr(rest, ' '), NULL, 10);
    return true;
}

/* The status of a target that is not our child. False: ask again later. */
static bool status_ask(struct targetstate *targetstate)
{
    struct exit_info info = {.mask = EXIT_INFO_CODE};

    if (targetstate->target_fd >= 0 &&
        status_read(targetstate, &targetstate->end.status)) {
        targetstate->is_status_known = true;
        return true;
    }
    if (targetstate->target_fd < 0 ||
        ioctl(targetstate->target_fd, EXIT_INFO_ASK, &info) != 0) {
        return errno != ESRCH || targetstate->target_fd < 0;
    }
    if ((info.mask & EXIT_INFO_CODE) == 0) {
        return false;
    }
    targetstate->end.status = info.exit_code;
    targetstate->is_status_known = true;
    return true;
}

bool targetstate_is_over(struct targetstate *targetstate)
{
    if (targetstate->is_end_known) {
        return true;
    }
    if (!targetstate->is_front_gone || !target_is_gone(targetstate)) {
        return false;
    }
    if (targetstate->over_at == 0) {
        targetstate->over_at = ck_time_raw();
    }
    return status_ask(targetstate) ||
           ck_time_raw() - targetstate->over_at > STATUS_WAIT;
}

/* Stopped, by a signal or for a debugger? */
static bool is_stopped(pid_t pid)
{
    char line[STAT_BYTES];
    const char *rest = stat_read(pid, line);

    return rest != NULL &&
           (strncmp(rest, ") T", 3) == 0 || strncmp(rest, ") t", 3) == 0);
}

/* Only a front that has ended is no parent of ours any more. */
static bool is_orphaned(const struct targetstate *targetstate)
{
    return targetstate->is_front_gone && targetstate->is_begun &&
           !targetstate->is_end_known && getppid() != targetstate->front;
}

void targetstate_follow(struct targetstate *targetstate, ck_time_t now)
{
    if (targetstate->is_front_gone) {
        targetstate->stopped_front = 0;
    }
    if ((targetstate->stopped_front != 0 || targetstate->stopped_at != 0) &&
        !is_stopped(targetstate->target)) {
        stop_end(targetstate, now);
        if (targetstate->stopped_front != 0 &&
            is_stopped(targetstate->stopped_front)) {
            (void)kill(targetstate->stopped_front, SIGCONT);
        }
    }
    if (!targetstate->is_killed && targetstate->target_fd >= 0 &&
        is_orphaned(targetstate)) {
        (void)syscall(SYS_pidfd_send_signal, targetstate->target_fd, SIGKILL,
                      NULL, 0);
        targetstate->is_killed = true;
    }
    if (targetstate->target_fd >= 0 && !target_is_gone(targetstate)) {
        targetstate->alive_at = now;
    }
}

ck_time_t targetstate_outlived(const struct targetstate *targetstate)
{
    return targetstate->over_at == 0
               ? -1
               : targetstate->over_at - targetstate->gone_at;
}

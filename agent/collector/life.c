/* life.c - the target's life, as the collector hears of it from the front
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/life.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since 6.15 the kernel tells how a process ended to whoever holds a pidfd of
 * it, once its parent has taken note (pidfd_info of linux/pidfd.h, which older
 * headers lack). */
struct exit_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code; /* as wait() gives it */
};
_Static_assert(sizeof(struct exit_info) == 64, "the kernel's first size");

#define EXIT_INFO_ASK _IOWR(0xff, 11, struct exit_info)
#define EXIT_INFO_CODE (UINT64_C(1) << 3)
/* So long the parent may take. */
#define STATUS_WAIT (100 * CK_TIME_MS)

void life_init(struct life *life, int channel, pid_t target, bool is_begun)
{
    *life = (struct life){
        .channel = channel,
        .target = target,
        .target_fd = (int)syscall(SYS_pidfd_open, target, 0),
        .is_meeting = is_begun,
        .is_begun = is_begun,
    };
}

void life_fini(struct life *life)
{
    if (life->target_fd >= 0) {
        (void)close(life->target_fd);
        life->target_fd = -1;
    }
}

static void end_take(struct life *life, const struct channel_end *end)
{
    life->end = *end;
    life->is_end_known = true;
}

static void word_take(struct life *life, const struct channel_message *message)
{
    switch ((enum channel_type)message->type) {
    case CHANNEL_BEGUN:
        life->is_begun = true;
        life->is_meeting = true;
        break;
    case CHANNEL_MEET:
        life->is_meeting = true;
        break;
    case CHANNEL_FLUSH:
        life->is_flush = true;
        life->signal =
            message->u.signal != SIGCONT ? message->u.signal : life->signal;
        life->asked = life->is_end_known ? life->asked : life->signal;
        break;
    case CHANNEL_NEVER:
        life->is_never = true;
        life->is_meeting = true;
        end_take(life, &message->u.end);
        break;
    case CHANNEL_ENDED:
        end_take(life, &message->u.end);
        break;
    default: /* the collector's own words */
        break;
    }
}

void life_step(struct life *life)
{
    struct channel_message message;
    int rc;

    while (!life->is_front_gone &&
           (rc = channel_receive(life->channel, &message)) != 0) {
        if (rc > 0) {
            word_take(life, &message);
        } else {
            life->is_front_gone = true;
            life->gone_at = ck_time_raw();
            life->is_meeting = true; /* whatever it was about to say */
        }
    }
}

static bool target_is_gone(const struct life *life)
{
    struct pollfd item = {.fd = life->target_fd, .events = POLLIN};

    if (life->target_fd >= 0) {
        return poll(&item, 1, 0) == 1;
    }
    return kill(life->target, 0) != 0 && errno == ESRCH;
}

/* May we read all of /proc/PID? A process that ended has no program any more;
 * where we may not, that is not said. */
static bool is_readable(pid_t pid)
{
    char path[64];
    char text[1];

    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return readlink(path, text, sizeof(text)) < 0 && errno == ENOENT;
}

/* Until its parent takes note (of an orphan that is init, and some take their
 * time) the kernel keeps how a process ended as the last number of a line. True
 * when it is there, and still of that process. */
static bool status_read(const struct life *life, int32_t *status)
{
    char path[64];
    char line[1024];
    const char *rest;
    size_t length = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)life->target);
    file = fopen(path, "re");
    if (file != NULL) {
        length = fread(line, 1, sizeof(line) - 1, file);
        (void)fclose(file);
    }
    line[length] = '\0';
    rest = strrchr(line, ')');
    if (rest == NULL || strncmp(rest, ") Z ", 4) != 0 ||
        !is_readable(life->target) ||
        syscall(SYS_pidfd_send_signal, life->target_fd, 0, NULL, 0) != 0) {
        return false;
    }
    *status = (int32_t)strtol(strrchr(rest, ' '), NULL, 10);
    return true;
}

/* The status of a target that is not our child. False: ask again later. */
static bool status_ask(struct life *life)
{
    struct exit_info info = {.mask = EXIT_INFO_CODE};

    if (life->target_fd >= 0 && status_read(life, &life->end.status)) {
        life->is_status_known = true;
        return true;
    }
    if (life->target_fd < 0 ||
        ioctl(life->target_fd, EXIT_INFO_ASK, &info) != 0) {
        return errno != ESRCH || life->target_fd < 0;
    }
    if ((info.mask & EXIT_INFO_CODE) == 0) {
        return false;
    }
    life->end.status = info.exit_code;
    life->is_status_known = true;
    return true;
}

bool life_is_over(struct life *life)
{
    if (life->is_end_known) {
        return true;
    }
    if (!life->is_front_gone || !target_is_gone(life)) {
        return false;
    }
    if (life->over_at == 0) {
        life->over_at = ck_time_raw();
    }
    return status_ask(life) || ck_time_raw() - life->over_at > STATUS_WAIT;
}

ck_time_t life_outlived(const struct life *life)
{
    return life->over_at == 0 ? -1 : life->over_at - life->gone_at;
}

/* life.c - the target's life, as the collector hears of it from the front
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/life.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

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
            life->is_meeting = true; /* whatever it was about to say */
        }
    }
}

bool life_is_over(const struct life *life)
{
    struct pollfd item = {.fd = life->target_fd, .events = POLLIN};

    if (life->is_end_known) {
        return true;
    }
    if (!life->is_front_gone) {
        return false;
    }
    if (life->target_fd >= 0) {
        return poll(&item, 1, 0) == 1;
    }
    return kill(life->target, 0) != 0 && errno == ESRCH;
}

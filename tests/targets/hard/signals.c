/* signals.c - reports on stdout what signals reach it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     signals handlers   one line a signal: number, how it was sent, value
 *     signals default    no handlers
 *     signals parent     sends SIGUSR2 to its parent
 * "ready" is the first line; the end of stdin ends it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void say(const char *text)
{
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

static void handler(int number, siginfo_t *info, void *context)
{
    char line[64];

    (void)context;
    (void)snprintf(line, sizeof(line), "%d %s %d\n", number,
                   info->si_code == SI_QUEUE  ? "queued"
                   : info->si_code == SI_USER ? "sent"
                                              : "otherwise",
                   info->si_code == SI_QUEUE ? info->si_value.sival_int : 0);
    say(line);
}

static void handlers_install(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    (void)sigfillset(&action.sa_mask);
    for (int i = 1; i <= SIGRTMAX; i++) {
        (void)sigaction(i, &action, NULL);
    }
}

int main(int argc, char **argv)
{
    char byte;

    if (argc == 2 && strcmp(argv[1], "handlers") == 0) {
        handlers_install();
    }
    if (argc == 2 && strcmp(argv[1], "parent") == 0) {
        (void)kill(getppid(), SIGUSR2);
    }
    say("ready\n");
    while (read(STDIN_FILENO, &byte, 1) == 1 || errno == EINTR) {
        errno = 0;
    }
    return 0;
}

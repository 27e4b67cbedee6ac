/* signals.c - reports on stdout what signals reach it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     signals handlers   one line a signal: number, how it was sent, value
 *     signals default    no handlers
 *     signals parent     sends SIGUSR2 to its parent
 *     signals NUMBER     its pid on a line, then it sends that to itself;
 *                        SIGCONT is reported
 * "ready" is the first line; the end of stdin ends it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

static void handlers_install(int first, int last)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    (void)sigfillset(&action.sa_mask);
    for (int i = first; i <= last; i++) {
        (void)sigaction(i, &action, NULL);
    }
}

static void signal_itself(int number)
{
    char line[32];

    handlers_install(SIGCONT, SIGCONT);
    (void)snprintf(line, sizeof(line), "%d\n", (int)getpid());
    say(line);
    (void)kill(getpid(), number);
}

int main(int argc, char **argv)
{
    char byte;

    if (argc == 2 && strcmp(argv[1], "handlers") == 0) {
        handlers_install(1, SIGRTMAX);
    }
    if (argc == 2 && strcmp(argv[1], "parent") == 0) {
        (void)kill(getppid(), SIGUSR2);
    }
    say("ready\n");
    if (argc == 2 && atoi(argv[1]) > 0) {
        signal_itself(atoi(argv[1]));
    }
    while (read(STDIN_FILENO, &byte, 1) == 1 || errno == EINTR) {
        errno = 0;
    }
    return 0;
}

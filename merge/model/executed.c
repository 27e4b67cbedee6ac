/* executed.c - which program a run is of, behind what only started it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/executed.h"

#include <stdio.h>
#include <string.h>

/* Commands that end in another one. */
static const char *const starters[] = {
    "chrt",    "env",     "ionice",  "nice",     "nohup",  "numactl",
    "prlimit", "setarch", "setsid",  "setpriv",  "stdbuf", "taskset",
    "time",    "timeout", "unshare", "xvfb-run",
};
/* Those that do with -c. */
static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh"};

/* The name of a command: the last part of its first word. */
struct name {
    const char *text;
    size_t length;
};

static struct name name_of(const char *command)
{
    const char *end = strchrnul(command, ' ');
    const char *start = command;

    for (const char *at = command; at < end; at++) {
        start = *at == '/' ? at + 1 : start;
    }
    return (struct name){start, (size_t)(end - start)};
}

/* The first word of a text. */
static struct name word_of(const char *text)
{
    return (struct name){text, strcspn(text, " ")};
}

/* Behind the blanks that follow it. */
static const char *behind(struct name word)
{
    return word.text + word.length + strspn(word.text + word.length, " ");
}

static bool is_option(struct name word, char letter)
{
    return word.length == 2 && word.text[0] == '-' && word.text[1] == letter;
}

/* What Python runs by these arguments; of no length where that has no name. */
static struct name script_of(const char *arguments)
{
    struct name word = word_of(arguments);

    while (word.length > 0 && word.text[0] == '-') {
        if (is_option(word, 'm')) {
            return word_of(behind(word));
        }
        if (word.length == 1 || is_option(word, 'c')) {
            return (struct name){"", 0};
        }
        if (is_option(word, 'W') || is_option(word, 'X')) {
            word = word_of(behind(word));
        }
        word = word_of(behind(word));
    }
    return name_of(word.text);
}

size_t executed_name(const char *command, char *to, size_t room)
{
    struct name name = name_of(command);
    struct name script = {"", 0};
    int length;

    if (strncmp(name.text, "python", strlen("python")) == 0) {
        script = script_of(behind(word_of(command)));
    }
    length =
        snprintf(to, room, "%.*s%s%.*s", (int)name.length, name.text,
                 script.length > 0 ? " " : "", (int)script.length, script.text);
    return (size_t)length < room ? (size_t)length : room - 1;
}

static bool is_same(struct name a, struct name b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static bool
is_one_of(struct name name, const char *const *names, size_t names_count)
{
    for (size_t i = 0; i < names_count; i++) {
        if (is_same(name, (struct name){names[i], strlen(names[i])})) {
            return true;
        }
    }
    return false;
}

/* "sh -c TEXT", "bash -lc TEXT" */
static bool has_text(const char *command)
{
    const char *word = strchr(command, ' ');
    size_t length = word == NULL ? 0 : strcspn(word + 1, " ");

    return length > 1 && word[1] == '-' && word[2] != '-' &&
           word[length] == 'c';
}

static bool is_starter(const char *command)
{
    struct name name = name_of(command);

    return is_one_of(name, starters, sizeof(starters) / sizeof(starters[0])) ||
           (is_one_of(name, shells, sizeof(shells) / sizeof(shells[0])) &&
            has_text(command));
}

bool executed_is_named(const struct defs_process *process)
{
    return process->command != NULL && process->command[0] != '\0' &&
           strcmp(process->command, "?") != 0;
}

const char *executed_find(const struct defs *defs, uint32_t agent)
{
    const char *given = defs->agents[agent].command;
    const char *found = NULL;
    bool has_several = false;

    if (given == NULL || !is_starter(given)) {
        return given;
    }
    for (size_t p = 0; p < defs->processes_count; p++) {
        const struct defs_process *process = &defs->processes[p];

        if (process->agent != agent || process->incarnation == 0 ||
            !executed_is_named(process) || is_starter(process->command)) {
            continue;
        }
        if (stamps_has(&process->init)) {
            return process->command;
        }
        has_several = has_several ||
                      (found != NULL &&
                       !is_same(name_of(found), name_of(process->command)));
        found = process->command;
    }
    return found == NULL || has_several ? given : found;
}

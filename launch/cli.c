/* cli.c - options from a table: parsing, and the nearest name when unknown
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An option is `--name value`, `--name=value`, `-l value` or `-lvalue`; a flag
 * is `--name` or `--no-name`. `--` ends the options. Operands are moved to the
 * front of argv as they are met.
 */
#include "launch/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/help.h"

/* One pass over a vector of words. */
struct scan {
    const struct ck_cli *cli; /* borrowed */
    char **words;
    int count;
    int next; /* first word that is not read yet */
    struct ck_err *err;
};

/* What the caller of ck_cli_parse_text() may keep pointers into. */
struct kept_words {
    struct kept_words *next;
    char *words[];
};

static struct kept_words *kept;
static const char *const *facts; /* borrowed; NULL = none */

const char *ck_version(void)
{
    return CK_VERSION;
}

void ck_cli_facts(const char *const *lines)
{
    facts = lines;
}

static const struct ck_cli_option *
option_named(const struct ck_cli *cli, const char *name, size_t length)
{
    const struct ck_cli_option *option;

    for (option = cli->options; option->name != NULL; option++) {
        if (option->type != CK_CLI_HEADING && strlen(option->name) == length &&
            memcmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return NULL;
}

static const struct ck_cli_option *option_lettered(const struct ck_cli *cli,
                                                   char letter)
{
    const struct ck_cli_option *option;

    for (option = cli->options; option->name != NULL; option++) {
        if (option->type != CK_CLI_HEADING && option->letter == letter) {
            return option;
        }
    }
    return NULL;
}

/* Edits (insert, delete, replace) between two short words. */
static unsigned word_distance(const char *a, size_t n, const char *b)
{
    unsigned row[64];
    size_t m = strlen(b);

    if (n >= 64 || m >= 64) {
        return 64;
    }
    for (size_t j = 0; j <= m; j++) {
        row[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[m];
}

/* The known name that is nearest, or NULL when none is near enough to be
 * meant. */
static const char *
nearest_name(const struct ck_cli *cli, const char *name, size_t length)
{
    unsigned best = length < 4 ? 2 : 1 + (unsigned)length / 3;
    const char *nearest = NULL;
    const struct ck_cli_option *option;

    for (option = cli->options; option->name != NULL; option++) {
        unsigned distance;

        if (option->type == CK_CLI_HEADING) {
            continue;
        }
        distance = word_distance(name, length, option->name);
        if (length >= 3 && strncmp(name, option->name, length) == 0) {
            distance = 1;
        }
        if (distance < best) {
            best = distance;
            nearest = option->name;
        }
    }
    return nearest;
}

static int
unknown_option(const struct scan *scan, const char *name, size_t length)
{
    const char *nearest = nearest_name(scan->cli, name, length);

    if (nearest != NULL) {
        return ck_err_set(scan->err, "unknown option --%.*s: is --%s meant?",
                          (int)length, name, nearest);
    }
    return ck_err_set(scan->err, "unknown option --%.*s (see %s --help)",
                      (int)length, name, scan->cli->program);
}

static int list_add(struct ck_cli_list *list, const char *item)
{
    size_t room = (size_t)list->count + 2;
    const char **items = realloc(list->items, room * sizeof(*items));

    if (items == NULL) {
        return -1;
    }
    list->items = items;
    items[list->count++] = item;
    items[list->count] = NULL;
    return 0;
}

static bool is_choice(const char *values, const char *text)
{
    size_t length = strlen(text);

    while (length != 0 && *values != '\0') {
        size_t word = strcspn(values, "|");

        if (word == length && memcmp(values, text, word) == 0) {
            return true;
        }
        values += word + (values[word] == '|');
    }
    return false;
}

static int set_int(int64_t *value, const char *text)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') {
        return -1;
    }
    *value = number;
    return 0;
}

static int set_value(const struct scan *scan,
                     const struct ck_cli_option *option,
                     const char *text)
{
    const char *wanted = NULL;
    int is_bad = 0;

    switch (option->type) {
    case CK_CLI_INT:
        is_bad = set_int(option->value, text);
        wanted = "a whole number";
        break;
    case CK_CLI_BYTES:
    case CK_CLI_BYTES_OR:
        is_bad = ck_cli_bytes(text, option->value);
        wanted = "a size like 64K, 8M or 1G";
        break;
    case CK_CLI_DURATION:
        is_bad = ck_cli_duration(text, option->value);
        wanted = "a time like 20ms, 5s or 1m";
        break;
    case CK_CLI_CHOICE:
        is_bad = !is_choice(option->values, text);
        wanted = option->values;
        if (!is_bad) {
            *(const char **)option->value = text;
        }
        break;
    case CK_CLI_LIST:
        if (list_add(option->value, text) != 0) {
            return ck_err_set(scan->err, "option --%s: out of memory",
                              option->name);
        }
        break;
    case CK_CLI_TEXT:
        *(const char **)option->value = text;
        break;
    case CK_CLI_FLAG:
    case CK_CLI_HEADING:
        break;
    }
    if (is_bad) {
        return ck_err_set(
            scan->err, "option --%s: '%s' is not %s%s", option->name, text,
            option->type == CK_CLI_CHOICE ? "one of " : "", wanted);
    }
    return 0;
}

/* The value of an option: what is attached to its word, else the next word. */
static int take_value(struct scan *scan,
                      const struct ck_cli_option *option,
                      const char *attached)
{
    if (attached == NULL && option->type == CK_CLI_BYTES_OR) {
        attached = option->values;
    }
    if (attached == NULL) {
        if (scan->next == scan->count) {
            return ck_err_set(
                scan->err, "option --%s needs a value: %s", option->name,
                option->argument != NULL ? option->argument : "VALUE");
        }
        attached = scan->words[scan->next++];
    }
    return set_value(scan, option, attached);
}

static int take_long(struct scan *scan, const char *word)
{
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    const char *attached = name[length] == '=' ? name + length + 1 : NULL;
    const struct ck_cli_option *option = option_named(scan->cli, name, length);
    bool is_on = true;

    if (option == NULL && length > 3 && memcmp(name, "no-", 3) == 0) {
        option = option_named(scan->cli, name + 3, length - 3);
        if (option != NULL && option->type != CK_CLI_FLAG) {
            return ck_err_set(scan->err,
                              "--no-%s: only an option without a value has a "
                              "--no- form",
                              option->name);
        }
        is_on = false;
    }
    if (option == NULL) {
        return unknown_option(scan, name, length);
    }
    if (option->type != CK_CLI_FLAG) {
        return take_value(scan, option, attached);
    }
    if (attached != NULL) {
        return ck_err_set(scan->err, "option --%s takes no value", name);
    }
    *(bool *)option->value = is_on;
    return 0;
}

static int take_short(struct scan *scan, const char *word)
{
    for (const char *at = word + 1; *at != '\0'; at++) {
        const struct ck_cli_option *option = option_lettered(scan->cli, *at);

        if (option == NULL) {
            return ck_err_set(scan->err, "unknown option -%c (see %s --help)",
                              *at, scan->cli->program);
        }
        if (option->type != CK_CLI_FLAG) {
            return take_value(scan, option, at[1] != '\0' ? at + 1 : NULL);
        }
        *(bool *)option->value = true;
    }
    return 0;
}

static void print_version(const struct ck_cli *cli)
{
    printf("%s %s\n", cli->program, ck_version());
    for (size_t i = 0; facts != NULL && facts[i] != NULL; i++) {
        printf("%s\n", facts[i]);
    }
}

/* Options that every program has. True when one was served. */
static bool take_standard(const struct ck_cli *cli, const char *word)
{
    if (strcmp(word, "--help") == 0 ||
        (strcmp(word, "-h") == 0 && option_lettered(cli, 'h') == NULL)) {
        help_print(cli, stdout);
    } else if (strcmp(word, "--version") == 0) {
        print_version(cli);
    } else if (strcmp(word, "--print-options") == 0) {
        help_print_options(cli, stdout);
    } else {
        return false;
    }
    return true;
}

/* Read all words; operands are moved to words[0..*operands). */
static enum ck_cli_result scan_words(struct scan *scan, int *operands)
{
    int kept_count = 0;

    while (scan->next < scan->count) {
        char *word = scan->words[scan->next++];
        bool is_option = word[0] == '-' && word[1] != '\0';
        int status;

        if (is_option && strcmp(word, "--") == 0) {
            break;
        }
        if (!is_option) {
            scan->words[kept_count++] = word;
            if (scan->cli->stops_at_operand) {
                break;
            }
            continue;
        }
        if (take_standard(scan->cli, word)) {
            return CK_CLI_DONE;
        }
        status =
            word[1] == '-' ? take_long(scan, word) : take_short(scan, word);
        if (status != 0) {
            return CK_CLI_WRONG;
        }
    }
    while (scan->next < scan->count) {
        scan->words[kept_count++] = scan->words[scan->next++];
    }
    *operands = kept_count;
    return CK_CLI_RUN;
}

enum ck_cli_result ck_cli_parse(const struct ck_cli *cli,
                                int *argc,
                                char ***argv,
                                struct ck_err *err)
{
    struct scan scan = {
        .cli = cli,
        .words = *argc > 0 ? *argv + 1 : *argv,
        .count = *argc > 0 ? *argc - 1 : 0,
        .err = err,
    };
    int operands = 0;
    enum ck_cli_result result = scan_words(&scan, &operands);

    if (result == CK_CLI_RUN) {
        *argc = operands;
        *argv = scan.words;
        if (operands < scan.count) {
            scan.words[operands] = NULL;
        }
    }
    return result;
}

/* Cut `text` into words in place, as a shell does: blanks part, ' and " hold
 * together, \ takes the next character. Returns the count, -1 for an open
 * quote. words has room for one word a character. */
static int split_words(char *text, char **words)
{
    char *to = text;
    int count = 0;
    char quote = '\0';
    bool is_in_word = false;

    for (const char *from = text; *from != '\0'; from++) {
        bool is_blank = quote == '\0' && strchr(" \t\n", *from) != NULL;

        if (is_blank) {
            if (is_in_word) {
                *to++ = '\0';
            }
            is_in_word = false;
            continue;
        }
        if (!is_in_word) {
            words[count++] = to;
            is_in_word = true;
        }
        if (quote == '\0' && (*from == '\'' || *from == '"')) {
            quote = *from;
        } else if (quote != '\0' && *from == quote) {
            quote = '\0';
        } else {
            if (*from == '\\' && quote != '\'' && from[1] != '\0') {
                from++;
            }
            *to++ = *from;
        }
    }
    *to = '\0';
    return quote == '\0' ? count : -1;
}

enum ck_cli_result ck_cli_parse_text(const struct ck_cli *cli,
                                     const char *text,
                                     struct ck_err *err)
{
    size_t bytes = strlen(text) + 1;
    struct kept_words *block =
        malloc(sizeof(*block) + (bytes + 1) * sizeof(char *) + bytes + 1);
    struct scan scan = {.cli = cli, .err = err};
    enum ck_cli_result result;
    int operands = 0;
    char *copy;

    if (block == NULL) {
        (void)ck_err_set(err, "out of memory");
        return CK_CLI_WRONG;
    }
    block->next = kept;
    kept = block;
    scan.words = block->words;
    copy = (char *)(block->words + bytes + 1);
    memcpy(copy, text, bytes);
    scan.count = split_words(copy, block->words);
    if (scan.count < 0) {
        (void)ck_err_set(err, "a quote is not closed in: %s", text);
        return CK_CLI_WRONG;
    }
    result = scan_words(&scan, &operands);
    if (result == CK_CLI_RUN && operands != 0) {
        (void)ck_err_set(err, "only options are allowed here, not '%s'",
                         scan.words[0]);
        return CK_CLI_WRONG;
    }
    return result;
}

void ck_cli_forget(void)
{
    while (kept != NULL) {
        struct kept_words *next = kept->next;

        free(kept);
        kept = next;
    }
}

enum ck_cli_result ck_cli_parse_variable(const struct ck_cli *cli,
                                         const char *name,
                                         struct ck_err *err)
{
    const char *text = getenv(name);
    struct ck_err why = {""};
    enum ck_cli_result result;

    if (text == NULL || text[0] == '\0') {
        return CK_CLI_RUN;
    }
    result = ck_cli_parse_text(cli, text, &why);
    if (result == CK_CLI_WRONG) {
        (void)ck_err_set(err, "%s: %s", name, why.text);
    }
    return result;
}

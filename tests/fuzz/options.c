/* options.c - any text as options, as an endpoint, as a quantity
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is taken must come out again: an endpoint's text gives the same
 * endpoint.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli.h"
#include "schema/endpoint.h"
#include "tests/fuzz/target.h"

static void options_parse(const char *text)
{
    bool flag = false;
    const char *word = NULL, *choice = "a";
    struct ck_cli_list list = {NULL, 0};
    int64_t number = 0, bytes = 0, ns = 0;
    const struct ck_cli_option options[] = {
        {CK_CLI_HEADING, "Things", 0, NULL, NULL, NULL, NULL},
        {CK_CLI_FLAG, "flag", 'f', NULL, &flag, NULL, "a flag"},
        {CK_CLI_TEXT, "text", 't', "TEXT", &word, NULL, "a text"},
        {CK_CLI_LIST, "list", 'l', "TEXT", &list, NULL, "several"},
        {CK_CLI_INT, "int", 'n', "N", &number, NULL, "a number"},
        {CK_CLI_BYTES, "bytes", 'b', "SIZE", &bytes, NULL, "a size"},
        {CK_CLI_DURATION, "time", 0, "TIME", &ns, NULL, "a time"},
        {CK_CLI_CHOICE, "choice", 'c', "X", &choice, "a|bc|d", "one of"},
        {CK_CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
    };
    const struct ck_cli cli = {.program = "fuzz",
                               .usage = "[OPTION]...",
                               .summary = "Nothing.",
                               .examples = "",
                               .options = options};
    struct ck_err err = {""};

    if (ck_cli_parse_text(&cli, text, &err) == CK_CLI_WRONG &&
        err.text[0] == '\0') {
        abort();
    }
    if (strcmp(choice, "a") != 0 && strcmp(choice, "bc") != 0 &&
        strcmp(choice, "d") != 0) {
        abort();
    }
    for (int i = 0; i < list.count; i++) {
        if (strlen(list.items[i]) > strlen(text)) {
            abort();
        }
    }
    free(list.items);
    ck_cli_forget();
}

static void endpoint_parse(const char *text)
{
    char made[CK_ENDPOINT_TEXT_BYTES];
    struct ck_endpoint first, second;
    struct ck_err err = {""};

    memset(&first, 0, sizeof(first));
    memset(&second, 0, sizeof(second));
    (void)ck_endpoint_check_url(text, &err);
    (void)ck_endpoint_check_listen(text, &err);
    (void)ck_endpoint_is_loopback(text);
    if (ck_endpoint_parse(text, &first, &err) != 0) {
        return;
    }
    ck_endpoint_text(&first, made, sizeof(made));
    if (ck_endpoint_parse(made, &second, &err) != 0 ||
        first.count != second.count || strcmp(first.token, second.token) != 0 ||
        strcmp(first.curve, second.curve) != 0) {
        abort();
    }
    for (size_t i = 0; i < first.count; i++) {
        if (strcmp(first.urls[i], second.urls[i]) != 0) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *quiet;
    char *text;
    int64_t value;

    if (quiet == NULL) {
        quiet = freopen("/dev/null", "w", stdout); /* --help prints */
    }
    if (size > CK_ENDPOINT_TEXT_BYTES) {
        return 0;
    }
    text = malloc(size + 1);
    if (text == NULL) {
        abort();
    }
    memcpy(text, data, size);
    text[size] = '\0';
    endpoint_parse(text);
    (void)ck_cli_bytes(text, &value);
    (void)ck_cli_duration(text, &value);
    options_parse(text);
    free(text);
    return 0;
}

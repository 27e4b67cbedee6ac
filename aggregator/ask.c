/* ask.c - `ckagg --status`: ask a running ckagg
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/agg.h"
#include "launch/cli.h"
#include "schema/batch/wire.h"
#include "schema/store/run.h"

#define ASK_TIMEOUT_MS 3000

static int file_endpoint(struct ck_endpoint *to, struct ck_err *err)
{
    const char *path = getenv("CKAGG_KEYFILE");
    char text[CK_ENDPOINT_TEXT_BYTES] = "";
    FILE *file = path && path[0] ? fopen(path, "re") : NULL;

    if (!path || !path[0]) {
        return ck_err_set(err, "which ckagg? give its endpoint, as it "
                               "printed it");
    }
    if (!file) {
        return ck_err_set(err, "cannot read CKAGG_KEYFILE %s: %s", path,
                          strerror(errno));
    }
    if (!fgets(text, sizeof(text), file)) {
        text[0] = '\0';
    }
    (void)fclose(file);
    return ck_endpoint_parse(text, to, err);
}

int ask_endpoint(const char *given, struct ck_endpoint *to, struct ck_err *err)
{
    const char *text = given ? given : getenv("CKAGENT_AGGREGATOR");
    struct ck_endpoint keys;

    if (!text || !text[0]) {
        return file_endpoint(to, err);
    }
    if (ck_endpoint_parse(text, to, err) != 0) {
        return -1;
    }
    if (!to->token[0] && getenv("CKAGG_KEYFILE") &&
        file_endpoint(&keys, NULL) == 0) {
        strcpy(to->curve, keys.curve);
        strcpy(to->token, keys.token);
    }
    return 0;
}

static int answer_print(void *answer, size_t length, struct ck_err *err)
{
    struct ck_control control;

    /* malloc'ed, so aligned. */
    if (ck_control_decode(answer, length, &control, err) != 0) {
        return CK_EXIT_FAILED;
    }
    if (control.type != CK_CONTROL_STATUS) {
        (void)ck_err_set(err, "ckagg refused the question: %s", control.text);
        return CK_EXIT_FAILED;
    }
    if (fputs(control.text, stdout) == EOF || fflush(stdout) != 0) {
        (void)ck_err_set(err, "cannot write to stdout: %s", strerror(errno));
        return CK_EXIT_FAILED;
    }
    return CK_EXIT_DONE;
}

int ask_status(const struct ck_endpoint *to,
               const char *format,
               struct ck_err *err)
{
    struct ck_batch_writer *writer = ck_batch_writer_create();
    char lines[CK_ENDPOINT_TOKEN_BYTES + 64] = "";
    struct ck_control control = {
        .type = CK_CONTROL_STATUS, .version = CK_FRAME_VERSION, .text = lines};
    struct agg_question question = {.to = to, .timeout_ms = ASK_TIMEOUT_MS};
    void *answer;
    size_t length;
    int code = CK_EXIT_FAILED;

    (void)ck_lines_put(lines, sizeof(lines), &control.text_length, "format",
                       format);
    if (to->token[0]) {
        (void)ck_lines_put(lines, sizeof(lines), &control.text_length, "token",
                           to->token);
    }
    if (!writer) {
        (void)ck_err_set(err, "out of memory");
        return code;
    }
    if (ck_control_encode(writer, &control, &question.bytes, &question.length,
                          err) == 0 &&
        agg_ask(&question, &answer, &length, err) == 0) {
        code = answer_print(answer, length, err);
        free(answer);
    }
    ck_batch_writer_destroy(writer);
    return code;
}

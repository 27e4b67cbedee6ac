/* ask.c - `ckagg --status`, `--where`: ask a running ckagg
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/socket/ask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregator/socket/agg.h"
#include "launch/cli.h"
#include "launch/log.h"
#include "schema/batch/wire.h"
#include "schema/store/owner.h"
#include "schema/store/run.h"

#define ASK_TIMEOUT_MS 3000
/* Agents look, and a merge follows. */
#define ASK_WHERE_MS 180000
#define LINES_BYTES (CK_ENDPOINT_TOKEN_BYTES + 512)

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

/* The address in the manifest of a run that goes on. 0, -1 with err. */
static int
dir_endpoint(const char *dir, struct ck_endpoint *to, struct ck_err *err)
{
    struct ck_owner owner;

    if (!ck_owner_read(dir, &owner) || owner.endpoint[0] == '\0') {
        return ck_err_set(err,
                          "%s: no job is running there whose ckagg can be "
                          "asked (a service of its own: give its endpoint)",
                          dir);
    }
    return ck_endpoint_parse(owner.endpoint, to, err);
}

static bool is_dir(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

int ask_endpoint(const char *given, struct ck_endpoint *to, struct ck_err *err)
{
    const char *text = given ? given : getenv("CKAGENT_AGGREGATOR");
    struct ck_endpoint keys;

    if (!text || !text[0]) {
        return file_endpoint(to, err);
    }
    if (is_dir(text)) {
        return dir_endpoint(text, to, err);
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

static int answer_print(void *answer,
                        size_t length,
                        enum ck_control_type type,
                        struct ck_err *err)
{
    struct ck_control control;

    /* malloc'ed, so aligned. */
    if (ck_control_decode(answer, length, &control, err) != 0) {
        return CK_EXIT_FAILED;
    }
    if (control.type != type) {
        (void)ck_err_set(err, "ckagg refused the question: %s", control.text);
        return CK_EXIT_FAILED;
    }
    /* Names of hosts and threads, and all else that others wrote. */
    ck_terminal_tame((char *)(uintptr_t)control.text);
    if (fputs(control.text, stdout) == EOF || fflush(stdout) != 0) {
        (void)ck_err_set(err, "cannot write to stdout: %s", strerror(errno));
        return CK_EXIT_FAILED;
    }
    return CK_EXIT_DONE;
}

/* Ask, and print the answer. Exit code; err on failure. `lines` has room for
 * the token. */
static int ask(const struct ck_endpoint *to,
               struct ck_control *control,
               struct ck_lines *lines,
               int timeout_ms,
               struct ck_err *err)
{
    struct ck_batch_writer *writer = ck_batch_writer_create();
    struct agg_question question = {.to = to, .timeout_ms = timeout_ms};
    void *answer;
    size_t length;
    int code = CK_EXIT_FAILED;

    control->version = CK_FRAME_VERSION;
    if (to->token[0]) {
        ck_lines_put(lines, "token", to->token);
    }
    control->text = lines->text;
    control->text_length = lines->used;
    if (!writer) {
        (void)ck_err_set(err, "out of memory");
        return code;
    }
    if (ck_control_encode(writer, control, &question.bytes, &question.length,
                          err) == 0 &&
        agg_ask(&question, &answer, &length, err) == 0) {
        code = answer_print(answer, length, control->type, err);
        free(answer);
    }
    ck_batch_writer_destroy(writer);
    return code;
}

int ask_status(const struct ck_endpoint *to,
               const char *format,
               struct ck_err *err)
{
    char text[LINES_BYTES];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));
    struct ck_control control = {.type = CK_CONTROL_STATUS};

    ck_lines_put(&lines, "format", format);
    return ask(to, &control, &lines, ASK_TIMEOUT_MS, err);
}

int ask_where(const struct ck_endpoint *to, const char *job, struct ck_err *err)
{
    char text[LINES_BYTES];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));
    struct ck_control control = {.type = CK_CONTROL_WHERE};

    if (job != NULL) {
        ck_lines_put(&lines, "job_key", job);
    }
    return ask(to, &control, &lines, ASK_WHERE_MS, err);
}

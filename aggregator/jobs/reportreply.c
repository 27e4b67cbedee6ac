/* reportreply.c - the answer to the clients that wait for a job's report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/jobs/reportreply.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/batch/wire.h"
#include "schema/store/run.h"

#define REPORTREPLY_FILE "report.txt"
/* Of the lines before the report. */
#define REPORTREPLY_HEAD_BYTES (PATH_MAX + 512)

/* The run's report.txt at the end of `text`; nothing when there is none. */
static void file_add(const char *dir, char *text, size_t room)
{
    char path[PATH_MAX + sizeof(REPORTREPLY_FILE)];
    size_t n = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, REPORTREPLY_FILE);
    file = fopen(path, "re");
    if (file) {
        n = fread(text, 1, room - 1, file);
        (void)fclose(file);
    }
    text[n] = '\0';
}

void reportreply_send(struct reply *reply,
                      const struct route *to,
                      const struct job *job,
                      const char *text)
{
    const struct job_facts *facts = job_facts(job);
    const char *slash = strrchr(facts->dir, '/');
    size_t room = CK_CONTROL_TEXT_MAX - 1024;
    char *answer = malloc(room);
    struct ck_lines lines;

    if (!answer) {
        return;
    }
    lines = ck_lines_in(answer, REPORTREPLY_HEAD_BYTES);
    ck_lines_put(&lines, "run", slash && slash[1] ? slash + 1 : facts->dir);
    ck_lines_put(&lines, "dir", facts->dir);
    ck_lines_put(&lines, "state", job_state_name(facts->state));
    ck_lines_put_number(&lines, "exit", facts->merge_exit);
    answer[lines.used++] = '\n';
    if (!text) {
        text = job_report(job);
    }
    if (text) {
        (void)snprintf(answer + lines.used, room - lines.used, "%s", text);
    } else {
        file_add(facts->dir, answer + lines.used, room - lines.used);
    }
    (void)reply_text(reply, to, CK_CONTROL_REPORT, answer);
    free(answer);
}

void reportreply_send_all(struct reply *reply,
                          struct job *job,
                          const char *text)
{
    struct route route;

    while (job_wait_take(job, &route)) {
        reportreply_send(reply, &route, job, text);
    }
}

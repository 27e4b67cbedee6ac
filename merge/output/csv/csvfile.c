/* csvfile.c - one table as a file of comma-separated values (RFC 4180)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/csv/csvfile.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "merge/output/words.h"

int csvfile_open(struct csvfile *csv,
                 const char *dir,
                 const char *name,
                 const char *columns,
                 struct ck_err *err)
{
    char path[PATH_MAX];

    *csv = (struct csvfile){0};
    if (snprintf(path, sizeof(path), "%s/%s.csv", dir, name) >=
        (int)sizeof(path)) {
        return ck_err_set(err, "%s: the path is too long", dir);
    }
    if (outputfile_open(&csv->target, path, 0666, err) != 0) {
        return -1;
    }
    csv->file = outputfile_stream(&csv->target);
    if (csv->file == NULL) {
        return outputfile_close(&csv->target, false, err);
    }
    for (; *columns != '\0'; columns++) {
        fputc(*columns == ' ' ? ',' : *columns, csv->file);
    }
    csvfile_row(csv);
    return 0;
}

static void field_begin(struct csvfile *csv)
{
    if (csv->has_fields) {
        fputc(',', csv->file);
    }
    csv->has_fields = true;
}

void csvfile_text(struct csvfile *csv, const char *text)
{
    bool is_quoted;

    field_begin(csv);
    if (text == NULL || text[0] == '\0') {
        return;
    }
    is_quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    if (is_quoted) {
        fputc('"', csv->file);
    }
    if (strchr("=+-@\t\r", text[0]) != NULL) {
        fputc('\'', csv->file);
    }
    while (*text != '\0') {
        size_t bytes = word_utf8(text);

        if (bytes == 0) {
            fputs("\357\277\275", csv->file);
            text++;
            continue;
        }
        if (*text == '"') {
            fputc('"', csv->file);
        }
        (void)fwrite(text, 1, bytes, csv->file);
        text += bytes;
    }
    if (is_quoted) {
        fputc('"', csv->file);
    }
}

void csvfile_int(struct csvfile *csv, int64_t value)
{
    field_begin(csv);
    fprintf(csv->file, "%" PRId64, value);
}

void csvfile_double(struct csvfile *csv, double value)
{
    field_begin(csv);
    fprintf(csv->file, "%.6g", value);
}

void csvfile_rank(struct csvfile *csv, int32_t rank)
{
    if (rank < 0) {
        csvfile_text(csv, NULL);
    } else {
        csvfile_int(csv, rank);
    }
}

void csvfile_row(struct csvfile *csv)
{
    fputs("\r\n", csv->file);
    csv->has_fields = false;
}

int csvfile_close(struct csvfile *csv, struct ck_err *err)
{
    bool is_good = ferror(csv->file) == 0;

    is_good = fclose(csv->file) == 0 && is_good;
    return outputfile_close(&csv->target, is_good, err);
}

/* results.c - the report of a merge, written where it is asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/results.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/cli.h"
#include "launch/format.h"
#include "launch/log.h"
#include "merge/htmlpage.h"
#include "merge/model/memory.h"
#include "merge/model/tempfiles.h"
#include "merge/output/csv/csv.h"
#include "merge/output/json/jsonreport.h"
#include "merge/output/json/scalene.h"
#include "merge/output/openmetrics/openmetrics.h"
#include "merge/output/outputfile.h"
#include "merge/output/svg/svg.h"
#include "merge/output/text/fold.h"
#include "merge/output/text/page.h"
#include "merge/output/text/text.h"
#include "merge/runplace.h"
#include "merge/writers.h"

/* Bars where the terminal can show them. */
static struct text_style style_of(const struct results *results, int fd)
{
    const struct options *options = results->options;
    const char *locale = setlocale(LC_CTYPE, "");
    struct text_style style = {
        .is_all_ranks = options->is_all_ranks,
        .page = results->page[0] == '\0' ? NULL : results->page};
    bool is_utf8 = locale != NULL && (strcasestr(locale, "utf-8") != NULL ||
                                      strcasestr(locale, "utf8") != NULL);

    if (!options->is_plain && fd >= 0 && isatty(fd)) {
        style.has_unicode = is_utf8;
        style.has_colour = ck_terminal_has_colour(fd);
    }
    if (fd >= 0 && isatty(fd) && ck_terminal_columns(fd) < PAGE_COLUMNS) {
        style.columns = ck_terminal_columns(fd);
    }
    return style;
}

/* Write text to a file as it is named, or to stdout. */
static int
write_out(const char *path, const char *text, size_t length, struct ck_err *err)
{
    struct outputfile target;
    FILE *file;
    bool is_good;

    if (fflush(stdout) != 0) {
        return ck_err_set(err, "cannot write stdout: %s", strerror(errno));
    }
    if (outputfile_open(&target, path == NULL ? "-" : path, 0666, err) != 0) {
        return -1;
    }
    file = outputfile_stream(&target);
    is_good = file != NULL && fwrite(text, 1, length, file) == length;
    if (file != NULL && fclose(file) != 0) {
        is_good = false;
    }
    return outputfile_close(&target, is_good, err);
}

/* The text, which is taken, as the terminal has room for it. */
static char *text_fit(char *text, int columns, size_t *length)
{
    char *folded;

    if (columns == 0) {
        return text;
    }
    folded = fold_text(text, (size_t)columns, length);
    free(text);
    return folded;
}

/* The report as text, or where the ranks of a running job are; the caller's to
 * free. */
static char *
text_make(const struct results *results, bool is_where, int fd, size_t *length)
{
    struct text_style style = style_of(results, fd);
    char *text;
    FILE *file = xmemstream(&text, length);

    if (is_where) {
        output_where(results->report, &style, file);
    } else {
        output_text(results->report, &style, file);
    }
    (void)fclose(file);
    return text_fit(text, style.columns, length);
}

/* The page, the caller's to free; NULL with err. */
static char *
page_make(const struct results *results, size_t *length, struct ck_err *err)
{
    size_t text_length = 0;
    char *text = text_make(results, false, -1, &text_length);
    const struct htmlpage page = {.report = results->report,
                                  .text = text,
                                  .text_length = text_length,
                                  .baseline = results->baseline,
                                  .lanes = results->lanes,
                                  .flames = results->flames,
                                  .defs = results->defs,
                                  .is_live = results->options->is_live,
                                  .bytes =
                                      (size_t)results->options->page_bytes};
    char *html = htmlpage_make(&page, length);

    free(text);
    if (html == NULL) {
        (void)ck_err_set(err, "out of memory");
    }
    return html;
}

/* Without a name it goes beside the report. */
static int
write_page(const struct results *results, const char *path, struct ck_err *err)
{
    const struct options *options = results->options;
    char beside[PATH_MAX];
    size_t length = 0;
    char *html;
    int rc;

    if (path == NULL && options_page(options, beside, err) != 0) {
        return -1;
    }
    html = page_make(results, &length, err);
    if (html == NULL) {
        return -1;
    }
    if (path == NULL && !options->is_kernel_only) {
        struct runplace place;

        rc = runplace_open(&place, options->run, results->defs, err);
        if (rc == 0) {
            tempfiles_hold();
            rc = runplace_replace(&place, OPTIONS_PAGE, html, length, err);
            tempfiles_release();
            runplace_close(&place);
        }
    } else {
        rc = write_out(path == NULL ? beside : path, html, length, err);
    }
    free(html);
    return rc;
}

/* The page that was not asked for; results->page shows whether it is there. 0,
 * or -1 with err: then there is none, and the rest goes on. */
static int write_own_page(struct results *results, struct ck_err *err)
{
    const struct options *options = results->options;

    if (!options->has_page || strcmp(options->run, "-") == 0) {
        return 0;
    }
    /* The text in it names it, too. */
    if (options_page(options, results->page, err) == 0 &&
        write_page(results, NULL, err) == 0) {
        return 0;
    }
    results->page[0] = '\0';
    return -1;
}

/* A format that is made in memory, the caller's to free. */
static char *format_make(const struct results *results,
                         enum ck_format format,
                         bool is_stdout,
                         size_t *length)
{
    switch (format) {
    case CK_FORMAT_JSON:
        return output_json(results->report, length);
    case CK_FORMAT_SVG_LEDGER:
        return output_svg_ledger(results->report, length);
    case CK_FORMAT_SVG_STEPS:
        return output_svg_steps(results->report, length);
    case CK_FORMAT_SVG_TIMELINE:
        return output_svg_timeline(results->report, results->lanes, length);
    case CK_FORMAT_SVG_FLAME:
        return output_svg_flame(results->report, results->flames, results->diff,
                                length);
    case CK_FORMAT_OPENMETRICS:
        return output_openmetrics(results->report, length);
    default:
        return text_make(results, format == CK_FORMAT_WHERE,
                         is_stdout ? STDOUT_FILENO : -1, length);
    }
}

static int write_format(const struct results *results,
                        enum ck_format format,
                        const char *path,
                        struct ck_err *err)
{
    size_t length;
    char *text;
    int rc;

    if (format == CK_FORMAT_HTML) {
        return write_page(results, path, err);
    }
    if (format == CK_FORMAT_CSV) {
        return output_csv(results->report, path, err);
    }
    text = format_make(results, format, path == NULL, &length);
    if (text == NULL) {
        return ck_err_set(err, "out of memory");
    }
    rc = write_out(path, text, length, err);
    free(text);
    return rc;
}

/* report.txt and report.json beside the segments. 0, or -1 with err. */
static int write_reports(const struct results *results, struct ck_err *err)
{
    size_t text_length, json_length;
    char *text = text_make(results, false, -1, &text_length);
    char *json = output_json(results->report, &json_length);
    struct runplace place;
    int rc;

    if (json == NULL) {
        rc = ck_err_set(err, "out of memory");
    } else {
        rc = runplace_open(&place, results->options->run, results->defs, err);
    }
    if (rc == 0) {
        /* Both, or none. */
        tempfiles_hold();
        rc = runplace_replace(&place, "report.txt", text, text_length, err);
        if (rc == 0) {
            rc =
                runplace_replace(&place, "report.json", json, json_length, err);
        }
        tempfiles_release();
        runplace_close(&place);
    }
    free(text);
    free(json);
    return rc;
}

static void page_remove(const struct results *results)
{
    struct runplace place;
    struct ck_err unused;

    if (runplace_open(&place, results->options->run, results->defs, &unused) ==
        0) {
        runplace_remove(&place, OPTIONS_PAGE);
        runplace_close(&place);
    }
}

/* They and the page, which gives up its room for them. A directory that may
 * not be written to is no failure. */
static void write_run(struct results *results)
{
    struct ck_err page_err, err;
    int page_rc = write_own_page(results, &page_err);
    int rc = write_reports(results, &err);

    if (rc != 0 && results->page[0] != '\0') {
        page_remove(results);
        results->page[0] = '\0';
        page_err = err;
        page_rc = -1;
        rc = write_reports(results, &err);
    }
    if (rc != 0) {
        ck_warn("the report is not kept in the run: %s", err.text);
    } else if (page_rc != 0) {
        ck_warn("the HTML page is not kept in the run: %s", page_err.text);
    }
}

/* The output of a kernel-only merge and its page, or the report in its run. */
static int write_kept(struct results *results, struct ck_err *err)
{
    const struct options *options = results->options;
    struct ck_err page_err;
    int rc;

    if (!options->is_kernel_only) {
        if (!options_is_part(options) && !options->is_live) {
            write_run(results);
        }
        return 0;
    }
    rc = results->join != NULL
             ? scalenejoin_write(results->join, results->report, options->run,
                                 err)
             : scalene_write(results->report, options->run, err);
    if (rc == 0 && write_own_page(results, &page_err) != 0) {
        ck_warn("the HTML page is not kept: %s", page_err.text);
    }
    return rc;
}

int results_write(struct results *results, struct ck_err *err)
{
    const struct options *options = results->options;
    bool is_stdout_used =
        options->is_kernel_only && strcmp(options->run, "-") == 0;

    results->page[0] = '\0';
    if (write_kept(results, err) != 0) {
        return -1;
    }
    for (int i = 0; i < options->outputs.count; i++) {
        const char *path;
        int format = ck_format_parse(options->outputs.items[i], &path, err);
        bool is_page = format == CK_FORMAT_HTML && path == NULL;

        if (writers_has(format) || (is_page && results->page[0] != '\0')) {
            continue;
        }
        is_stdout_used = is_stdout_used ||
                         (path == NULL ? !is_page : strcmp(path, "-") == 0);
        if (write_format(results, format, path, err) != 0) {
            return -1;
        }
    }
    if (is_stdout_used || options->is_quiet) {
        return 0;
    }
    return write_format(results, CK_FORMAT_TEXT, NULL, err);
}

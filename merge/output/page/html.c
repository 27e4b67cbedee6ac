/* html.c - the report as one page that a browser opens from the disk
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page/html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/page/embed.h"
#include "merge/output/page/htmlparts.h"
#include "merge/output/page/htmltext.h"

/* What may run in the page: its own script and style, by their hashes; it may
 * ask its own server only where it is live. */
static void put_policy(FILE *file, bool is_live)
{
    char script[HTML_HASH_BYTES];
    char sheet[HTML_HASH_BYTES];

    html_hash(page_script, (size_t)(page_script_end - page_script), script);
    html_hash(page_style, (size_t)(page_style_end - page_style), sheet);
    fprintf(file,
            "<meta http-equiv=\"Content-Security-Policy\" content=\""
            "default-src 'none'; %sscript-src %s; style-src %s; "
            "base-uri 'none'; form-action 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'\">\n",
            is_live ? "connect-src 'self'; " : "", script, sheet);
}

static void put_top(FILE *file, const struct html_page *page)
{
    fprintf(file,
            "<!DOCTYPE html>\n<html lang=\"en\"%s>\n<head>\n"
            "<meta charset=\"utf-8\">\n",
            page->is_live ? " data-live=\"yes\"" : "");
    put_policy(file, page->is_live);
    fputs("<meta name=\"referrer\" content=\"no-referrer\">\n"
          "<meta name=\"generator\" content=\"ck " CK_VERSION "\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<title>ck: ",
          file);
    html_text(file, page->report->name, strlen(page->report->name));
    fputs("</title>\n<style>", file);
    (void)fwrite(page_style, 1, (size_t)(page_style_end - page_style), file);
    fputs("</style>\n</head>\n<body>\n", file);
}

/* 0, or -1 with errno. */
static int put_page(FILE *file, const struct html_page *page)
{
    put_top(file, page);
    html_head(file, page->report);
    fputs("<main>\n", file);
    html_sections(file, page->report, page->text, page->text_length);
    fputs("</main>\n<footer class=\"quiet\"><p>Written by ck " CK_VERSION
          ".</p></footer>\n",
          file);
    for (size_t i = 0; i < page->blocks_count; i++) {
        if (html_block_put(file, &page->blocks[i]) != 0) {
            return -1;
        }
    }
    fputs("<script>", file);
    (void)fwrite(page_script, 1, (size_t)(page_script_end - page_script), file);
    fputs("</script>\n</body>\n</html>\n", file);
    return 0;
}

char *output_html(const struct html_page *page, size_t *length)
{
    char *text;
    FILE *file = xmemstream(&text, length);
    int rc = put_page(file, page);

    (void)fclose(file);
    if (rc != 0) {
        free(text);
        return NULL;
    }
    return text;
}

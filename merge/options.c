/* options.c - what ckmerge is asked to do
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/format.h"
#include "merge/htmlpage.h"
#include "merge/profiles/profile.h"

/* One "a" or "a-b"; returns what follows, NULL when it is neither. */
static const char *ranks_range(const char *at, long *first, long *last)
{
    char *end;

    *first = strtol(at, &end, 10);
    if (end == at || *first < 0) {
        return NULL;
    }
    *last = *first;
    if (*end == '-') {
        at = end + 1;
        *last = strtol(at, &end, 10);
        if (end == at || *last < *first) {
            return NULL;
        }
    }
    if (*end == ',') {
        return end + 1;
    }
    if (*end == '\0') {
        return end;
    }
    return NULL;
}

/* Texts that have a grammar of their own. 0, or -1 with err. */
static int texts_check(const struct options *options, struct ck_err *err)
{
    const char *at = options->ranks;
    long first, last;

    while (at != NULL && *at != '\0') {
        at = ranks_range(at, &first, &last);
    }
    if (at == NULL) {
        return ck_err_set(err, "--ranks %.200s: write it as 0,4-7",
                          options->ranks);
    }
    if (ck_formats_check(options->outputs.items, options->outputs.count, NULL,
                         err) != 0) {
        return -1;
    }
    if (options->page_bytes != 0 &&
        options->page_bytes < (int64_t)HTMLPAGE_BYTES_LEAST) {
        return ck_err_set(err, "--page-bytes: at least %zu bytes",
                          HTMLPAGE_BYTES_LEAST);
    }
    if (options->to >= 0 && options->from >= options->to) {
        return ck_err_set(err, "--from is not before --to");
    }
    if (options->is_verify && options->outputs.count > 0) {
        return ck_err_set(err,
                          "--verify checks and writes no output: leave "
                          "--output %.100s out, or ask in two calls",
                          options->outputs.items[0]);
    }
    return 0;
}

/* Each --rank is FILE=N with one of the inputs. 0, or -1 with err. */
static int given_check(const struct options *options, struct ck_err *err)
{
    for (int i = 0; i < options->given.count; i++) {
        const char *item = options->given.items[i];
        const char *equals = strrchr(item, '=');
        size_t length = equals == NULL ? 0 : (size_t)(equals - item);
        size_t digits = equals == NULL ? 0 : strspn(equals + 1, "0123456789");
        bool is_known = false;

        if (digits == 0 || digits > 9 || equals[1 + digits] != '\0') {
            return ck_err_set(err,
                              "--rank %s: write it as FILE=N, with the rank's "
                              "number N",
                              item);
        }
        for (size_t k = 0; k < options->inputs_count; k++) {
            const char *input = options->inputs[k];

            is_known = is_known || (strlen(input) == length &&
                                    strncmp(input, item, length) == 0);
        }
        if (!is_known) {
            return ck_err_set(err, "--rank %s: no input has that name", item);
        }
    }
    return 0;
}

/* How often stdin is an input. */
static size_t stdin_count(const struct options *options)
{
    size_t count =
        options->scalene != NULL && strcmp(options->scalene, "-") == 0;

    for (size_t i = 0; i < options->inputs_count; i++) {
        count += strcmp(options->inputs[i], "-") == 0;
    }
    return count;
}

/* As nkipy's own command takes them: SCALENE KERNEL_PROFILE OUT. */
static void three_files(struct options *options, int *argc, char ***argv)
{
    struct ck_err unused;

    if (options->is_kernel_only || *argc != 3 ||
        profile_kind_of((*argv)[0], (*argv)[0], &unused) != PROFILE_SCALENE) {
        return;
    }
    options->is_kernel_only = true;
    options->scalene = (*argv)[0];
    (*argc)--;
    (*argv)++;
}

/* RUN, or IN... OUT. */
static enum ck_cli_result operands_read(struct options *options,
                                        int argc,
                                        char **argv,
                                        struct ck_err *err)
{
    three_files(options, &argc, &argv);
    if (options->is_kernel_only) {
        if (argc < 2) {
            (void)ck_err_set(err,
                             "--kernel-only takes one or more profiles and, "
                             "last, the output: ckmerge --kernel-only IN... "
                             "OUT");
            return CK_CLI_WRONG;
        }
        options->inputs = (const char *const *)argv;
        options->inputs_count = (size_t)argc - 1;
        options->run = argv[argc - 1];
        if (stdin_count(options) > 1) {
            (void)ck_err_set(err, "- (stdin) can be read once only");
            return CK_CLI_WRONG;
        }
        if (strcmp(options->run, "-") == 0 &&
            ck_formats_check(options->outputs.items, options->outputs.count,
                             "the merged profile", err) != 0) {
            return CK_CLI_WRONG;
        }
        return given_check(options, err) == 0 ? CK_CLI_RUN : CK_CLI_WRONG;
    }
    if (options->given.count > 0) {
        (void)ck_err_set(err, "--rank goes with --kernel-only");
        return CK_CLI_WRONG;
    }
    if (argc != 1) {
        (void)ck_err_set(err, argc < 1
                                  ? "no run directory given (ckmerge RUN)"
                                  : "one run directory at a time; of profiles: "
                                    "ckmerge --kernel-only IN... OUT");
        return CK_CLI_WRONG;
    }
    options->run = argv[0];
    return CK_CLI_RUN;
}

/* A number alone would be seconds, as elsewhere: no user means that here. */
static enum ck_cli_result
clock_error_read(const char *text, int64_t *ns, struct ck_err *err)
{
    size_t length = strlen(text);

    if (ck_cli_duration(text, ns) != 0) {
        (void)ck_err_set(err,
                         "option --max-clock-error: '%s' is not a time like "
                         "500ns, 10us or 1ms",
                         text);
        return CK_CLI_WRONG;
    }
    if (!isalpha((unsigned char)text[length - 1])) {
        (void)ck_err_set(err,
                         "option --max-clock-error: '%s' has no unit; write "
                         "%sus, %sms or %ss",
                         text, text, text, text);
        return CK_CLI_WRONG;
    }
    return CK_CLI_RUN;
}

#define KERNEL_ONLY_HELP (PROFILE_FORMATS + 256)

static void kernel_only_say(char help[KERNEL_ONLY_HELP])
{
    char formats[PROFILE_FORMATS];

    (void)snprintf(help, KERNEL_ONLY_HELP,
                   "Merge device profiles: %s, runs and segments of ck; JSON "
                   "may be gzipped. The last argument is the output file; "
                   "scalene's viewer opens it",
                   profile_formats(formats));
}

enum ck_cli_result
options_read(struct options *options, int argc, char **argv, struct ck_err *err)
{
    struct options *o = options;
    const char *clock_error = NULL;
    char kernel_only[KERNEL_ONLY_HELP];
    const struct ck_cli_option table[] = {
        {CK_CLI_LIST, "output", 'o', "FORMAT[=FILE]", &o->outputs,
         CK_FORMAT_NAMES,
         "Write " CK_FORMAT_LIST "; may be given several times. Without FILE, "
         "html goes to RUN/report.html, chrome to RUN/trace.json, perfetto to "
         "RUN/trace.pftrace, sqlite to RUN/trace.sqlite, folded to "
         "RUN/stacks.folded, folded-waits to RUN/waits.folded, folded-memory "
         "to RUN/memory.folded, folded-device to RUN/device.folded, "
         "folded-diff to "
         "RUN/diff.folded, speedscope to "
         "RUN/stacks.speedscope.json, "
         "flamescope to RUN/stacks.perf and firefox to "
         "RUN/stacks.firefox.json, the "
         "others to stdout; csv=DIR is a directory of tables. A chrome, "
         "perfetto or folded FILE that ends in .gz is compressed"},
        {CK_CLI_FLAG, "page", 0, NULL, &o->has_page, NULL,
         "Write the report as an HTML page too: RUN/report.html, with "
         "--kernel-only OUT.html (default; --no-page: do not)"},
        {CK_CLI_BYTES, "page-bytes", 0, "SIZE", &o->page_bytes, NULL,
         "Make the HTML page no larger than SIZE (default 5000000, at least "
         "500000): its timeline and its stacks have less detail then"},
        {CK_CLI_TEXT, "baseline", 0, "RUN", &o->baseline, NULL,
         "Compare with the report of RUN (a run directory, or a report.json) "
         "in the HTML page; with its stacks.folded in folded-diff and "
         "svg-flame"},
        {CK_CLI_HEADING, "What to analyse", 0, NULL, NULL, NULL, NULL},
        {CK_CLI_DURATION, "from", 0, "TIME", &o->from, NULL,
         "Start the analysis TIME after the start of the run (5s, 20ms)"},
        {CK_CLI_DURATION, "to", 0, "TIME", &o->to, NULL,
         "End the analysis TIME after the start of the run"},
        {CK_CLI_TEXT, "region", 0, "NAME[#N]", &o->region, NULL,
         "Analyse the program's range NAME (ck.h): from its first begin to its "
         "last end, or only the N-th one of each rank"},
        {CK_CLI_TEXT, "ranks", 0, "LIST", &o->ranks, NULL,
         "Analyse only these ranks, for example 0,4-7 (default: all)"},
        {CK_CLI_TEXT, "max-clock-error", 0, "TIME", &clock_error, NULL,
         "Exit with 4 if the clocks of two ranks may differ by more than TIME, "
         "with 5 if that is not known. TIME needs a unit (10us)"},
        {CK_CLI_CHOICE, "clock-facts", 0, NULL, &o->clock_facts,
         "all|probes|messages|kernels",
         "What aligns the clocks: probes, messages (with collectives), kernels "
         "(collective kernels; of profiles, not their dates), or all of them "
         "(default)"},
        {CK_CLI_FLAG, "live", 0, NULL, &o->is_live, NULL,
         "The job is still running: merge what is stored so far, keep no "
         "report "
         "in RUN, and let the HTML page ask the ckagg that serves it for newer "
         "results (ckagg --http does this)"},
        {CK_CLI_TEXT, "frames", 0, "FILE", &o->frames, NULL,
         "With --live and --output where alone: read the frames that the index "
         "FILE (- = stdin) has of the run; ckagg makes it for its --where"},
        {CK_CLI_HEADING, "Device profiles", 0, NULL, NULL, NULL, NULL},
        {CK_CLI_FLAG, "kernel-only", 0, NULL, &o->is_kernel_only, NULL,
         kernel_only},
        {CK_CLI_TEXT, "scalene", 0, "FILE", &o->scalene, NULL,
         "Like --kernel-only, and add the device times to the lines of this "
         "scalene profile (JSON or HTML)"},
        {CK_CLI_LIST, "rank", 0, "FILE=N", &o->given, NULL,
         "Take the profile FILE as that of rank N, whatever the file itself "
         "contains"},
        {CK_CLI_FLAG, "force", 0, NULL, &o->is_forced, NULL,
         "Replace an existing output file even if ckmerge did not write it (an "
         "input is never replaced)"},
        {CK_CLI_HEADING, "How to print it", 0, NULL, NULL, NULL, NULL},
        {CK_CLI_FLAG, "all-ranks", 0, NULL, &o->is_all_ranks, NULL,
         "Print a row for every rank, however many there are"},
        {CK_CLI_FLAG, "plain", 0, NULL, &o->is_plain, NULL,
         "No colour, only ASCII"},
        {CK_CLI_FLAG, "quiet", 'q', NULL, &o->is_quiet, NULL,
         "Print no report on stdout except what --output requests"},
        {CK_CLI_FLAG, "progress", 0, NULL, &o->has_progress, NULL,
         "Show progress (default: if stderr is a terminal)"},
        {CK_CLI_FLAG, "verify", 0, NULL, &o->is_verify, NULL,
         "Check frames, numbering and sums instead of printing a report; list "
         "what is wrong and exit with 3"},
        {CK_CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL}};
    const struct ck_cli cli = {
        .program = "ckmerge",
        .usage = "[OPTION]... RUN | --kernel-only [OPTION]... IN... OUT",
        .summary =
            "Aligns the ranks of a stored run on one time axis and reports why "
            "their devices were idle. RUN is a run directory; ckmerge "
            "writes report.txt and report.json there.",
        .examples =
            "  ckmerge ck-train-20261121T093000\n"
            "  ckmerge --output chrome=trace.json.gz RUN   then open it in "
            "ui.perfetto.dev\n"
            "  ckmerge --output json --from 2s --to 4s RUN | jq .devices\n"
            "  ckmerge --kernel-only rank0.json rank1.json.gz merged.json\n",
        .options = table};
    enum ck_cli_result result;

    kernel_only_say(kernel_only);
    result = ck_cli_parse_variable(&cli, "CKMERGE_OPTIONS", err);
    if (result == CK_CLI_RUN) {
        result = ck_cli_parse(&cli, &argc, &argv, err);
    }
    options->is_kernel_only =
        options->is_kernel_only || options->scalene != NULL;
    if (result == CK_CLI_RUN && texts_check(options, err) != 0) {
        result = CK_CLI_WRONG;
    }
    if (result == CK_CLI_RUN && clock_error != NULL) {
        result = clock_error_read(clock_error, &o->max_clock_error, err);
    }
    if (result == CK_CLI_RUN) {
        result = operands_read(options, argc, argv, err);
    }
    return result;
}

bool options_has(const struct options *options, enum ck_format format)
{
    struct ck_err unused;
    const char *file;

    for (int i = 0; i < options->outputs.count; i++) {
        if (ck_format_parse(options->outputs.items[i], &file, &unused) ==
            (int)format) {
            return true;
        }
    }
    return false;
}

bool options_is_part(const struct options *options)
{
    return !options->is_kernel_only &&
           (options->from >= 0 || options->to >= 0 ||
            options->ranks[0] != '\0' || options->region[0] != '\0');
}

int options_page(const struct options *options,
                 char path[PATH_MAX],
                 struct ck_err *err)
{
    size_t length = strlen(options->run);
    bool has_slash = length > 0 && options->run[length - 1] == '/';
    int n = options->is_kernel_only
                ? snprintf(path, PATH_MAX, "%s.html", options->run)
                : snprintf(path, PATH_MAX, "%s%s" OPTIONS_PAGE, options->run,
                           has_slash ? "" : "/");

    return n < PATH_MAX
               ? 0
               : ck_err_set(err, "%s: the path is too long", options->run);
}

/* Want those of the ranks; how many there are. */
static long ranks_want(struct defs *defs, long first, long last)
{
    long hits = 0;

    for (size_t i = 0; i < defs->ranks_count; i++) {
        if (defs->ranks[i].number >= first && defs->ranks[i].number <= last) {
            defs->ranks[i].is_wanted = true;
            hits++;
        }
    }
    return hits;
}

/* Of those ranks only so many are there. */
static void ranks_miss(long first, long last, long hits, struct ck_err *missing)
{
    if (missing->text[0] != '\0' || last - first == hits - 1) {
        return;
    }
    if (first == last) {
        (void)ck_err_set(missing, "the run has no rank %ld", first);
    } else {
        (void)ck_err_set(missing, "the run has %ld of the ranks %ld-%ld", hits,
                         first, last);
    }
}

int options_ranks(const char *text,
                  struct defs *defs,
                  struct ck_err *missing,
                  struct ck_err *err)
{
    const char *at = text;
    long first, last, hits = 0;

    missing->text[0] = '\0';
    if (text[0] == '\0') {
        return 0;
    }
    defs->is_filtered = true;
    for (size_t i = 0; i < defs->ranks_count; i++) {
        defs->ranks[i].is_wanted = false;
    }
    for (at = ranks_range(at, &first, &last); at != NULL;
         at = ranks_range(at, &first, &last)) {
        long some = ranks_want(defs, first, last);

        ranks_miss(first, last, some, missing);
        hits += some;
        if (*at == '\0') {
            break;
        }
    }
    if (hits == 0) {
        return ck_err_set(err, "--ranks %s: the run has none of these ranks",
                          text);
    }
    return 0;
}

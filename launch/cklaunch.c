/* cklaunch.c - launcher, agents, aggregator and report in one line
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     cklaunch -n 4 -- ./train    is    mpirun -n 4 ckagent -- ./train
 *
 * On one host the agents start their aggregator themselves. For several hosts
 * cklaunch starts it here and hands its endpoint to them by a variable, so the
 * job's key is never in an argument list.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch/build.h"
#include "launch/child.h"
#include "launch/cli.h"
#include "launch/format.h"
#include "launch/keep.h"
#include "launch/launcher.h"
#include "launch/log.h"
#include "launch/loopback.h"
#include "launch/ckaggchild.h"
#include "launch/argv.h"

enum { HOSTS_MAX = 4096 };

/* After the launcher's end: for the last frames and the merge, and for a stop
 * where the GOODBYE of an agent is missing. */
static const int64_t service_work_ns = 60000000000;
static const int64_t service_stop_ns = 60000000000;

static struct {
    int64_t count;
    const char *hosts;
    const char *launcher;
    struct ck_cli_list launcher_options;
    const char *dir;
    const char *keep;
    const char *http;
    const char *output;
    const char *report;
    struct ck_cli_list agent_options;
    const char *aggregator;
    const char *listen;
    bool has_page;
    bool is_insecure;
    bool is_strict;
    bool is_dry;
} options = {.count = 1, .listen = "tcp://*:0", .has_page = true};

static const struct ck_cli_option option_table[] = {
    {CK_CLI_HEADING, "Ranks and hosts", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_INT, "np", 'n', "N", &options.count, NULL,
     "Number of ranks to start (default 1)"},
    {CK_CLI_TEXT, "hosts", 0, "A,B", &options.hosts, NULL,
     "Hosts to start the ranks on, the same number on each; \"A:2,B:6\" sets "
     "the number for each host (default: this machine)"},
    {CK_CLI_CHOICE, "launcher", 0, NULL, &options.launcher, LAUNCHER_NAMES,
     "Program that starts the ranks (default: srun inside a Slurm allocation, "
     "else the first of these in PATH)"},
    {CK_CLI_LIST, "launcher-option", 0, "WORD", &options.launcher_options, NULL,
     "Pass WORD to the launcher itself; may be given several times"},
    {CK_CLI_FLAG, "dry-run", 0, NULL, &options.is_dry, NULL,
     "Print the command and exit"},
    {CK_CLI_HEADING, "Recording", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_TEXT, "dir", 0, "DIR", &options.dir, NULL,
     "Run directory (default: ck-PROGRAM-START-PID in the working directory)"},
    {CK_CLI_TEXT, "keep", 0, "SIZE|TIME", &options.keep, NULL,
     "Keep only the newest part of the run: SIZE of disk for all ranks "
     "together (2G), or the last TIME of each rank (5min) (default: keep "
     "everything)"},
    {CK_CLI_LIST, "agent-option", 0, "WORD", &options.agent_options, NULL,
     "Pass WORD to ckagent, for example --agent-option=--ranks=0,7; may be "
     "given several times; see ckagent --help"},
    {CK_CLI_FLAG, "strict", 0, NULL, &options.is_strict, NULL,
     "Exit with an error if a rank cannot be recorded, instead of running "
     "the program unrecorded"},
    {CK_CLI_HEADING, "Report", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_CHOICE, "report", 0, NULL, &options.report, "now|later|none",
     "now: wait for the report and print it. later: print where the report "
     "will be (default now)"},
    {CK_CLI_TEXT, "output", 0, "FORMAT[=FILE]", &options.output,
     CK_FORMAT_NAMES,
     "Write the run in this format too: text or json to stdout, html to "
     "DIR/report.html, chrome to DIR/trace.json, perfetto to "
     "DIR/trace.pftrace, "
     "sqlite to DIR/trace.sqlite, folded to DIR/stacks.folded, "
     "folded-waits to DIR/waits.folded, folded-memory to DIR/memory.folded, "
     "folded-device to DIR/device.folded, "
     "speedscope to DIR/stacks.speedscope.json, flamescope to "
     "DIR/stacks.perf, firefox to DIR/stacks.firefox.json, csv=TABLES to a "
     "directory; "
     "with =FILE to that file"},
    {CK_CLI_FLAG, "page", 0, NULL, &options.has_page, NULL,
     "Write the report as an HTML page too, report.html in the run directory "
     "(default; --no-page: do not)"},
    {CK_CLI_TEXT, "http", 0, "HOST:PORT", &options.http, NULL,
     "Serve the HTML page of the running job, and its metrics, at this address "
     "of loopback (127.0.0.1:0: any free port); the address with its token is "
     "printed"},
    {CK_CLI_HEADING, "Aggregator", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_TEXT, "aggregator", 0, "ENDPOINT", &options.aggregator, NULL,
     "Send to this running ckagg: the line that it printed, in single quotes"},
    {CK_CLI_TEXT, "listen", 0, "URL", &options.listen, NULL,
     "Address on which our own ckagg listens when there are several hosts "
     "(default tcp://*:0: all addresses, any free port)"},
    {CK_CLI_FLAG, "insecure", 0, NULL, &options.is_insecure, NULL,
     "Use no keys between the agents and ckagg"},
    {CK_CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
};

static const struct ck_cli cli = {
    .program = "cklaunch",
    .usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
    .summary = "Runs PROGRAM on N ranks under ckagent by mpirun, srun or "
               "torchrun, and prints why the devices were idle.\n"
               "The exit status is that of the launcher. If mpirun would "
               "refuse to start (root, more ranks than cores), cklaunch sets "
               "the variables that allow it, and prints a note.",
    .examples = "cklaunch -n 4 -- ./train --epochs 2\n"
                "cklaunch -n 8 --hosts nodeA,nodeB -- ./train\n"
                "cklaunch -n 2 --launcher torchrun -- python3 train.py\n"
                "cklaunch -n 4 --dir run1 --output json=run1.json -- ./train",
    .options = option_table,
    .stops_at_operand = true,
};

/* The launcher while it runs, for the signal handler. */
static volatile pid_t running;

/* A signal sent to us alone is handed on; one of the terminal has reached the
 * launcher already. */
static void hand_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != SI_KERNEL && running > 0) {
        (void)kill(running, number);
    }
}

static void hand_on_signals(void)
{
    static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,
                                  SIGQUIT, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_sigaction = hand_on,
                               .sa_flags = SA_SIGINFO | SA_RESTART};

    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        (void)sigaction(numbers[i], &action, NULL);
    }
}

/* "a,b:2" -> hosts[]; `text` is cut in place. The count, or -1 with err. */
static int split_hosts(char *text, const char **hosts, struct ck_err *err)
{
    int count = 0;

    for (char *at = strtok(text, ","); at != NULL; at = strtok(NULL, ",")) {
        if (count == HOSTS_MAX) {
            return ck_err_set(err, "--hosts: more than %d", HOSTS_MAX);
        }
        hosts[count++] = at;
    }
    hosts[count] = NULL;
    return count;
}

static void apply_cures(const struct launcher_found *found,
                        const struct launch_plan *plan)
{
    const struct launcher_cure *const *cure =
        launcher_cures(found->launcher, plan);

    for (; *cure != NULL; cure++) {
        const struct launcher_setting *set = (*cure)->setting;

        for (; set->name != NULL; set++) {
            if (getenv(set->name) == NULL) {
                (void)setenv(set->name, set->value, 1);
                ck_info("%s: set %s=%s", (*cure)->reason, set->name,
                        set->value);
            }
        }
    }
}

/* The second half of the command: ckagent, its options, the program. Hosts
 * that share a ckagg need a common name for the job, which not every launcher
 * gives them. */
static int
add_agent(struct argv *words, char **target, bool is_served, struct ck_err *err)
{
    char path[PATH_MAX];

    if (ck_child_find("ckagent", path, err) != 0) {
        return -1;
    }
    argv_add(words, path);
    if (is_served) {
        argv_printf(words, "--job=cklaunch-%lld-%d", (long long)time(NULL),
                    (int)getpid());
    }
    if (options.dir != NULL) {
        argv_printf(words, "--dir=%s", options.dir);
    }
    if (options.report != NULL) {
        argv_printf(words, "--report=%s", options.report);
    }
    if (options.is_insecure) {
        argv_add(words, "--insecure");
    }
    if (options.keep != NULL && !is_served) {
        argv_printf(words, "--keep=%s", options.keep);
    }
    if (options.http != NULL && !is_served) {
        argv_printf(words, "--http=%s", options.http);
    }
    if (!options.has_page && !is_served) {
        argv_add(words, "--no-page");
    }
    if (options.is_strict) {
        argv_add(words, "--strict");
    }
    for (int i = 0; i < options.agent_options.count; i++) {
        argv_add(words, options.agent_options.items[i]);
    }
    argv_add(words, "--");
    for (; *target != NULL; target++) {
        argv_add(words, *target);
    }
    return words->is_short ? ck_err_set(err, "out of memory") : 0;
}

static int start_service(struct ckaggchild *service, struct ck_err *err)
{
    struct argv words = {0};
    char path[PATH_MAX];
    int status = -1;

    if (ck_child_find("ckagg", path, err) != 0) {
        return -1;
    }
    argv_add(&words, path);
    argv_add(&words, "--embedded"); /* one job; --dir is its run */
    argv_printf(&words, "--listen=%s", options.listen);
    if (options.dir != NULL) {
        argv_printf(&words, "--dir=%s", options.dir);
    }
    if (options.is_insecure) {
        argv_add(&words, "--insecure");
    }
    if (options.keep != NULL) {
        argv_printf(&words, "--keep=%s", options.keep);
    }
    if (options.http != NULL) {
        argv_printf(&words, "--http=%s", options.http);
    }
    if (!options.has_page) {
        argv_add(&words, "--no-page");
    }
    if (words.is_short) {
        (void)ck_err_set(err, "out of memory");
    } else {
        status = ckaggchild_start(service, words.items, err);
    }
    argv_fini(&words);
    return status;
}

/* Start a vector and wait for it: its exit code, 128 + its signal, or -1 with
 * err when it could not be started. */
static int run_words(const struct argv *words, struct ck_err *err)
{
    struct ck_child child = {
        .path = words->items[0],
        .argv = words->items,
        .fds = {-2, -2, -2},
    };
    pid_t pid;
    int status = 0;

    if (ck_child_start(&child, &pid, err) != 0) {
        return -1;
    }
    running = pid;
    if (ck_child_wait(pid, -1, &status) != 1) {
        return ck_err_set(err, "cannot wait for %s: %s", words->items[0],
                          strerror(errno));
    }
    running = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ckmerge --output FORMAT DIR, on our stdout. */
static int print_output(const char *dir, struct ck_err *err)
{
    struct argv words = {0};
    char path[PATH_MAX];
    int status;

    if (ck_child_find("ckmerge", path, err) != 0) {
        return -1;
    }
    argv_add(&words, path);
    argv_add(&words, "--quiet");
    if (!options.has_page) {
        argv_add(&words, "--no-page");
    }
    argv_printf(&words, "--output=%s", options.output);
    argv_add(&words, dir);
    status = words.is_short ? ck_err_set(err, "out of memory")
                            : run_words(&words, err);
    argv_fini(&words);
    return status;
}

/* The run gets the program's name: agents know but their launcher's number. */
static void choose_dir(const char *program)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *slash = strrchr(program, '/');
    const char *name = slash != NULL ? slash + 1 : program;
    static char dir[128];
    char start[32];
    time_t now = time(NULL);
    struct tm parts;

    (void)strftime(start, sizeof(start), "%Y%m%dT%H%M%S",
                   gmtime_r(&now, &parts));
    (void)snprintf(dir, sizeof(dir), "ck-%.*s-%s-%d",
                   (int)(strspn(name, plain) < 64 ? strspn(name, plain) : 64),
                   name, start, (int)getpid());
    options.dir = dir;
}

static void say_command(const struct argv *words)
{
    char *line = argv_line(words);

    if (line != NULL) {
        fprintf(stderr, "cklaunch: %s\n", line);
        free(line);
    }
}

/* After the job: --output. The job's own code unless that was 0. */
static int finish_job(int code, struct ck_err *err)
{
    int output;

    if (code < 0 || options.output == NULL) {
        return code;
    }
    if (code != 0 && access(options.dir, F_OK) != 0) {
        ck_warn("nothing was recorded: the launcher ended with status %d and "
                "%s was not made",
                code, options.dir);
        return code;
    }
    output = print_output(options.dir, err);
    return output >= 0 && code != 0 ? code : output;
}

/* With a ckagg of our own around it. */
static int run_served(const struct argv *words, struct ck_err *err)
{
    struct ckaggchild service;
    int code;

    if (start_service(&service, err) != 0) {
        return -1;
    }
    (void)setenv("CKAGENT_AGGREGATOR", service.endpoint, 1);
    ck_info("ckagg stores the run in %s", service.dir);
    if (service.pages != NULL) {
        ck_log_fact("the running job is shown at %s", service.pages);
    } else if (service.nopages != NULL) {
        ck_warn("the running job is not shown: %s", service.nopages);
    }
    code = run_words(words, err);
    if (ckaggchild_stop(&service, service_work_ns, service_stop_ns) == -1) {
        ck_warn("ckagg (pid %d) is still busy with the run: left to it",
                (int)service.pid);
    }
    return code;
}

static int launch(char **target, struct ck_err *err)
{
    static const char *const variables[] = {"CKAGENT_AGGREGATOR", NULL};
    static const char *hosts[HOSTS_MAX + 1];
    struct launch_plan plan = {.count = options.count,
                               .extra = &options.launcher_options,
                               .program = target[0]};
    struct launcher_found found;
    struct argv words = {0};
    char *text = strdup(options.hosts != NULL ? options.hosts : "");
    int code = -1;
    bool is_served;

    if (text == NULL) {
        return ck_err_set(err, "out of memory");
    }
    plan.hosts = hosts;
    plan.host_count = split_hosts(text, hosts, err);
    is_served = plan.host_count > 1 && options.aggregator == NULL;
    if (is_served || options.aggregator != NULL) {
        plan.variables = variables;
    }
    if (options.aggregator != NULL) {
        (void)setenv("CKAGENT_AGGREGATOR", options.aggregator, 1);
    }
    if (plan.host_count >= 0 &&
        launcher_find(options.launcher, &found, err) == 0 &&
        launcher_command(&found, &plan, &words, err) == 0 &&
        add_agent(&words, target, is_served, err) == 0) {
        apply_cures(&found, &plan);
        say_command(&words);
        if (options.is_dry) {
            code = 0;
        } else {
            code = is_served ? run_served(&words, err) : run_words(&words, err);
            code = finish_job(code, err);
        }
    }
    argv_fini(&words);
    free(text);
    return code;
}

/* Each host has a name, and a number of ranks where it has a colon. */
static bool is_hosts(const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        size_t name = strcspn(text, ":,");
        size_t digits =
            name < length ? strspn(text + name + 1, "0123456789") : 0;

        if (name == 0 ||
            (name < length && (digits == 0 || name + 1 + digits != length))) {
            return false;
        }
        if (text[length] == ',' && text[length + 1] == '\0') {
            return false;
        }
        text += length + (text[length] == ',');
    }
    return true;
}

/* The start of a URL that agents and ckagg know; they look at the rest. */
static int check_url(const char *option, const char *text, struct ck_err *err)
{
    if (text == NULL || strncmp(text, "tcp://", 6) == 0 ||
        strncmp(text, "ipc://", 6) == 0) {
        return 0;
    }
    return ck_err_set(err,
                      "option --%s: '%.200s' is no URL: write tcp://HOST:PORT "
                      "or ipc://PATH",
                      option, text);
}

/* What no launcher need be found for. 0, or -1 with err. */
static int check(int argc, struct ck_err *err)
{
    struct ck_keep keep;
    const char *file;

    if (argc == 0) {
        return ck_err_set(err, "which program? (cklaunch -n 4 -- ./train; see "
                               "cklaunch --help)");
    }
    if (options.count < 1 || options.count > 1000000) {
        return ck_err_set(err, "option --np: %lld is not a number of ranks",
                          (long long)options.count);
    }
    if (options.keep != NULL && options.aggregator != NULL) {
        return ck_err_set(err, "--keep is for the ckagg that is started for "
                               "the job; give it to the one that runs");
    }
    if (options.keep != NULL && ck_keep_parse(options.keep, &keep, err) != 0) {
        return -1;
    }
    if (options.http != NULL && options.aggregator != NULL) {
        return ck_err_set(err, "--http is for the ckagg that is started for "
                               "the job; give it to the one that runs");
    }
    if (options.http != NULL && ck_loopback_check(options.http, err) != 0) {
        return -1;
    }
    if (options.hosts != NULL &&
        (options.hosts[0] == '\0' || !is_hosts(options.hosts))) {
        return ck_err_set(err,
                          "--hosts '%.200s': write hosts as a,b or a:2,b:6",
                          options.hosts);
    }
    if (options.output != NULL &&
        ck_format_parse(options.output, &file, err) < 0) {
        return -1;
    }
    return check_url("listen", options.listen, err) != 0
               ? -1
               : check_url("aggregator", options.aggregator, err);
}

int main(int argc, char **argv)
{
    struct ck_err err = {""};
    enum ck_cli_result result;
    int code;

    ck_log_init("cklaunch", -1, CK_LOG_INFO);
    ck_cli_facts(ck_build_facts);
    result = ck_cli_parse(&cli, &argc, &argv, &err);
    if (result == CK_CLI_DONE) {
        return CK_EXIT_DONE;
    }
    if (result == CK_CLI_WRONG || check(argc, &err) != 0) {
        ck_error("%s", err.text);
        return CK_EXIT_MISUSE;
    }
    if (options.dir == NULL) {
        choose_dir(argv[0]);
    }
    hand_on_signals();
    code = launch(argv, &err);
    if (code < 0) {
        ck_error("%s", err.text);
        return CK_EXIT_FAILED;
    }
    return code;
}

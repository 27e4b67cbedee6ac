/* identity.c - who this agent is: rank, job, host, launcher
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One table of launchers; the first row whose rank variable is set wins.
 * Sizes that a row does not give are looked for in the rows below it (srun
 * with PMIx sets PMIX_RANK, but only Slurm's variables have the size).
 *
 * Job key: what the launcher calls the job, where it has a name. On one host
 * the launcher's pid and start time are added (a PMIx namespace may repeat, a
 * MASTER_PORT does so mostly); over several hosts they differ and are left out.
 */
#include "agent/process/identity.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "agent/process/procfile.h"
#include "schema/fnv.h"
#include "schema/ring/ring.h"
#include "schema/store/run.h"
#include "schema/time.h"

#define ANCESTORS_MAX 12
#define TORCH_HASH_BYTES 18 /* "~" and 16 digits */
#define ENVIRON_BYTES                                                          \
    (256 << 10) /* of another process; more is not looked at */

struct launcher_row {
    const char *launcher;
    const char *rank;
    const char *needs; /* variable that must be set too, or NULL */
    const char *size;
    const char *local_rank;
    const char *local_size;
};

static const struct launcher_row launcher_rows[] = {
    {"openmpi", "OMPI_COMM_WORLD_RANK", NULL, "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"pmix", "PMIX_RANK", NULL, NULL, NULL, NULL},
    {"mpich", "PMI_RANK", NULL, "PMI_SIZE", "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS"},
    {"mvapich", "MV2_COMM_WORLD_RANK", NULL, "MV2_COMM_WORLD_SIZE",
     "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"jsrun", "JSM_NAMESPACE_RANK", NULL, "JSM_NAMESPACE_SIZE",
     "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_LOCAL_SIZE"},
    {"pals", "PALS_RANKID", NULL, NULL, "PALS_LOCAL_RANKID", NULL},
    {"alps", "ALPS_APP_PE", NULL, NULL, NULL, NULL},
    {"flux", "FLUX_TASK_RANK", NULL, "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID",
     NULL},
    {"slurm", "SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS",
     "SLURM_LOCALID", NULL},
    {"torchrun", "RANK", "WORLD_SIZE", "WORLD_SIZE", "LOCAL_RANK",
     "LOCAL_WORLD_SIZE"},
    /* An indexed job of Kubernetes: its pods do not know how many they are. */
    {"kubernetes", "JOB_COMPLETION_INDEX", NULL, NULL, NULL, NULL},
};
#define LAUNCHER_ROWS (sizeof(launcher_rows) / sizeof(launcher_rows[0]))

/* Programs that start ranks, as /proc/PID/comm shows them. */
static const char *const launcher_programs[] = {
    "mpirun", "mpiexec",  "orterun",       "prterun",         "prte",
    "orted",  "prted",    "mpiexec.hydra", "hydra_pmi_proxy", "slurmstepd",
    "srun",   "torchrun", "cklaunch",      "jsrun",           "flux-shell",
    "palsd",  "apinit",
};

const char *identity_variable(char *const *env, const char *name)
{
    size_t length = strlen(name);

    for (; env != NULL && *env != NULL; env++) {
        if (strncmp(*env, name, length) == 0 && (*env)[length] == '=') {
            return *env + length + 1;
        }
    }
    return NULL;
}

/* A whole number >= 0 in a variable, or `otherwise`. */
static int variable_number(char *const *env, const char *name, int otherwise)
{
    const char *text = name == NULL ? NULL : identity_variable(env, name);
    char *end;
    long value;

    if (text == NULL || *text < '0' || *text > '9') {
        return otherwise;
    }
    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || value > 1 << 30) {
        return otherwise;
    }
    return (int)value;
}

/* Tasks on node `node` in Slurm's "2(x3),1". 0 = not known. */
static int slurm_tasks(const char *text, int node)
{
    while (text != NULL && *text >= '0' && *text <= '9') {
        char *end;
        long tasks = strtol(text, &end, 10);
        long nodes = 1;

        if (strncmp(end, "(x", 2) == 0) {
            nodes = strtol(end + 2, &end, 10);
            end += *end == ')';
        }
        if (node < nodes) {
            return tasks > 0 && tasks < 1 << 20 ? (int)tasks : 0;
        }
        node -= (int)nodes;
        text = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

static bool row_holds(const struct launcher_row *row, char *const *env)
{
    return variable_number(env, row->rank, -1) >= 0 &&
           (row->needs == NULL || identity_variable(env, row->needs) != NULL);
}

static bool is_torchrun(const struct identity_place *place)
{
    return strcmp(place->launcher, "torchrun") == 0;
}

/* Who meets at an address of this host alone is on this host. */
static bool is_master_here(char *const *env)
{
    const char *master = identity_variable(env, "MASTER_ADDR");

    return master != NULL &&
           (strcmp(master, "localhost") == 0 || strcmp(master, "::1") == 0 ||
            strncmp(master, "127.", 4) == 0);
}

/* Sizes and local ranks of the rows from `at` on, first hit wins. */
static void
place_fill(struct identity_place *place, char *const *env, size_t at)
{
    place->is_ranked = true;
    place->launcher = launcher_rows[at].launcher;
    place->rank = variable_number(env, launcher_rows[at].rank, 0);
    place->size = 0;
    place->local_rank = -1;
    place->local_size = 0;
    for (size_t i = at; i < LAUNCHER_ROWS; i++) {
        const struct launcher_row *row = &launcher_rows[i];

        if (i > at && !row_holds(row, env)) {
            continue;
        }
        if (place->size == 0) {
            place->size = variable_number(env, row->size, 0);
        }
        if (place->local_rank < 0) {
            place->local_rank = variable_number(env, row->local_rank, -1);
        }
        if (place->local_size == 0) {
            place->local_size = variable_number(env, row->local_size, 0);
        }
    }
    if (place->size == 0) {
        place->size = variable_number(env, "SLURM_NTASKS", 0);
    }
    if (place->local_size == 0) {
        place->local_size =
            slurm_tasks(identity_variable(env, "SLURM_STEP_TASKS_PER_NODE"),
                        variable_number(env, "SLURM_NODEID", 0));
    }
    if (place->local_size == 0 &&
        ((is_torchrun(place) && is_master_here(env)) ||
         variable_number(env, "FLUX_JOB_NNODES", 0) == 1)) {
        place->local_size = place->size;
    }
}

void identity_place_read(char *const *env, struct identity_place *place)
{
    for (size_t i = 0; i < LAUNCHER_ROWS; i++) {
        if (row_holds(&launcher_rows[i], env)) {
            place_fill(place, env, i);
            return;
        }
    }
    *place = (struct identity_place){
        .size = 1, .local_rank = 0, .local_size = 1, .launcher = "none"};
}

bool identity_place_differs(char *const *selfstream,
                            char *const *env,
                            struct identity_place *place)
{
    for (size_t i = 0; i < LAUNCHER_ROWS; i++) {
        const struct launcher_row *row = &launcher_rows[i];

        if (row_holds(row, env) &&
            variable_number(env, row->rank, -1) !=
                (row_holds(row, selfstream)
                     ? variable_number(selfstream, row->rank, -1)
                     : -1)) {
            place_fill(place, env, i);
            return true;
        }
    }
    return false;
}

/* Parent and start (clock ticks since boot) of a process. 0 or -1. */
static int process_stat(pid_t pid, pid_t *parent, unsigned long long *start)
{
    int64_t fields[PROCFILE_STAT];
    char text[1024];

    (void)procfile_read(text, sizeof(text), "/proc/%d/stat", (int)pid);
    if (procfile_stat(text, fields) != 0) {
        return -1;
    }
    *parent = (pid_t)fields[4];
    *start = (unsigned long long)fields[22];
    return 0;
}

static bool is_launcher(pid_t pid)
{
    char comm[32];

    (void)procfile_read(comm, sizeof(comm), "/proc/%d/comm", (int)pid);
    comm[strcspn(comm, "\n")] = '\0';
    for (size_t i = 0;
         i < sizeof(launcher_programs) / sizeof(launcher_programs[0]); i++) {
        if (strncmp(comm, launcher_programs[i], 15) == 0) {
            return true;
        }
    }
    return false;
}

static int64_t boot_seconds(void)
{
    char line[256];
    FILE *file = fopen("/proc/stat", "re");
    int64_t seconds = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "btime ", 6) == 0) {
            seconds = strtoll(line + 6, NULL, 10);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return seconds;
}

/* All starts in /proc are shifted by our time namespace, and so differ between
 * namespaces. */
static int64_t namespace_ticks(void)
{
    return ck_time_space("boottime") / (CK_TIME_S / sysconf(_SC_CLK_TCK));
}

/* Is NAME in both with one value, or not in `env`? */
static bool
is_shared(const char *text, size_t bytes, char *const *env, const char *name)
{
    const char *value = name == NULL ? NULL : identity_variable(env, name);
    bool is_there = value == NULL;

    for (size_t at = 0; at < bytes && !is_there; at += strlen(text + at) + 1) {
        is_there = strcmp(text + at, value - strlen(name) - 1) == 0;
    }
    return is_there;
}

/* Was a process started with our place in the job? Then it is a wrapper of
 * our rank, not what started the ranks. */
static bool process_is_ours(pid_t pid, char *const *env)
{
    const struct launcher_row *row = launcher_rows;
    char *text = malloc(ENVIRON_BYTES + 1);
    ssize_t got = 0;
    size_t bytes;
    bool is_ours;

    while (!row_holds(row, env)) {
        row++; /* one does: we have a rank */
    }
    if (text != NULL) {
        got = procfile_read(text, ENVIRON_BYTES + 1, "/proc/%d/environ",
                            (int)pid);
    }
    bytes = got > 0 ? (size_t)got : 0;
    is_ours = is_shared(text, bytes, env, row->rank) &&
              is_shared(text, bytes, env, row->size) &&
              is_shared(text, bytes, env, row->local_rank);
    free(text);
    return is_ours;
}

/* The nearest launcher among our ancestors (a shell may be in between),
 * else the nearest that is not of our rank, else the parent. */
static pid_t ancestor_find(char *const *env)
{
    pid_t pid = getppid();
    pid_t found = pid;
    pid_t parent = 0;
    unsigned long long start;
    bool is_ours = true;

    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (is_launcher(pid)) {
            return pid;
        }
        if (process_stat(pid, &parent, &start) != 0) {
            break;
        }
        is_ours = is_ours && process_is_ours(pid, env);
        if (is_ours && parent > 1) {
            found = parent;
        }
        pid = parent;
    }
    /* Ours up to where we looked: which of them it is, is not known. */
    return is_ours ? getppid() : found;
}

/* Without a launcher it is ourselves, as each start is then a job of its own.
 * Sets its pid and start; returns its start in ticks. */
static unsigned long long launcher_find(struct identity *identity,
                                        char *const *env)
{
    const int64_t tick = CK_TIME_S / sysconf(_SC_CLK_TCK);
    pid_t parent;
    unsigned long long start;

    identity->launcher_pid =
        identity->place.is_ranked ? ancestor_find(env) : getpid();
    start = 0;
    if (process_stat(identity->launcher_pid, &parent, &start) == 0) {
        start -= (unsigned long long)namespace_ticks();
        identity->launcher_boottime = (int64_t)start * tick;
    }
    identity->launcher_start =
        boot_seconds() +
        (int64_t)(start / (unsigned long long)sysconf(_SC_CLK_TCK));
    identity->launcher_realtime =
        ck_time_of(CLOCK_REALTIME) -
        (ck_time_of(CLOCK_BOOTTIME) - ck_time_space("boottime")) +
        (int64_t)start * tick;
    return start;
}

void identity_torch_name(char *name,
                         size_t room,
                         const char *run,
                         const char *host,
                         const char *port)
{
    const char *const words[] = {"torch",
                                 run == NULL ? "" : "-",
                                 run == NULL ? "" : run,
                                 host == NULL ? "" : "-",
                                 host == NULL ? "" : host,
                                 host == NULL ? "" : ".",
                                 host == NULL ? "" : port};
    uint64_t hash = CK_FNV_START;
    size_t used = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t left = used < room ? room - used : 0;

        (void)snprintf(name + room - left, left, "%s", words[i]);
        used += strlen(words[i]);
        hash = ck_fnv_text(hash, words[i]);
    }
    if (used >= room && room > TORCH_HASH_BYTES) {
        (void)snprintf(name + room - TORCH_HASH_BYTES, TORCH_HASH_BYTES,
                       "~%016llx", (unsigned long long)hash);
    }
}

/* By the run's id, which "none" is not, and by where its ranks meet. */
static bool torch_named(char *const *env,
                        const struct identity_place *place,
                        char *name,
                        size_t room)
{
    const char *run = identity_variable(env, "TORCHELASTIC_RUN_ID");
    const char *host = identity_variable(env, "MASTER_ADDR");
    const char *port = identity_variable(env, "MASTER_PORT");
    bool has_run = run != NULL && strcmp(run, "none") != 0;
    /* Under another launcher they need not be this job's. */
    bool has_master = is_torchrun(place) && host != NULL && port != NULL;

    if (has_run || has_master) {
        identity_torch_name(name, room, has_run ? run : NULL,
                            has_master ? host : NULL, port);
    }
    return has_run || has_master;
}

/* What the launcher calls the job, with the launcher's name in front. */
static bool job_named(char *const *env,
                      const struct identity_place *place,
                      char *name,
                      size_t room)
{
    static const struct {
        const char *word;
        const char *variable;
        const char *second;
    } names[] = {
        {"pmix", "PMIX_NAMESPACE", NULL},
        {"slurm", "SLURM_JOB_ID", "SLURM_STEP_ID"},
        {"flux", "FLUX_JOB_ID", NULL},
        {"pals", "PALS_APID", NULL},
        {"alps", "ALPS_APP_ID", NULL},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = identity_variable(env, names[i].variable);
        const char *second = names[i].second == NULL
                                 ? ""
                                 : identity_variable(env, names[i].second);

        if (value != NULL && second != NULL && strcmp(value, "none") != 0) {
            (void)snprintf(name, room, "%s-%.80s%s%.16s", names[i].word, value,
                           *second == '\0' ? "" : ".", second);
            return true;
        }
    }
    return torch_named(env, place, name, room);
}

/* The name that users see: the scheduler's name of the job and of its step.
 * Without a step of its own several launchers may run in one job, so their pid
 * makes the difference. */
static void label_find(struct identity *identity, char *const *env)
{
    static const struct {
        const char *job;
        const char *step; /* NULL: the job is one step */
    } names[] = {
        {"SLURM_JOB_ID", "SLURM_STEP_ID"},
        {"FLUX_JOB_ID", NULL},
        {"PALS_APID", NULL},
        {"ALPS_APP_ID", NULL},
        {"LSB_JOBID", ""},
        {"PBS_JOBID", ""},
    };
    size_t room = sizeof(identity->job);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *job = identity_variable(env, names[i].job);
        const char *step = names[i].step == NULL
                               ? NULL
                               : identity_variable(env, names[i].step);

        if (job != NULL && step != NULL) {
            (void)snprintf(identity->job, room, "%.30s.%.20s", job, step);
            return;
        }
        if (job != NULL && names[i].step == NULL) {
            (void)snprintf(identity->job, room, "%.50s", job);
            return;
        }
        if (job != NULL) {
            (void)snprintf(identity->job, room, "%.40s.%d", job,
                           (int)identity->launcher_pid);
            return;
        }
    }
    (void)snprintf(identity->job, room, "%d", (int)identity->launcher_pid);
}

void identity_key_set(struct identity *identity,
                      const char *word,
                      const char *name)
{
    char key[sizeof(identity->job_key)];
    char text[sizeof(key) + 8];
    struct ck_lines line = ck_lines_in(text, sizeof(text));

    (void)snprintf(key, sizeof(key), "%s%s", word, name);
    ck_lines_put(&line, "key", key);
    (void)ck_lines_get(text, line.used, "key", identity->job_key,
                       sizeof(identity->job_key));
}

static void job_find(struct identity *identity, char *const *env)
{
    unsigned long long start = launcher_find(identity, env);
    char name[120] = "";
    bool is_named = job_named(env, &identity->place, name, sizeof(name));

    if (is_named && !identity_is_one_host(identity)) {
        identity_key_set(identity, "", name);
        identity->is_name_reused = strncmp(name, "torch-", 6) == 0;
    } else {
        char own[sizeof(identity->job_key)];

        (void)snprintf(own, sizeof(own), "%s%d-%llu-%.8s", is_named ? "-" : "",
                       (int)identity->launcher_pid, start,
                       identity->domain.boot_id);
        identity_key_set(identity, name, own);
    }
    label_find(identity, env);
}

/* Names go into paths: letters, digits, dot, dash and underscore stay. */
static void path_word(char *text)
{
    for (; *text != '\0'; text++) {
        bool is_kept = (*text >= '0' && *text <= '9') ||
                       (*text >= 'a' && *text <= 'z') ||
                       (*text >= 'A' && *text <= 'Z') || *text == '-' ||
                       *text == '.' || *text == '_';

        if (!is_kept) {
            *text = '_';
        }
    }
}

/* The name of a host and the addresses of its network adapters, in any order.
 * A clone of a machine has others, or it could not be reached. */
static void machine_find(struct identity *identity)
{
    static const char *const pattern = "/sys/class/net/*/device";
    uint64_t hash = ck_fnv_text(CK_FNV_START, identity->host);
    glob_t found;

    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            char *end = found.gl_pathv[i] + strlen(found.gl_pathv[i]);
            char address[64];
            int folder = (int)(end - found.gl_pathv[i]) - (int)strlen("device");

            if (procfile_read(address, sizeof(address), "%.*saddress", folder,
                              found.gl_pathv[i]) > 0) {
                hash += ck_fnv_text(CK_FNV_START, address);
            }
        }
        globfree(&found);
    }
    (void)snprintf(identity->machine, sizeof(identity->machine), "%016llx",
                   (unsigned long long)hash);
}

int identity_find(struct identity *identity, char *const *env, const char *job)
{
    struct identity found;

    memset(&found, 0, sizeof(found));
    if (getrandom(found.agent, sizeof(found.agent), 0) !=
        (ssize_t)sizeof(found.agent)) {
        return -1;
    }
    identity_place_read(env, &found.place);
    found.uid = (uint32_t)geteuid();
    if (gethostname(found.host, sizeof(found.host) - 1) != 0) {
        strcpy(found.host, "?");
    }
    machine_find(&found);
    (void)ck_domain_read(&found.domain, NULL); /* ckagent.c checked it */
    if (found.domain.boot_id[0] == '\0') {
        identity_estrange(&found);
    }
    job_find(&found, env);
    if (job != NULL) {
        identity_key_set(&found, "job-", job);
        found.is_name_reused = false;
        (void)snprintf(found.job, sizeof(found.job), "%s", job);
    }
    path_word(found.job);
    found.start_raw = ck_time_raw();
    found.start_realtime = ck_time_of(CLOCK_REALTIME);
    *identity = found;
    return 0;
}

void identity_estrange(struct identity *identity)
{
    char *timens = identity->domain.timens;
    size_t used = strlen(timens);

    (void)snprintf(timens + used, sizeof(identity->domain.timens) - used,
                   "/alone-%02x%02x%02x%02x", identity->agent[0],
                   identity->agent[1], identity->agent[2], identity->agent[3]);
}

void identity_command(struct identity *identity, char *const *argv)
{
    size_t used = 0;
    size_t room = sizeof(identity->command);

    for (identity->command[0] = '\0'; *argv != NULL && used < room; argv++) {
        int n = snprintf(identity->command + used, room - used, "%s%s",
                         used > 0 ? " " : "", *argv);

        used += n > 0 ? (size_t)n : 0;
    }
}

struct ck_begin identity_launcher(const struct identity *identity)
{
    struct ck_begin begin = {.realtime = identity->launcher_realtime,
                             .boottime = identity->launcher_boottime};

    memcpy(begin.boot_id, identity->domain.boot_id, sizeof(begin.boot_id));
    return begin;
}

bool identity_is_one_host(const struct identity *identity)
{
    const struct identity_place *place = &identity->place;

    return place->size == 1 ||
           (place->size > 1 && place->local_size == place->size);
}

void identity_lines(const struct identity *identity,
                    pid_t pid,
                    const char *token,
                    struct ck_lines *lines)
{
    const struct identity_place *place = &identity->place;

    ck_lines_put(lines, "version", CK_VERSION);
    ck_lines_put(lines, "job", identity->job);
    ck_lines_put(lines, "job_key", identity->job_key);
    ck_lines_put_number(lines, "rank", place->rank);
    ck_lines_put_number(lines, "size", place->size);
    ck_lines_put_number(lines, "local_rank", place->local_rank);
    ck_lines_put_number(lines, "local_size", place->local_size);
    ck_lines_put(lines, "host", identity->host);
    ck_lines_put(lines, "boot_id", identity->domain.boot_id);
    ck_lines_put(lines, "timens", identity->domain.timens);
    ck_lines_put(lines, "machine", identity->machine);
    ck_lines_put_number(lines, "uid", identity->uid);
    ck_lines_put_number(lines, "pid", pid);
    ck_lines_put_number(lines, "pid_space", (int64_t)ck_ring_pid_space());
    ck_lines_put(lines, "command", identity->command);
    ck_lines_put_number(lines, "start_raw", identity->start_raw);
    ck_lines_put_number(lines, "start_realtime", identity->start_realtime);
    ck_lines_put_number(lines, "launcher_start", identity->launcher_realtime);
    ck_lines_put_number(lines, "launcher_boottime",
                        identity->launcher_boottime);
    ck_lines_put(lines, "launcher", place->launcher);
    if (token != NULL) {
        ck_lines_put(lines, "token", token);
    }
}

int identity_run_name(const struct identity *identity, char *name, size_t room)
{
    time_t start = (time_t)identity->launcher_start;
    struct tm tm;
    char text[32];
    int n;

    (void)gmtime_r(&start, &tm);
    (void)strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
    n = snprintf(name, room, "ck-%s-%s", identity->job, text);
    return n > 0 && (size_t)n < room ? 0 : -1;
}

/* Not FNV's own start: agents of all versions must agree about a job. */
#define HASH_START 1469598103934665603u

uint64_t identity_hash(const struct identity *identity)
{
    uint64_t hash = ck_fnv_text(HASH_START ^ identity->uid, identity->job_key);

    /* FNV's high bits are poor for short texts: one round of mixing. */
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

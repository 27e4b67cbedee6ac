/* launcher.c - the programs that place ranks: how each is asked
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/launcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/child.h"
#include "launch/mpikind.h"

struct launcher {
    const char *name;        /* of --launcher */
    const char *programs[4]; /* in PATH, first found wins */
    const char *count_option;
    const char *hosts_option;    /* NULL: starts ranks here only */
    const char *variable_option; /* NULL: hands the environment on by itself */
    const char *fixed;           /* always given; NULL = nothing */
    const char *package;         /* what to install */
    bool has_slots;              /* host:count is understood */
    bool joins_variables;        /* one list for all variables */
    bool refuses_root;
    bool refuses_more_than_cores;
    bool asks_for_mpi; /* --mpi= names how ranks find each other */
};

static const struct launcher launchers[] = {
    {
        .name = "mpirun",
        .programs = {"mpirun", "orterun"},
        .count_option = "-n",
        .hosts_option = "--host",
        .variable_option = "-x",
        .package = "openmpi-bin",
        .has_slots = true,
        .refuses_root = true,
        .refuses_more_than_cores = true,
    },
    {
        .name = "hydra",
        .programs = {"mpiexec.hydra", "mpirun", "mpiexec"},
        .count_option = "-n",
        .hosts_option = "-hosts",
        .variable_option = "-genvlist",
        .package = "mpich",
        .has_slots = true,
        .joins_variables = true,
    },
    {
        .name = "srun",
        .programs = {"srun"},
        .count_option = "-n",
        .hosts_option = "-w",
        .package = "slurm-client",
        .asks_for_mpi = true,
    },
    {
        .name = "torchrun",
        .programs = {"torchrun"},
        .count_option = "--nproc_per_node",
        .fixed = "--no_python",
        .package = "python3-torch",
    },
};

enum { LAUNCHERS = sizeof(launchers) / sizeof(launchers[0]) };

static bool is_program(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           access(path, X_OK) == 0;
}

static bool find_in_path(const char *name, char path[PATH_MAX])
{
    const char *places = getenv("PATH");

    if (places == NULL) {
        places = "/usr/local/bin:/usr/bin:/bin";
    }
    while (*places != '\0') {
        size_t length = strcspn(places, ":");
        int written = snprintf(path, PATH_MAX, "%.*s/%s", (int)length,
                               length != 0 ? places : ".", name);

        if (written < PATH_MAX && is_program(path)) {
            return true;
        }
        places += length + (places[length] == ':');
    }
    return false;
}

#define ANSWER_BYTES 4096

/* What `path option` prints; "" where it cannot be run. */
static void
answer_read(const char *path, const char *option, char text[ANSWER_BYTES])
{
    char program[PATH_MAX];
    char word[32];
    char *argv[] = {program, word, NULL};
    struct ck_child child = {.path = path, .argv = argv, .fds = {-1, -1, -1}};
    size_t length = 0;
    ssize_t got;
    int ends[2];
    int status;
    pid_t pid;

    text[0] = '\0';
    (void)snprintf(program, sizeof(program), "%s", path);
    (void)snprintf(word, sizeof(word), "%s", option);
    if (pipe(ends) != 0) {
        return;
    }
    child.fds[1] = child.fds[2] = ends[1];
    if (ck_child_start(&child, &pid, NULL) != 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return;
    }
    (void)close(ends[1]);
    while (length < ANSWER_BYTES - 1 &&
           (got = read(ends[0], text + length, ANSWER_BYTES - 1 - length)) >
               0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    (void)close(ends[0]);
    (void)ck_child_wait(pid, -1, &status);
}

/* Does `path --version` name Hydra, MPICH's launcher? Both MPIs install a
 * mpirun. */
static bool is_hydra(const char *path)
{
    char text[ANSWER_BYTES];

    answer_read(path, "--version", text);
    return strstr(text, "HYDRA") != NULL;
}

static bool find_row(const struct launcher *row, struct launcher_found *found)
{
    bool wants_hydra = strcmp(row->name, "hydra") == 0;
    bool may_be_hydra = strcmp(row->name, "mpirun") == 0 || wants_hydra;

    for (int i = 0; i < 4 && row->programs[i] != NULL; i++) {
        if (!find_in_path(row->programs[i], found->path)) {
            continue;
        }
        if (!may_be_hydra || is_hydra(found->path) == wants_hydra) {
            found->launcher = row;
            return true;
        }
    }
    return false;
}

static int
find_named(const char *name, struct launcher_found *found, struct ck_err *err)
{
    for (int i = 0; i < LAUNCHERS; i++) {
        if (strcmp(launchers[i].name, name) != 0) {
            continue;
        }
        if (find_row(&launchers[i], found)) {
            return 0;
        }
        errno = ENOENT;
        return ck_err_set(err,
                          "launcher %s is not in PATH: install it (Debian: "
                          "apt-get install %s) or choose another by "
                          "--launcher",
                          name, launchers[i].package);
    }
    errno = EINVAL;
    return ck_err_set(err, "unknown launcher %s: one of %s", name,
                      LAUNCHER_NAMES);
}

int launcher_find(const char *name,
                  struct launcher_found *found,
                  struct ck_err *err)
{
    if (name != NULL) {
        return find_named(name, found, err);
    }
    if (getenv("SLURM_JOB_ID") != NULL &&
        find_named("srun", found, NULL) == 0) {
        return 0;
    }
    for (int i = 0; i < LAUNCHERS; i++) {
        if (find_row(&launchers[i], found)) {
            return 0;
        }
    }
    errno = ENOENT;
    return ck_err_set(err, "no launcher (mpirun, mpiexec.hydra, srun, "
                           "torchrun) is in PATH: install one (Debian: "
                           "apt-get install openmpi-bin)");
}

/* "a:2,b:2": ranks are dealt out evenly where no count is given. */
static int add_hosts(const struct launcher *launcher,
                     const struct launch_plan *plan,
                     struct argv *words,
                     struct ck_err *err)
{
    long long each = (plan->count + plan->host_count - 1) / plan->host_count;
    char *list = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&list, &length);

    if (out == NULL) {
        return ck_err_set(err, "out of memory");
    }
    for (int i = 0; i < plan->host_count; i++) {
        const char *host = plan->hosts[i];

        fprintf(out, "%s%.*s", i == 0 ? "" : ",", (int)strcspn(host, ":"),
                host);
        if (launcher->has_slots && strchr(host, ':') != NULL) {
            fputs(strchr(host, ':'), out);
        } else if (launcher->has_slots) {
            fprintf(out, ":%lld", each);
        }
    }
    if (fclose(out) != 0) {
        free(list);
        return ck_err_set(err, "out of memory");
    }
    argv_add(words, launcher->hosts_option);
    argv_add(words, list);
    free(list);
    return 0;
}

static void add_variables(const struct launcher *launcher,
                          const char *const *names,
                          struct argv *words)
{
    char list[1024] = "";
    size_t used = 0;

    for (; *names != NULL && used < sizeof(list); names++) {
        if (!launcher->joins_variables) {
            argv_add(words, launcher->variable_option);
            argv_add(words, *names);
            continue;
        }
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
                                 used == 0 ? "" : ",", *names);
    }
    if (used != 0) {
        argv_add(words, launcher->variable_option);
        argv_add(words, list);
    }
}

/* Whether a line of the answer ends with this word. */
static bool has_line(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == text || strchr(" \t\n", at[-1]) != NULL) &&
            strchr("\r\n", at[length]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Do the caller's words, or the environment, set it already? */
static bool is_mpi_named(const struct ck_cli_list *extra)
{
    for (int i = 0; i < extra->count; i++) {
        if (strncmp(extra->items[i], "--mpi", 5) == 0) {
            return true;
        }
    }
    return getenv("SLURM_MPI_TYPE") != NULL;
}

/* --mpi= by which the ranks of this program find each other: Slurm's default
 * may be another, and then each rank is a job of its own. */
static int add_mpi(const struct launcher_found *found,
                   const struct launch_plan *plan,
                   struct argv *words,
                   struct ck_err *err)
{
    static const struct {
        const char *types[2]; /* the better one first */
        const char *name;
        const char *instead;
    } kinds[] = {
        [CK_MPI_OPEN] = {{"pmix", NULL}, "Open MPI", "mpirun"},
        [CK_MPI_MPICH] = {{"pmi2", "pmix"}, "MPICH", "hydra"},
    };
    char path[PATH_MAX];
    char text[ANSWER_BYTES];
    enum mpi_kind kind;

    if (plan->program == NULL || is_mpi_named(plan->extra)) {
        return 0;
    }
    if (strchr(plan->program, '/') != NULL ||
        !find_in_path(plan->program, path)) {
        (void)snprintf(path, sizeof(path), "%s", plan->program);
    }
    kind = mpi_kind_of(path);
    if (kind == CK_MPI_UNKNOWN) {
        return 0;
    }
    answer_read(found->path, "--mpi=list", text);
    for (int i = 0; i < 2 && kinds[kind].types[i] != NULL; i++) {
        if (has_line(text, kinds[kind].types[i])) {
            argv_printf(words, "--mpi=%s", kinds[kind].types[i]);
            return 0;
        }
    }
    errno = ENOENT;
    return ck_err_set(err,
                      "%s is linked with %s, and this srun has no --mpi=%s "
                      "for it (srun --mpi=list): choose --launcher %s, or a "
                      "type by --launcher-option --mpi=TYPE",
                      plan->program, kinds[kind].name, kinds[kind].types[0],
                      kinds[kind].instead);
}

int launcher_command(const struct launcher_found *found,
                     const struct launch_plan *plan,
                     struct argv *words,
                     struct ck_err *err)
{
    const struct launcher *launcher = found->launcher;

    if (plan->host_count != 0 && launcher->hosts_option == NULL) {
        errno = EINVAL;
        return ck_err_set(err,
                          "%s starts ranks on this machine only: leave out "
                          "--hosts, or choose another --launcher",
                          launcher->name);
    }
    argv_add(words, found->path);
    argv_add(words, launcher->count_option);
    argv_printf(words, "%lld", (long long)plan->count);
    if ((plan->host_count != 0 && add_hosts(launcher, plan, words, err) != 0) ||
        (launcher->asks_for_mpi && add_mpi(found, plan, words, err) != 0)) {
        return -1;
    }
    if (plan->variables != NULL && launcher->variable_option != NULL) {
        add_variables(launcher, plan->variables, words);
    }
    for (int i = 0; i < plan->extra->count; i++) {
        argv_add(words, plan->extra->items[i]);
    }
    if (launcher->fixed != NULL) {
        argv_add(words, launcher->fixed);
    }
    if (words->is_short) {
        errno = ENOMEM;
        return ck_err_set(err, "out of memory");
    }
    return 0;
}

/* Physical cores of this machine, as mpirun counts its slots: a core whose
 * lowest thread is this CPU. 0 when /sys does not have it. */
static int64_t count_cores(void)
{
    int64_t cores = 0;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);

    for (long cpu = 0; cpu < cpus; cpu++) {
        char path[128];
        long first;
        FILE *file;

        (void)snprintf(path, sizeof(path),
                       "/sys/devices/system/cpu/cpu%ld/topology/"
                       "thread_siblings_list",
                       cpu);
        file = fopen(path, "re");
        if (file == NULL) {
            continue;
        }
        cores += fscanf(file, "%ld", &first) == 1 && first == cpu;
        (void)fclose(file);
    }
    return cores;
}

const struct launcher_cure *const *
launcher_cures(const struct launcher *launcher, const struct launch_plan *plan)
{
    static const struct launcher_cure root = {
        .reason = "mpirun refuses to run as root",
        .setting = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}},
    };
    static const struct launcher_cure cores = {
        .reason = "mpirun refuses more ranks than cores",
        /* Until Open MPI 4, and from 5 on, whose launcher is PRRTE. */
        .setting = {{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                    {"PRTE_MCA_rmaps_default_mapping_policy",
                     ":oversubscribe"}},
    };
    static const struct launcher_cure *needed[3];
    int count = 0;

    if (launcher->refuses_root && geteuid() == 0) {
        needed[count++] = &root;
    }
    if (launcher->refuses_more_than_cores && plan->host_count == 0 &&
        plan->count > count_cores()) {
        needed[count++] = &cores;
    }
    needed[count] = NULL;
    return needed;
}

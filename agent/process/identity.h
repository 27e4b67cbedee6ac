/* identity.h - who this agent is: rank, job, host, launcher
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read from the environment that launchers set, and from /proc; nothing is
 * asked of the launcher. docs/protocol.md lists the lines that travel.
 */
#ifndef CK_AGENT_PROCESS_IDENTITY_H
#define CK_AGENT_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/clock/domain.h"
#include "schema/store/owner.h"

struct ck_lines;

/* Place of a process in a job, by its variables. */
struct identity_place {
    bool is_ranked;       /* a launcher gave a rank */
    int rank;             /* 0 when nothing is known */
    int size;             /* 0 = not known; 1 alone */
    int local_rank;       /* -1 = not known */
    int local_size;       /* 0 = not known */
    const char *launcher; /* "openmpi", "mpich", ... "none"; static */
};

struct identity {
    struct identity_place place;
    uint8_t agent[16]; /* random id of this agent */
    char job[64];      /* short, for people and for the run directory */
    char job_key[160]; /* equal for all agents of the job on one host (and
                          on all hosts where the launcher names the job) */
    char host[65];
    struct ck_domain domain; /* whose clock is ours */
    char machine[17];        /* hash of the host's name and its network
                                adapters: other machines of one boot id are
                                clones */
    char command[1024];      /* of the target */
    uint32_t uid;
    bool is_name_reused;    /* the key alone does not separate the job from an
                               earlier one at the same address */
    pid_t launcher_pid;     /* nearest launcher above us, else the nearest
                               ancestor that has not our rank, else the
                               parent */
    int64_t launcher_start; /* seconds since 1970 */
    int64_t launcher_realtime; /* the same in ns, as exactly as the kernel
                                  has it (10 ms) and never too late */
    int64_t launcher_boottime; /* the same since the boot, by its machine; 0 =
                                  not known */
    int64_t start_raw;         /* ns */
    int64_t start_realtime;    /* ns */
};

/* Value of a variable in an environment (NULL-terminated), or NULL. */
const char *identity_variable(char *const *env, const char *name);

/* The name of torchrun's job by its id and by where its ranks meet; one of them
 * may be NULL. Where that is too long its end is a hash of all of it. */
void identity_torch_name(char *name,
                         size_t room,
                         const char *run,
                         const char *host,
                         const char *port);

/* The job's key, `word` and `name`, with what a line of a message has in place
 * of control characters: so all who compare keys have the same. */
void identity_key_set(struct identity *identity,
                      const char *word,
                      const char *name);

/* The place that an environment gives. */
void identity_place_read(char *const *env, struct identity_place *place);

/* The place of a process in the target's tree, if its variables name another
 * rank than the agent's own (`torchrun` below one ckagent). True and *place,
 * or false: no rank of its own.
 */
bool identity_place_differs(char *const *selfstream,
                            char *const *env,
                            struct identity_place *place);

/* Fill in everything but the command. `job` overrides the key and the label
 * (NULL: found). 0, or -1 with errno (no random bytes).
 */
int identity_find(struct identity *identity, char *const *env, const char *job);

/* Take the clock for another one than all others of this boot
 * (--clock-shortcut=off): it is probed like a stranger's. */
void identity_estrange(struct identity *identity);

/* The target's command as one line of text. */
void identity_command(struct identity *identity, char *const *argv);

/* When our launcher began. */
struct ck_begin identity_launcher(const struct identity *identity);

/* True when all ranks of the job run on this host, as far as we know. */
bool identity_is_one_host(const struct identity *identity);

/* Append the lines of HELLO and of the IDENTITY record (docs/protocol.md). A
 * token of NULL is left out. */
void identity_lines(const struct identity *identity,
                    pid_t pid,
                    const char *token,
                    struct ck_lines *lines);

/* Default name of the run directory: ck-<job>-<start>. 0 or -1 (no room). */
int identity_run_name(const struct identity *identity, char *name, size_t room);

/* 64-bit hash of uid and job key, for socket and lock names. */
uint64_t identity_hash(const struct identity *identity);

#endif

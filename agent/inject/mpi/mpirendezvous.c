/* mpirendezvous.c - put and get the endpoint by the program's PMIx client
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   idle (nothing to do) | putting -> idle | asking <-> asked -> idle
 *
 * libpmix is only used where MPI has loaded and initialised it. Its structs
 * are written out as PMIx 2 to 5 have them; nothing is linked.
 */
#include "agent/inject/mpi/mpirendezvous.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inject/inject.h"

#define RENDEZVOUS_KEY "ck.endpoint"
/* Longest that PMIx may look for the value, and pause between two tries. */
#define RENDEZVOUS_TIMEOUT_S 1
#define RENDEZVOUS_PAUSE CK_TIME_S
#define RENDEZVOUS_TRIES 60

#define PMIX_SUCCESS 0
#define PMIX_STRING 3
#define PMIX_INT 6
#define PMIX_GLOBAL 3

struct pmix_value {
    uint16_t type;
    union {
        char *string;
        int integer;
        uint64_t words[3]; /* the largest member of the union */
    } data;
};
struct pmix_proc {
    char nspace[256];
    uint32_t rank;
};
struct pmix_info {
    char key[512];
    uint32_t flags;
    struct pmix_value value;
};
_Static_assert(sizeof(struct pmix_value) == 32, "pmix_value_t");
_Static_assert(sizeof(struct pmix_proc) == 260, "pmix_proc_t");
_Static_assert(sizeof(struct pmix_info) == 552, "pmix_info_t");

typedef void (*pmix_value_f)(int status, struct pmix_value *value, void *data);

struct pmix_calls {
    int (*initialized)(void);
    int (*put)(uint8_t scope, const char *key, struct pmix_value *value);
    int (*commit)(void);
    int (*get_nb)(const struct pmix_proc *proc,
                  const char *key,
                  const struct pmix_info *info,
                  size_t info_count,
                  pmix_value_f done,
                  void *data);
};

enum rendezvous_state {
    RENDEZVOUS_IDLE = 0,
    RENDEZVOUS_PUTTING = 1, /* rank 0: until its agent has published */
    RENDEZVOUS_ASKING = 2,  /* others: the next look asks */
    RENDEZVOUS_ASKED = 3,   /* until PMIx answers */
    RENDEZVOUS_BUSY = 4,    /* a thread is at it */
};

static _Atomic int rendezvous_state = RENDEZVOUS_IDLE;
static struct pmix_calls pmix;
/* PMIx reads these until it answers, so they stay. */
static INJECT_ROOM struct pmix_proc asked_proc;
static INJECT_ROOM struct pmix_info asked_info;
static unsigned asked_tries;
static ck_time_t asked_last;

static bool pmix_find(void)
{
    void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
    void *found[4];

    if (library == NULL) {
        return false;
    }
    found[0] = dlsym(library, "PMIx_Initialized");
    found[1] = dlsym(library, "PMIx_Put");
    found[2] = dlsym(library, "PMIx_Commit");
    found[3] = dlsym(library, "PMIx_Get_nb");
    memcpy(&pmix, found, sizeof(pmix));
    (void)dlclose(library); /* MPI's own reference keeps it */
    return pmix.initialized != NULL && pmix.put != NULL &&
           pmix.commit != NULL && pmix.get_nb != NULL &&
           pmix.initialized() != 0;
}

/* May some rank of the world be on another host? Yes where no launcher set a
 * variable: then asking costs a look in PMIx's own store. */
static bool is_spread(int size)
{
    static const char *const locals[] = {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                         "MPI_LOCALNRANKS"};
    const char *nodes = getenv("SLURM_STEP_NUM_NODES");

    for (size_t i = 0; i < sizeof(locals) / sizeof(locals[0]); i++) {
        const char *local = getenv(locals[i]);

        if (local != NULL) {
            return atoi(local) < size;
        }
    }
    return size > 1 && (nodes == NULL || atoi(nodes) != 1);
}

void mpi_rendezvous_start(int rank, int size)
{
    const char *nspace = getenv("PMIX_NAMESPACE");
    int saved = errno;

    if (inject_ring.header != NULL && nspace != NULL && is_spread(size) &&
        pmix_find()) {
        (void)snprintf(asked_proc.nspace, sizeof(asked_proc.nspace), "%s",
                       nspace);
        (void)snprintf(asked_info.key, sizeof(asked_info.key), "pmix.timeout");
        asked_info.value.type = PMIX_INT;
        asked_info.value.data.integer = RENDEZVOUS_TIMEOUT_S;
        atomic_store(&rendezvous_state,
                     rank == 0 ? RENDEZVOUS_PUTTING : RENDEZVOUS_ASKING);
        mpi_rendezvous_look();
    }
    errno = saved;
}

static int endpoint_put(struct ck_ring_header *header)
{
    static INJECT_ROOM char text[CK_RING_ENDPOINT_BYTES];
    struct pmix_value value = {.type = PMIX_STRING};

    /* acquire: pairs with the agent's release after the text */
    if (!atomic_load_explicit(&header->is_published, memory_order_acquire)) {
        return RENDEZVOUS_PUTTING;
    }
    memcpy(text, header->publish, sizeof(text) - 1);
    value.data.string = text;
    if (pmix.put(PMIX_GLOBAL, RENDEZVOUS_KEY, &value) == PMIX_SUCCESS) {
        (void)pmix.commit();
    }
    return RENDEZVOUS_IDLE;
}

/* Runs in PMIx's own thread. */
static void endpoint_arrived(int status, struct pmix_value *value, void *data)
{
    struct ck_ring_header *header = data;

    if (status != PMIX_SUCCESS || value == NULL || value->type != PMIX_STRING ||
        value->data.string == NULL) {
        atomic_store(&rendezvous_state, RENDEZVOUS_ASKING);
        return;
    }
    (void)snprintf(header->found, sizeof(header->found), "%s",
                   value->data.string);
    /* release: pairs with the acquire in the agent */
    atomic_store_explicit(&header->is_found, 1, memory_order_release);
    atomic_store(&rendezvous_state, RENDEZVOUS_IDLE);
}

static void endpoint_ask(struct ck_ring_header *header)
{
    ck_time_t now = ck_time_raw();

    if (asked_tries > 0 && now - asked_last < RENDEZVOUS_PAUSE) {
        atomic_store(&rendezvous_state, RENDEZVOUS_ASKING);
        return;
    }
    if (asked_tries++ >= RENDEZVOUS_TRIES) {
        atomic_store(&rendezvous_state, RENDEZVOUS_IDLE);
        return;
    }
    asked_last = now;
    /* before the call: the answer may come before it returns */
    atomic_store(&rendezvous_state, RENDEZVOUS_ASKED);
    if (pmix.get_nb(&asked_proc, RENDEZVOUS_KEY, &asked_info, 1,
                    endpoint_arrived, header) != PMIX_SUCCESS) {
        atomic_store(&rendezvous_state, RENDEZVOUS_ASKING);
    }
}

void mpi_rendezvous_look(void)
{
    int state = atomic_load(&rendezvous_state);
    int saved = errno;

    if ((state != RENDEZVOUS_PUTTING && state != RENDEZVOUS_ASKING) ||
        !atomic_compare_exchange_strong(&rendezvous_state, &state,
                                        RENDEZVOUS_BUSY)) {
        return;
    }
    if (state == RENDEZVOUS_PUTTING) {
        atomic_store(&rendezvous_state, endpoint_put(inject_ring.header));
    } else {
        endpoint_ask(inject_ring.header);
    }
    errno = saved;
}

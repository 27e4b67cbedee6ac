/* torchrun.c - what a torchrun that is to be started is given of its hosts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/torchrun.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT "29500"

/* Options that matter here; a dash and an underscore are the same. */
enum option {
    OPTION_NODES,
    OPTION_NODE,
    OPTION_ADDRESS,
    OPTION_PORT,
    OPTION_BACKEND,
    OPTION_ENDPOINT,
    OPTION_ID,
    OPTIONS,
};

static const struct {
    const char *name;
    const char *variable;
    const char *otherwise;
} options[OPTIONS] = {
    [OPTION_NODES] = {"nnodes", "PET_NNODES", "1"},
    [OPTION_NODE] = {"node_rank", "PET_NODE_RANK", "0"},
    [OPTION_ADDRESS] = {"master_addr", "PET_MASTER_ADDR", ""},
    [OPTION_PORT] = {"master_port", "PET_MASTER_PORT", DEFAULT_PORT},
    [OPTION_BACKEND] = {"rdzv_backend", "PET_RDZV_BACKEND", "static"},
    [OPTION_ENDPOINT] = {"rdzv_endpoint", "PET_RDZV_ENDPOINT", ""},
    [OPTION_ID] = {"rdzv_id", "PET_RDZV_ID", "none"},
};

/* Options without a value. */
static const char *const flags[] = {"standalone", "module",  "no_python",
                                    "run_path",   "use_env", "help"};

/* Length of the option's name where the word begins with it, else 0. */
static size_t option_length(const char *word, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < length; i++) {
        if (word[i] != name[i] && !(word[i] == '-' && name[i] == '_')) {
            return 0;
        }
    }
    return word[length] == '\0' || word[length] == '=' ? length : 0;
}

static bool is_flag(const char *name)
{
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (option_length(name, flags[i]) > 0) {
            return true;
        }
    }
    return false;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* The first of torchrun's own words; NULL: the program is another one. */
static char *const *words_find(char *const *argv)
{
    const char *program = argv[0] == NULL ? "" : base_name(argv[0]);

    if (strcmp(program, "torchrun") == 0) {
        return argv + 1;
    }
    if (strncmp(program, "python", 6) != 0) {
        return NULL;
    }
    for (argv++; *argv != NULL && (*argv)[0] == '-'; argv++) {
        if (strcmp(*argv, "-m") == 0) {
            return argv[1] != NULL &&
                           (strcmp(argv[1], "torch.distributed.run") == 0 ||
                            strcmp(argv[1], "torch.distributed.launch") == 0)
                       ? argv + 2
                       : NULL;
        }
    }
    return *argv != NULL && strcmp(base_name(*argv), "torchrun") == 0 ? argv + 1
                                                                      : NULL;
}

/* Take one option and its value. The word behind it. */
static char *const *word_take(char *const *at, const char *values[OPTIONS])
{
    const char *name = *at + 2;
    const char *value = strchr(name, '=');
    char *const *next = at + 1;

    if (value != NULL) {
        value++;
    } else if (!is_flag(name) && *next != NULL) {
        value = *next++;
    }
    for (int i = 0; i < OPTIONS && value != NULL; i++) {
        if (option_length(name, options[i].name) > 0) {
            values[i] = value;
        }
    }
    return next;
}

/* All values. False: it is to be one host in any case. */
static bool
values_read(char *const *words, char *const *env, const char *values[OPTIONS])
{
    for (int i = 0; i < OPTIONS; i++) {
        values[i] = identity_variable(env, options[i].variable);
        if (values[i] == NULL) {
            values[i] = options[i].otherwise;
        }
    }
    while (*words != NULL && (*words)[0] == '-') {
        if ((*words)[1] != '-') { /* -r and -t have a value, -m has none */
            bool has_value = (*words)[1] != 'm' && (*words)[2] == '\0';

            words += has_value && words[1] != NULL ? 2 : 1;
        } else if (option_length(*words + 2, "standalone") > 0) {
            return false;
        } else {
            words = word_take(words, values);
        }
    }
    return true;
}

/* A number that is all of the text, else -1. */
static int number(const char *text, int most)
{
    char *end;
    long value = strtol(text, &end, 10);

    return text[0] < '0' || text[0] > '9' || *end != '\0' || value > most
               ? -1
               : (int)value;
}

static bool is_same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a == NULL || a->sa_family != b->sa_family) {
        return false;
    }
    if (a->sa_family == AF_INET) {
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    }
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

/* Is that one of this host's own addresses? torchrun asks for the same name in
 * a moment. 1, 0, or -1: the name has no address. */
static int is_here(const char *host)
{
    struct addrinfo *found = NULL;
    struct ifaddrs *own = NULL;
    int rc = 0;

    if (getaddrinfo(host, NULL, NULL, &found) != 0) {
        return -1;
    }
    if (getifaddrs(&own) != 0) {
        own = NULL;
    }
    for (struct addrinfo *one = found; one != NULL; one = one->ai_next) {
        for (struct ifaddrs *mine = own; mine != NULL; mine = mine->ifa_next) {
            rc |= is_same_address(mine->ifa_addr, one->ai_addr);
        }
    }
    freeifaddrs(own);
    freeaddrinfo(found);
    return rc;
}

/* Host and port where the hosts meet; "" = it is not known. */
static void meeting_find(const char *const values[OPTIONS],
                         bool is_static,
                         char *host,
                         size_t room,
                         const char **port)
{
    const char *colon = strrchr(values[OPTION_ENDPOINT], ':');

    *port = values[OPTION_PORT];
    (void)snprintf(host, room, "%s",
                   is_static ? values[OPTION_ADDRESS]
                             : values[OPTION_ENDPOINT]);
    if (!is_static && colon != NULL) {
        size_t length = (size_t)(colon - values[OPTION_ENDPOINT]);

        *port = colon + 1;
        host[length < room ? length : room - 1] = '\0';
    }
}

bool torchrun_read(char *const *argv,
                   char *const *env,
                   struct torchrun_node *node)
{
    char *const *words = words_find(argv);
    const char *values[OPTIONS];
    const char *port;
    char host[256];
    bool is_static;
    int here;

    if (words == NULL || !values_read(words, env, values)) {
        return false;
    }
    is_static = strcmp(values[OPTION_BACKEND], "static") == 0;
    if (!is_static && strcmp(values[OPTION_BACKEND], "c10d") != 0) {
        return false;
    }
    meeting_find(values, is_static, host, sizeof(host), &port);
    node->nodes = number(values[OPTION_NODES], TORCHRUN_NODES_MAX);
    if (node->nodes < 2 || host[0] == '\0') {
        return false;
    }
    node->node = number(values[OPTION_NODE], TORCHRUN_NODES_MAX);
    if (!is_static) {
        here = is_here(host);
        if (here < 0) {
            return false;
        }
        node->node = here > 0 ? 0 : -1;
    }
    identity_torch_name(
        node->name, sizeof(node->name),
        strcmp(values[OPTION_ID], "none") == 0 ? NULL : values[OPTION_ID], host,
        port);
    return !is_static || node->node >= 0;
}

/* Of hosts that are not numbered two have 0 and 1, more 0 and any others. */
static int node_number(const struct torchrun_node *node, const uint8_t *any)
{
    if (node->node >= 0) {
        return node->node;
    }
    return node->nodes == 2 ? 1 : 1 + (any[0] | any[1] << 8);
}

void torchrun_spread(struct identity *identity,
                     const struct torchrun_node *node,
                     bool has_name)
{
    identity->place = (struct identity_place){
        .rank = node_number(node, identity->agent),
        .size = node->nodes,
        .local_rank = 0,
        .local_size = 1,
        .launcher = "torchrun",
    };
    if (!has_name) {
        identity_key_set(identity, "", node->name);
        identity->is_name_reused = true;
    }
}

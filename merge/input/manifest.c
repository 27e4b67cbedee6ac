/* manifest.c - what ckagg wrote of a run into manifest.json
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/json/jsonread.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/store/run.h"

static int64_t file_read(void *state, void *to, size_t room)
{
    const int *fd = state;
    ssize_t n;

    do {
        n = read(*fd, to, room);
    } while (n < 0 && errno == EINTR);
    return n;
}

static void why_set(struct manifest *manifest, const char *why)
{
    if (manifest->why[0] == '\0') {
        (void)snprintf(manifest->why, sizeof(manifest->why), "%s", why);
    }
}

/* The value of a member that must be an integer. */
static bool
number_read(struct json *json, struct manifest *manifest, int64_t *value)
{
    const struct json_token *token = json_next(json);

    if (token->type == JSON_NUMBER && json_int(token, value)) {
        return true;
    }
    if (token->type != JSON_ERROR) {
        why_set(manifest, "a count in it is no number");
    }
    return false;
}

/* A count: not below 0. */
static bool
count_read(struct json *json, struct manifest *manifest, uint64_t *value)
{
    int64_t number;

    if (!number_read(json, manifest, &number)) {
        return false;
    }
    if (number < 0) {
        why_set(manifest, "a count in it is below 0");
        return false;
    }
    *value = (uint64_t)number;
    return true;
}

static bool id_read(struct json *json, struct manifest *manifest, uint8_t *id)
{
    const struct json_token *token = json_next(json);
    char hex[CK_AGENT_HEX];

    if (token->type == JSON_STRING && token->length == sizeof(hex) - 1) {
        memcpy(hex, token->text, sizeof(hex) - 1);
        hex[sizeof(hex) - 1] = '\0';
        if (ck_run_agent_parse(hex, id) == 0) {
            return true;
        }
    }
    why_set(manifest, "an agent in it has no id");
    return false;
}

/* A text, taken. */
static bool text_take(struct json *json, struct manifest *manifest, char **text)
{
    const struct json_token *token = json_next(json);

    if (token->type != JSON_STRING || token->length >= PATH_MAX) {
        why_set(manifest, "a name in it is no text");
        return false;
    }
    free(*text);
    *text = xstrndup(token->text, token->length);
    return *text != NULL;
}

/* A member of an agent whose name was the last token. */
static bool agent_member(struct json *json,
                         struct manifest *manifest,
                         struct manifest_agent *agent)
{
    const struct json_token *name = json_last(json);
    int64_t rank;

    if (json_is(name, "agent")) {
        return id_read(json, manifest, agent->id);
    }
    if (json_is(name, "rank")) {
        if (!number_read(json, manifest, &rank)) {
            return false;
        }
        agent->rank = rank >= 0 && rank <= INT32_MAX ? (int32_t)rank : -1;
        return true;
    }
    if (json_is(name, "records")) {
        return count_read(json, manifest, &agent->records);
    }
    if (json_is(name, "missing_units")) {
        return count_read(json, manifest, &agent->missing_units);
    }
    if (json_is(name, "state")) {
        agent->is_left = json_is(json_next(json), "left");
        return json_last(json)->type == JSON_STRING;
    }
    if (json_is(name, "made_records")) {
        agent->has_made = true;
        return count_read(json, manifest, &agent->made);
    }
    if (json_is(name, "lost")) {
        return count_read(json, manifest, &agent->lost);
    }
    if (json_is(name, "host")) {
        return text_take(json, manifest, &agent->host);
    }
    if (json_is(name, "spool")) {
        return text_take(json, manifest, &agent->spool);
    }
    return json_skip(json);
}

static void agents_free(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->agents_count; i++) {
        free(manifest->agents[i].host);
        free(manifest->agents[i].spool);
    }
    free(manifest->agents);
    manifest->agents = NULL;
    manifest->agents_count = manifest->agents_room = 0;
}

/* The array of agents. 1 = it is whole, 0 = not. */
static int agents_read(struct json *json, struct manifest *manifest)
{
    if (json_next(json)->type != JSON_ARRAY) {
        why_set(manifest, "its agents are no list");
        return 0;
    }
    while (json_next(json)->type == JSON_OBJECT) {
        struct manifest_agent *agent;

        if (manifest->agents_count == MANIFEST_AGENTS_MAX) {
            why_set(manifest, "it has too many agents");
            return 0;
        }
        array_grow(&manifest->agents, &manifest->agents_room,
                   manifest->agents_count, sizeof(*agent));
        agent = &manifest->agents[manifest->agents_count++];
        *agent = (struct manifest_agent){.rank = -1};
        while (json_next(json)->type == JSON_NAME) {
            if (!agent_member(json, manifest, agent)) {
                return 0;
            }
        }
        if (json_last(json)->type != JSON_OBJECT_END) {
            return 0;
        }
    }
    return json_last(json)->type == JSON_ARRAY_END;
}

/* What became of clock probes. As agents_read(). */
static int probes_read(struct json *json, struct manifest *manifest)
{
    struct manifest_probes *probes = &manifest->probes;
    const struct {
        const char *name;
        uint64_t *value;
    } members[] = {{"answered", &probes->answered},
                   {"malformed", &probes->malformed},
                   {"foreign", &probes->foreign},
                   {"untagged", &probes->untagged},
                   {"replayed", &probes->replayed}};
    const size_t count = sizeof(members) / sizeof(members[0]);

    if (json_next(json)->type != JSON_OBJECT) {
        why_set(manifest, "its clock probes are no object");
        return 0;
    }
    while (json_next(json)->type == JSON_NAME) {
        const struct json_token *name = json_last(json);
        size_t i = 0;

        while (i < count && !json_is(name, members[i].name)) {
            i++;
        }
        if (!(i < count ? count_read(json, manifest, members[i].value)
                        : json_skip(json))) {
            return 0;
        }
    }
    probes->is_said = json_last(json)->type == JSON_OBJECT_END;
    return probes->is_said;
}

static bool version_read(struct json *json, struct manifest *manifest)
{
    int64_t version;

    if (!number_read(json, manifest, &version)) {
        return false;
    }
    if (version != CK_RUN_VERSION) {
        (void)snprintf(manifest->why, sizeof(manifest->why),
                       "it is of version %lld, this ckmerge knows %d",
                       (long long)version, CK_RUN_VERSION);
        return false;
    }
    return true;
}

static bool state_read(struct json *json, struct manifest *manifest)
{
    const struct json_token *token = json_next(json);

    if (token->type != JSON_STRING) {
        why_set(manifest, "its state is no text");
        return false;
    }
    manifest->is_final = json_is(token, "ended") || json_is(token, "merge") ||
                         json_is(token, "done");
    return true;
}

/* A member of the manifest whose name was the last token. As agents_read(). */
static int member_read(struct json *json, struct manifest *manifest)
{
    const struct json_token *name = json_last(json);

    if (json_is(name, "version")) {
        return version_read(json, manifest);
    }
    if (json_is(name, "state")) {
        return state_read(json, manifest);
    }
    if (json_is(name, "clock_probes")) {
        return probes_read(json, manifest);
    }
    return json_is(name, "agents") ? agents_read(json, manifest)
                                   : json_skip(json);
}

/* 1 = the whole text was read, 0 = not. */
static int text_read(struct json *json, struct manifest *manifest)
{
    bool has_version = false;
    bool has_agents = false;
    int rc = 1;

    if (json_next(json)->type != JSON_OBJECT) {
        why_set(manifest, "it is no manifest");
        return 0;
    }
    while (rc == 1 && json_next(json)->type == JSON_NAME) {
        has_version |= json_is(json_last(json), "version");
        has_agents |= json_is(json_last(json), "agents");
        rc = member_read(json, manifest);
    }
    if (rc != 1) {
        return rc;
    }
    if (!has_version || !has_agents) {
        why_set(manifest, "it lacks its version and its agents");
        return 0;
    }
    return json_last(json)->type == JSON_OBJECT_END &&
           json_next(json)->type == JSON_END;
}

/* A regular file: a pipe of that name must not keep us. */
static int manifest_open(struct manifest *manifest, const char *dir)
{
    char path[PATH_MAX];
    struct stat status;
    int fd;

    if (snprintf(path, sizeof(path), "%s/" CK_RUN_MANIFEST, dir) >= PATH_MAX) {
        why_set(manifest, strerror(ENAMETOOLONG));
        return -1;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    manifest->is_there = fd >= 0 || errno != ENOENT;
    if (fd < 0) {
        why_set(manifest, errno == ENOENT ? "it is missing" : strerror(errno));
        return -1;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size == 0) {
        why_set(manifest, "it is empty, or no file");
        (void)close(fd);
        return -1;
    }
    return fd;
}

void manifest_read(struct manifest *manifest, const char *dir)
{
    struct json *json;
    int fd, rc;

    memset(manifest, 0, sizeof(*manifest));
    fd = manifest_open(manifest, dir);
    if (fd < 0) {
        return;
    }
    json = json_create(file_read, &fd);
    rc = text_read(json, manifest);
    manifest->is_read = rc == 1;
    if (rc == 0 && json_error(json)[0] != '\0') {
        (void)snprintf(manifest->why, sizeof(manifest->why), "%s",
                       json_error(json));
    } else if (rc == 0) {
        why_set(manifest, "it is damaged");
    }
    json_destroy(json);
    (void)close(fd);
    if (rc != 1) {
        agents_free(manifest);
        manifest->is_final = false;
        manifest->probes.is_said = false;
    }
}

void manifest_fini(struct manifest *manifest)
{
    agents_free(manifest);
    memset(manifest, 0, sizeof(*manifest));
}

/* json.c - how fast profiles are read: ck's reader, and yajl on the same file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * bench_json FILE: adds up "ts" and "dur" and the bytes of names of the events
 * of a Chrome trace, the same way with each reader; prints MB/s and the sums,
 * which must agree.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "merge/json/jsonread.h"
#include "merge/profiles/gzip.h"
#include "tests/bench/jsonpeer.h"

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Sum up the members of one event. */
static void event_sum(struct json *json, struct json_sums *sums)
{
    const struct json_token *token;
    int64_t value;

    sums->events++;
    while ((token = json_next(json))->type == JSON_NAME) {
        if (json_is(token, "ts") || json_is(token, "dur")) {
            if (json_decimal(json_next(json), 3, &value)) {
                sums->time += value;
            }
        } else if (json_is(token, "name")) {
            sums->bytes += json_next(json)->length;
        } else {
            (void)json_skip(json);
        }
    }
}

static int own_read(const char *path, struct json_sums *sums)
{
    struct ck_err err;
    struct gzip *gzip = gzip_open(path, &err);
    struct json *json = gzip == NULL ? NULL : json_create(gzip_read, gzip);
    const struct json_token *token;

    if (json == NULL) {
        return -1;
    }
    token = json_next(json);
    if (token->type == JSON_OBJECT) {
        while ((token = json_next(json))->type == JSON_NAME &&
               !json_is(token, "traceEvents")) {
            (void)json_skip(json);
        }
        token = json_next(json);
    }
    while ((token = json_next(json))->type == JSON_OBJECT) {
        event_sum(json, sums);
    }
    while ((token = json_next(json))->type > JSON_END) {
    }
    if (token->type == JSON_ERROR) {
        (void)fprintf(stderr, "%s: %s\n", path, json_error(json));
    }
    json_destroy(json);
    gzip_close(gzip);
    return 0;
}

static void
show(const char *who, double seconds, double bytes, const struct json_sums *s)
{
    (void)printf("%-6s %8.0f MB/s %7.1f ns/event  events %" PRIu64
                 " time %" PRId64 " names %" PRIu64 "\n",
                 who, bytes / seconds / 1e6,
                 seconds * 1e9 / (double)(s->events > 0 ? s->events : 1),
                 s->events, s->time, s->bytes);
}

int main(int argc, char **argv)
{
    struct json_sums selfstream = {0}, peer = {0};
    struct rusage usage;
    struct stat stat_of;
    double start;

    if (argc != 2 || stat(argv[1], &stat_of) != 0) {
        (void)fprintf(stderr, "bench_json FILE\n");
        return 2;
    }
    start = now();
    if (own_read(argv[1], &selfstream) != 0) {
        return 1;
    }
    show("ck", now() - start, (double)stat_of.st_size, &selfstream);
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("ck     peak %ld KiB\n", usage.ru_maxrss);
    start = now();
    if (json_peer(argv[1], &peer) == 0) {
        show("yajl", now() - start, (double)stat_of.st_size, &peer);
        return memcmp(&selfstream, &peer, sizeof(selfstream)) != 0;
    }
    return 0;
}

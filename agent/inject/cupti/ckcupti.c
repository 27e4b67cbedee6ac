/* ckcupti.c - device events of CUDA programs through CUPTI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The driver loads this library in cuInit (CUDA_INJECTION64_PATH) and calls
 * InitializeInjection(), where only CUPTI may be called. One session for the
 * life of the process; hooks stay in at exit. If any of it fails, the program
 * runs on and the report gives the reason why there are no device events.
 */
#include "agent/inject/cupti/cuptiapi.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "agent/inject/cupti/cuptibuffer.h"
#include "agent/inject/cupti/cupticall.h"
#include "agent/inject/cupti/cupticlock.h"
#include "agent/inject/cupti/cuptiflush.h"
#include "agent/inject/cupti/cuptilink.h"
#include "agent/inject/cupti/cuptilost.h"
#include "agent/inject/cupti/cuptirecord.h"
#include "agent/inject/cupti/cuptishare.h"
#include "agent/inject/cupti/cuptitaken.h"
#include "agent/inject/inject.h"

/* Between two tries to have CUPTI while another client holds it. */
#define RETRY_S 1

#define EXPORT __attribute__((visibility("default")))

/* CKAGENT_CUPTI, words separated by commas. */
struct cupti_options {
    bool is_off;
    bool is_yielding;
    bool is_sharing; /* one of several subscribers, where that is possible */
    bool has_graph_trace;
    bool is_by_driver; /* without CUPTI */
};

static _Atomic int is_initialised;

static void note(const char *text)
{
    (void)inject_say(CK_KIND_NOTE, 0, 0, 0, text);
}

static void note_failure(const char *what, int result)
{
    char text[320];

    (void)snprintf(text, sizeof(text), "no device events: %s: %s (%d)%s", what,
                   cupti_api_error(result), result,
                   result == CUPTI_NO_DRIVER && cupti_api_is_stub()
                       ? "; the process uses a stub libcuda (see "
                         "LD_LIBRARY_PATH)"
                       : "");
    note(text);
}

static void option_set(struct cupti_options *options, const char *word)
{
    char text[160];

    if (strcmp(word, "off") == 0) {
        options->is_off = true;
    } else if (strcmp(word, "import") == 0) {
        options->is_off = true;
        note("CKAGENT_CUPTI=import: give the device profile to ckmerge");
    } else if (strcmp(word, "driver") == 0) {
        options->is_by_driver = true;
        note("no device events: CKAGENT_CUPTI=driver");
    } else if (strcmp(word, "yield") == 0) {
        options->is_yielding = true;
    } else if (strcmp(word, "share") == 0) {
        options->is_sharing = true;
    } else if (strcmp(word, "graph-trace") == 0) {
        options->has_graph_trace = true;
    } else if (strcmp(word, "own") != 0) {
        (void)snprintf(text, sizeof(text),
                       "CKAGENT_CUPTI: unknown word \"%.64s\" is ignored (own, "
                       "yield, share, import, driver, off, graph-trace)",
                       word);
        note(text);
    }
}

static struct cupti_options options_read(void)
{
    struct cupti_options options = {0};
    const char *text = getenv("CKAGENT_CUPTI");
    char words[256];
    char *rest = words;
    char *word;

    (void)snprintf(words, sizeof(words), "%s", text == NULL ? "" : text);
    while ((word = strsep(&rest, ",")) != NULL) {
        if (word[0] != '\0') {
            option_set(&options, word);
        }
    }
    return options;
}

/* Runs on any thread of the program. */
static void told(void *unused, uint32_t domain, uint32_t id, const void *data)
{
    (void)unused;
    if (!flush_is_on()) {
        return;
    }
    if (domain == CUPTI_DOMAIN_RUNTIME || domain == CUPTI_DOMAIN_DRIVER) {
        flush_hear();
        call_observed(domain, id, data, __builtin_return_address(0));
    } else if (domain == CUPTI_DOMAIN_STATE) {
        flush_stop("CUPTI reported a fatal error and ended itself: device "
                   "events end here");
        lost_tell(CK_LOST_DEVICE, 1, ck_time_raw(), ck_time_raw());
    }
}

/* A CUPTI result; a failure is reported once. A copy that the driver refuses
 * does not end the search: there may be another. */
static int subscribe(bool is_sharing, void **subscriber)
{
    static bool is_said;
    char name[] = "ck";
    char old[128] = "";
    struct cupti_subscription about = {
        .size = is_sharing ? sizeof(about)
                           : offsetof(struct cupti_subscription, is_sharing),
        .name = name,
        .old = old,
        .old_size = sizeof(old),
        .is_sharing = is_sharing,
    };
    char what[256] = "cuptiSubscribe";
    char unused[320];
    int result;

    /* Where several may subscribe, the call belongs to a second set of
     * functions that must not be mixed with the first. */
    do {
        result =
            cupti_api.cuptiSubscribe_v2 != NULL &&
                    (is_sharing || cupti_api.version < CUPTI_SINCE_SUBSCRIBERS)
                ? cupti_api.cuptiSubscribe_v2(subscriber, told, NULL, &about)
                : cupti_api.cuptiSubscribe(subscriber, told, NULL);
    } while (result != CUPTI_OK && result != CUPTI_HELD &&
             cupti_api_open_next(unused, sizeof(unused)) == 0);
    if (result == CUPTI_HELD) {
        old[sizeof(old) - 1] = '\0';
        (void)snprintf(what, sizeof(what), "CUPTI is held by \"%s\"", old);
    }
    if (result != CUPTI_OK && !is_said) {
        is_said = true;
        note_failure(what, result);
    }
    return result;
}

/* By the options, which are set to what it became. */
static int client_start(struct cupti_options *options, void **subscriber)
{
    int result;

    if (options->is_sharing && !share_is_possible()) {
        options->is_sharing = false;
        note("CKAGENT_CUPTI=share: this CUPTI has one subscriber, which is ck "
             "(several from CUDA 13.3 and driver 610 on)");
    }
    result = subscribe(options->is_sharing, subscriber);
    if (result == CUPTI_OK && options->is_sharing) {
        share_begin(*subscriber);
    } else if (result != CUPTI_OK && result != CUPTI_HELD &&
               options->is_sharing) {
        options->is_sharing = false;
        result = subscribe(false, subscriber);
    }
    return result;
}

/* Buffers, clock and kinds; the clock before the first kind. 0 or -1. */
static int activity_start(const struct cupti_options *options)
{
    int result = clock_start();
    unsigned enabled = 0;

    if (result == CUPTI_OK) {
        result = cupti_api.cuptiActivityRegisterCallbacks(buffer_requested,
                                                          buffer_completed);
    }
    if (result != CUPTI_OK) {
        note_failure("registering with CUPTI", result);
        return -1;
    }
    for (size_t i = 0; i < record_kinds_count; i++) {
        int rc = cupti_api.cuptiActivityEnable(record_kinds[i]);

        enabled += rc == CUPTI_OK;
        if (rc != CUPTI_OK) {
            result = rc;
        }
    }
    if (result != CUPTI_OK) {
        note_failure(enabled == 0 ? "cuptiActivityEnable"
                                  : "some kinds: cuptiActivityEnable",
                     result);
    }
    if (enabled == 0) {
        return -1;
    }
    if (options->has_graph_trace) {
        (void)cupti_api.cuptiActivityEnable(CUPTI_KIND_GRAPH);
    }
    if (cupti_api.cuptiActivityEnableAllSyncRecords != NULL) {
        (void)cupti_api.cuptiActivityEnableAllSyncRecords(0);
    }
    return 0;
}

static void calls_start(void *subscriber)
{
    call_names_load();
    if (call_enable(subscriber) == 0) {
        note("CUDA calls of the host are not recorded: CUPTI gives none");
    }
    if (subscriber == NULL) {
        return;
    }
    (void)cupti_api.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_STATE,
                                        CUPTI_STATE_FATAL);
}

/* Versions with a defect that cannot be gone around. */
static void defects_say(void)
{
    if (cupti_api.version >= CUPTI_SINCE_DEVICE_NAME_GIVEN &&
        cupti_api.version < CUPTI_SINCE_FLUSH_SAFE) {
        note("CUPTI 13.0.0 may crash in a flush; its first update mends that");
    }
}

static const char *mode_name(const struct cupti_options *options)
{
    if (options->is_yielding) {
        return "yield";
    }
    return options->is_sharing ? "share" : "own";
}

/* The report shows in which mode the trace was taken. */
static void mode_say(const struct cupti_options *options)
{
    char text[160];

    (void)snprintf(text, sizeof(text), "CUPTI %u, mode %s, CUDA graphs by %s",
                   cupti_api.version, mode_name(options),
                   options->has_graph_trace ? "whole launch" : "node");
    note(text);
}

/* Another client of CUPTI. */
static void rival_told(enum cuda_rival what)
{
    if (what == CUDA_RIVAL_COMES) {
        flush_now(); /* what is complete is ours */
    } else {
        taken_rival(what);
    }
}

static void calls_enable(void)
{
    (void)call_enable(NULL);
}

/* With CUPTI to be had. 0 or -1. */
static int cupti_run(const struct cupti_options *options, void *subscriber)
{
    if (options->is_yielding) {
        taken_share(calls_enable);
        flush_hear(); /* no call is reported then */
    }
    if (buffer_init() != 0 || flush_start(options->is_yielding) != 0) {
        note("no device events: no memory for CUPTI's buffers");
        return -1;
    }
    if (activity_start(options) != 0) {
        flush_stop(NULL);
        return -1;
    }
    calls_start(subscriber);
    mode_say(options);
    defects_say();
    (void)atexit(flush_end);
    return 0;
}

/* Another client holds CUPTI: until it is free. What was launched meanwhile is
 * lost. */
static void *retry_main(void *of)
{
    static const struct timespec period = {RETRY_S, 0};
    struct cupti_options *options = of;
    ck_time_t since = ck_time_raw();
    void *subscriber = NULL;

    (void)prctl(PR_SET_NAME, "ck-flush"); /* ckposix leaves it out */
    while (client_start(options, &subscriber) == CUPTI_HELD) {
        (void)nanosleep(&period, NULL);
    }
    if (subscriber != NULL && cupti_run(options, subscriber) == 0) {
        flush_hear(); /* cuInit() is long over */
        link_decide(CUDA_BY_CUPTI);
        note("CUPTI was free: device events begin here");
        lost_tell(CK_LOST_DEVICE, (int64_t)link_launches(), since,
                  ck_time_raw());
    }
    return NULL;
}

static void retry_start(const struct cupti_options *options)
{
    static struct cupti_options kept;
    sigset_t all, old;
    pthread_t thread;

    kept = *options;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&thread, NULL, retry_main, &kept) == 0) {
        (void)pthread_detach(thread);
    }
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* 0, or -1: CUPTI is not to be had (now). */
static int cupti_start(struct cupti_options *options)
{
    void *subscriber = NULL;
    char text[320] = "no device events: ";
    size_t used = strlen(text);
    int result = CUPTI_OK;

    if (cupti_api_open(text + used, sizeof(text) - used) != 0) {
        note(text);
        return -1;
    }
    if (!options->is_yielding) {
        result = client_start(options, &subscriber);
    }
    if (result == CUPTI_HELD) {
        retry_start(options);
    }
    return result == CUPTI_OK ? cupti_run(options, subscriber) : -1;
}

static void start(void)
{
    struct cupti_options options = options_read();
    bool is_on;

    if (options.is_off) {
        link_open(NULL);
        link_decide(CUDA_BY_NOBODY);
        return;
    }
    link_open(rival_told);
    is_on = !options.is_by_driver && cupti_start(&options) == 0;
    link_decide(is_on ? CUDA_BY_CUPTI : CUDA_BY_DRIVER);
}

EXPORT int InitializeInjection(void);

/* May be called twice; 1 = fine, always. */
EXPORT int InitializeInjection(void)
{
    int no = 0;

    if (!atomic_compare_exchange_strong(&is_initialised, &no, 1)) {
        return 1;
    }
    inject_load(CK_LIBRARY_CUPTI);
    if (inject_writer() != NULL) {
        start();
    }
    return 1;
}

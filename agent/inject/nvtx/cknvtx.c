/* cknvtx.c - ranges, steps and marks that a program gives to NVTX
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pushed ranges and marks go the way of ck.h: they nest with the program's
 * other ranges. Each domain has a stack of its own in each thread, and ends of
 * two domains may come in any order. One that is called "step", "iteration",
 * "iter" or "ProfilerStep", and a number, is a step, unless one is open in its
 * thread. A range that is started and ended may end on another thread; it is a
 * record of its own at its end, in the process that began it. Texts of a domain
 * begin with its name.
 */
#include "agent/inject/nvtx/nvtxabi.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/inject/annotatelink.h"
#include "agent/inject/ck.h"
#include "agent/inject/inject.h"

/* Ranges that are started and not ended; of more the oldest are lost. */
#define STARTED_MAX 4096
#define TEXT_MAX 160
/* Open ranges of a thread, of all its domains. */
#define DEPTH_MAX 64
/* Domains and registered texts of a process. */
#define KEPT_MAX 65536
#define NUMBER_DIGITS 18

/* The object behind the handle of a domain, or of a registered text. */
struct kept {
    char text[TEXT_MAX];
};

struct started {
    _Atomic uint64_t id; /* 0 = free */
    _Atomic int64_t start, number;
    _Atomic(struct inject_text *) name;
    _Atomic uint32_t incarnation; /* process that began it */
    _Atomic bool is_step;
};
static struct started started[STARTED_MAX];
static _Atomic uint64_t next_id;

/* Pushed and not popped, in the order of that. */
struct open {
    const void *domain; /* NULL = the default one */
    uint32_t token;     /* that ckannotate knows it by */
    bool is_step;
};

/* Of this thread. */
static __thread struct {
    unsigned depth;
    unsigned deeper; /* for which there is no room */
    unsigned steps;
    uint32_t token;
    struct open open[DEPTH_MAX];
} pushed;

/* NULL: the program runs without ckannotate. */
static const struct annotate_link *annotate;

/* ---- texts --------------------------------------------------------------- */

static void wide_put(char *text, size_t room, const wchar_t *wide)
{
    size_t used = 0;

    for (; wide != NULL && *wide != L'\0' && used + 1 < room; wide++) {
        text[used++] = (char)(*wide > 0 && *wide < 128 ? *wide : L'?');
    }
    text[used] = '\0';
}

/* Reads no more of it than there is room for. */
static void text_put(char *text, size_t room, const char *ascii)
{
    (void)snprintf(text, room, "%.*s", (int)room - 1,
                   ascii == NULL ? "" : ascii);
}

static void text_of(const struct nvtx_attributes *what, char *text, size_t room)
{
    const struct kept *kept;

    switch (what == NULL ? 0 : what->message_type) {
    case NVTX_ASCII:
        text_put(text, room, what->ascii);
        break;
    case NVTX_WIDE:
        wide_put(text, room, what->wide);
        break;
    case NVTX_REGISTERED:
        kept = what->registered;
        (void)snprintf(text, room, "%s", kept == NULL ? "" : kept->text);
        break;
    default:
        (void)snprintf(text, room, "range");
    }
}

/* With the domain's name before it. */
static void full_text(const struct kept *domain,
                      const struct nvtx_attributes *what,
                      char *text)
{
    int used = domain == NULL || domain->text[0] == '\0'
                   ? 0
                   : snprintf(text, TEXT_MAX, "%.60s: ", domain->text);

    text_of(what, text + used, TEXT_MAX - (size_t)used);
}

/* Digits to the end of the text, as many as always fit. */
static bool number_read(const char *digits, int64_t *number)
{
    size_t length = strspn(digits, "0123456789");

    if (length > NUMBER_DIGITS || digits[length] != '\0') {
        return false;
    }
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        *number = 10 * *number + (digits[i] - '0');
    }
    return true;
}

static bool is_step(const char *text, int64_t *number)
{
    static const char *const words[] = {"step", "iteration", "iter",
                                        "ProfilerStep"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);
        const char *digits = text + length;

        if (strncasecmp(text, words[i], length) != 0) {
            continue;
        }
        digits += strspn(digits, " _#:=");
        if (isdigit((unsigned char)*digits)) {
            return number_read(digits, number);
        }
    }
    return false;
}

/* NULL = there is no room, or too many are kept: they stay until the end. */
static struct kept *text_keep(const char *ascii, const wchar_t *wide)
{
    static _Atomic unsigned count;
    struct kept *kept =
        atomic_load(&count) >= KEPT_MAX ? NULL : calloc(1, sizeof(*kept));

    if (kept != NULL) {
        atomic_fetch_add(&count, 1);
    }
    if (kept != NULL && wide != NULL) {
        wide_put(kept->text, sizeof(kept->text), wide);
    } else if (kept != NULL) {
        text_put(kept->text, sizeof(kept->text), ascii);
    }
    return kept;
}

/* ---- what is recorded ---------------------------------------------------- */

/* Open ranges of the domain. */
static int depth_of(const void *domain)
{
    int depth = 0;

    for (unsigned i = 0; i < pushed.depth; i++) {
        depth += pushed.open[i].domain == domain;
    }
    return depth;
}

/* The level of the range in its domain, from 0. */
static int push(const void *domain, const char *text)
{
    int level = depth_of(domain);
    struct open *open = &pushed.open[pushed.depth];
    int64_t number = 0;

    if (pushed.depth == DEPTH_MAX) {
        pushed.deeper++;
        return level;
    }
    pushed.depth++;
    pushed.token = pushed.token % (UINT32_MAX - 1) + 1;
    *open = (struct open){domain, pushed.token,
                          pushed.steps == 0 && is_step(text, &number)};
    pushed.steps += open->is_step;
    if (annotate != NULL) {
        annotate->begin(open->is_step ? CK_KIND_STEP : CK_KIND_RANGE,
                        open->is_step ? "step" : text, number, open->token);
    }
    return level;
}

/* The innermost range of the domain, wherever it is among those of others. */
static int pop(const void *domain)
{
    unsigned at = pushed.depth;
    struct open ended;

    if (pushed.deeper > 0) {
        pushed.deeper--;
        return depth_of(domain);
    }
    while (at > 0 && pushed.open[at - 1].domain != domain) {
        at--;
    }
    if (at == 0) {
        return -1;
    }
    ended = pushed.open[at - 1];
    memmove(&pushed.open[at - 1], &pushed.open[at],
            (pushed.depth - at) * sizeof(ended));
    pushed.depth--;
    pushed.steps -= ended.is_step;
    if (annotate != NULL) {
        annotate->end(ended.token);
    }
    return depth_of(domain);
}

static uint64_t range_start(const char *text)
{
    struct ck_ring_writer *writer = inject_writer();
    uint64_t id = atomic_fetch_add(&next_id, 1) + 1;
    struct started *range = &started[id % STARTED_MAX];
    int64_t number = 0;
    bool as_step = pushed.steps == 0 && is_step(text, &number);

    if (writer == NULL) {
        return id;
    }
    atomic_store(&range->id, 0);
    atomic_store(&range->is_step, as_step);
    atomic_store(&range->number, number);
    atomic_store(&range->name, inject_text_find(as_step ? "step" : text));
    atomic_store(&range->incarnation, inject_ring.incarnation);
    atomic_store(&range->start, inject_now());
    atomic_store(&range->id, id);
    return id;
}

/* What it holds is read before it is given up. */
static void range_end(uint64_t id)
{
    struct started *range = &started[id % STARTED_MAX];
    struct ck_mark found = {.e = {.start = atomic_load(&range->start)},
                            .value = atomic_load(&range->number)};
    struct inject_text *name = atomic_load(&range->name);
    uint32_t incarnation = atomic_load(&range->incarnation);
    bool as_step = atomic_load(&range->is_step);
    struct ck_ring_writer *writer = inject_writer();
    uint64_t wanted = id;
    struct ck_mark *record;

    if (writer == NULL || id == 0 ||
        !atomic_compare_exchange_strong(&range->id, &wanted, 0) ||
        incarnation != inject_ring.incarnation) {
        return;
    }
    found.dur = inject_now() - found.e.start;
    found.e.kind = as_step ? CK_KIND_STEP : CK_KIND_RANGE;
    found.e.units = 1;
    found.e.name = name == NULL ? 0 : inject_text_number(name);
    record = ck_ring_begin(writer, inject_ring.clock, 1);
    if (record != NULL) {
        *record = found;
        ck_ring_commit(writer, 1);
    }
}

/* ---- the functions of NVTX ----------------------------------------------- */

/* As an integer; 0 = it has none, or none that is a number. */
static int64_t payload_of(const struct nvtx_attributes *what)
{
    double number = 0;
    float single;

    switch (what->payload_type) {
    case NVTX_PAYLOAD_UINT64:
    case NVTX_PAYLOAD_INT64:
        return (int64_t)what->payload;
    case NVTX_PAYLOAD_UINT32:
        return (int64_t)(uint32_t)what->payload;
    case NVTX_PAYLOAD_INT32:
        return (int32_t)(uint32_t)what->payload;
    case NVTX_PAYLOAD_DOUBLE:
        memcpy(&number, &what->payload, sizeof(number));
        break;
    case NVTX_PAYLOAD_FLOAT:
        memcpy(&single, &what->payload, sizeof(single));
        number = (double)single;
        break;
    default:
        return 0;
    }
    return number > -9e18 && number < 9e18 ? (int64_t)number : 0;
}

static void domain_mark(void *domain, const struct nvtx_attributes *what)
{
    char text[TEXT_MAX];

    full_text(domain, what, text);
    ck_mark(text, what == NULL ? 0 : payload_of(what));
}

static uint64_t domain_start(void *domain, const struct nvtx_attributes *what)
{
    char text[TEXT_MAX];

    full_text(domain, what, text);
    return range_start(text);
}

static void domain_end(void *domain, uint64_t id)
{
    (void)domain;
    range_end(id);
}

static int domain_push(void *domain, const struct nvtx_attributes *what)
{
    char text[TEXT_MAX];

    full_text(domain, what, text);
    return push(domain, text);
}

static int domain_pop(void *domain)
{
    return pop(domain);
}

static void *string_a(void *domain, const char *text)
{
    (void)domain;
    return text_keep(text, NULL);
}

static void *string_w(void *domain, const wchar_t *text)
{
    (void)domain;
    return text_keep(NULL, text);
}

static void *domain_a(const char *name)
{
    return text_keep(name, NULL);
}

static void *domain_w(const wchar_t *name)
{
    return text_keep(NULL, name);
}

static void mark(const struct nvtx_attributes *what)
{
    domain_mark(NULL, what);
}

static void mark_a(const char *ascii)
{
    char text[TEXT_MAX];

    text_put(text, sizeof(text), ascii);
    ck_mark(text, 0);
}

static void mark_w(const wchar_t *wide)
{
    char text[TEXT_MAX];

    wide_put(text, sizeof(text), wide);
    ck_mark(text, 0);
}

static uint64_t start(const struct nvtx_attributes *what)
{
    return domain_start(NULL, what);
}

static uint64_t start_a(const char *ascii)
{
    char text[TEXT_MAX];

    text_put(text, sizeof(text), ascii);
    return range_start(text);
}

static uint64_t start_w(const wchar_t *wide)
{
    char text[TEXT_MAX];

    wide_put(text, sizeof(text), wide);
    return range_start(text);
}

static int push_ex(const struct nvtx_attributes *what)
{
    return domain_push(NULL, what);
}

static int push_a(const char *ascii)
{
    char text[TEXT_MAX];

    text_put(text, sizeof(text), ascii);
    return push(NULL, text);
}

static int push_w(const wchar_t *wide)
{
    char text[TEXT_MAX];

    wide_put(text, sizeof(text), wide);
    return push(NULL, text);
}

static int pop_any(void)
{
    return pop(NULL);
}

/* ---- how the program comes by them --------------------------------------- */

struct place {
    unsigned at;
    nvtx_function_f *function;
};
#define PLACE(at, name)                                                        \
    {                                                                          \
        at, (nvtx_function_f *)(name)                                          \
    }
static const struct place core[] = {
    PLACE(NVTX_MARK, mark),       PLACE(NVTX_MARK_A, mark_a),
    PLACE(NVTX_MARK_W, mark_w),   PLACE(NVTX_START, start),
    PLACE(NVTX_START_A, start_a), PLACE(NVTX_START_W, start_w),
    PLACE(NVTX_END, range_end),   PLACE(NVTX_PUSH, push_ex),
    PLACE(NVTX_PUSH_A, push_a),   PLACE(NVTX_PUSH_W, push_w),
    PLACE(NVTX_POP, pop_any),
};
static const struct place domains[] = {
    PLACE(NVTX_DOMAIN_MARK, domain_mark),
    PLACE(NVTX_DOMAIN_START, domain_start),
    PLACE(NVTX_DOMAIN_END, domain_end),
    PLACE(NVTX_DOMAIN_PUSH, domain_push),
    PLACE(NVTX_DOMAIN_POP, domain_pop),
    PLACE(NVTX_DOMAIN_STRING_A, string_a),
    PLACE(NVTX_DOMAIN_STRING_W, string_w),
    PLACE(NVTX_DOMAIN_CREATE_A, domain_a),
    PLACE(NVTX_DOMAIN_CREATE_W, domain_w),
};

static void module_fill(const struct nvtx_callbacks *callbacks,
                        enum nvtx_module module,
                        const struct place *places,
                        size_t count)
{
    nvtx_function_f ***table = NULL;
    unsigned functions = 0;

    if (callbacks->table_get(module, &table, &functions) == 0 ||
        table == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (places[i].at < functions && table[places[i].at] != NULL) {
            *table[places[i].at] = places[i].function;
        }
    }
}

static void annotate_find(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, ANNOTATE_LINK);
    annotate_link_f *link;

    if (symbol != NULL) {
        memcpy(&link, &symbol, sizeof(link));
        annotate = link();
    }
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(nvtx_export_f *get);

/* Each library that has NVTX in itself calls it, on any thread. 1, or 0: NVTX
 * does nothing there. */
int InitializeInjectionNvtx2(nvtx_export_f *get)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct nvtx_callbacks *callbacks = get(NVTX_CALLBACKS);

    inject_load_once(CK_LIBRARY_NVTX);
    (void)pthread_once(&once, annotate_find);
    if (callbacks == NULL || callbacks->size < sizeof(*callbacks) ||
        !inject_is_loaded()) {
        return 0;
    }
    module_fill(callbacks, NVTX_CORE, core, sizeof(core) / sizeof(core[0]));
    module_fill(callbacks, NVTX_DOMAINS, domains,
                sizeof(domains) / sizeof(domains[0]));
    return 1;
}

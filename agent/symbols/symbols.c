/* symbols.c - addresses of calls become function, file and line
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A site is a return address, so the instruction of the call is before it:
 * address - 1 is looked up. Modules are the runs of mappings of one file in
 * /proc/<pid>/maps. A module that was unmapped stays known.
 */
#include "agent/symbols/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/process/mappings.h"
#include "agent/process/procfile.h"
#include "agent/symbols/kernelsymbols.h"
#include "agent/symbols/placereader.h"
#include "agent/symbols/symboltable.h"
#include "schema/fnv.h"

#define PROCESSES_MAX 1024
#define TEXT_BYTES 8192
#define SLOTS ((size_t)2 * SYMBOLS_SITES_MAX)
/* Processes that may end while they read the program's files. */
#define READERS_MAX 16
/* A process whose mappings are reported by others is looked at anyway, each
 * time twice as long after the last look. */
#define LOOK_AGAIN CK_TIME_S
#define LOOK_AGAIN_MAX (16 * CK_TIME_S)
/* So many times the limit may pass while readers wait for a CPU. */
#define PATIENCE 15

struct module {
    uint32_t incarnation;
    uint64_t start;
    uint64_t end;
    uint64_t bias;
    char *path;
    char build_id[SYMBOLTABLE_ID_BYTES];
    bool has_file;             /* ELF, and at its path when it was seen */
    bool is_opened;            /* table was tried */
    bool is_refused;           /* what read it did not live */
    struct symboltable *table; /* in the process that reads it, to its end */
};

struct site {
    uint64_t address;
    uint32_t incarnation;
    bool is_call; /* not only a frame of a stack */
};

struct process {
    uint32_t incarnation;
    bool is_due; /* its mappings are others than were seen */
    uint64_t maps_hash;
    ck_time_t look_at;
    ck_time_t pause; /* between the last look and that */
};

struct symbols {
    struct module *modules;
    size_t module_count;
    size_t modules_said;
    bool has_said_hip;
    struct process processes[PROCESSES_MAX];
    size_t process_count;
    struct site *sites;
    size_t site_count;
    /* Their numbers from 1 on, by address; open addressing. The table of most
     * programs is nearly empty, and only looked up in. */
    uint32_t *slots;
    uint64_t kernel_samples;
    uint64_t sites_left_out;
    uint64_t modules_left_out;
    struct mappings maps;
};

struct symbols *symbols_create(void)
{
    struct symbols *symbols = calloc(1, sizeof(*symbols));

    if (symbols == NULL) {
        return NULL;
    }
    /* libdwfl would ask servers on the network for debugging information. */
    (void)unsetenv("DEBUGINFOD_URLS");
    symbols->modules = calloc(SYMBOLS_MODULES_MAX, sizeof(*symbols->modules));
    symbols->sites = calloc(SYMBOLS_SITES_MAX, sizeof(*symbols->sites));
    symbols->slots = calloc(SLOTS, sizeof(*symbols->slots));
    if (symbols->modules == NULL || symbols->sites == NULL ||
        symbols->slots == NULL) {
        symbols_destroy(symbols);
        return NULL;
    }
    return symbols;
}

void symbols_destroy(struct symbols *symbols)
{
    int saved = errno;

    if (symbols == NULL) {
        return;
    }
    for (size_t i = symbols->module_count; i-- > 0;) {
        free(symbols->modules[i].path);
    }
    free(symbols->modules);
    free(symbols->sites);
    free(symbols->slots);
    mappings_fini(&symbols->maps);
    free(symbols);
    errno = saved;
}

/* NULL = not seen yet. */
static struct process *process_find(struct symbols *symbols,
                                    uint32_t incarnation)
{
    for (size_t i = 0; i < symbols->process_count; i++) {
        if (symbols->processes[i].incarnation == incarnation) {
            return &symbols->processes[i];
        }
    }
    return NULL;
}

/* Whether the process' maps differ from the last look; notes the new ones. */
static bool
is_changed(struct symbols *symbols, uint32_t incarnation, uint64_t hash)
{
    struct process *process = process_find(symbols, incarnation);

    if (process != NULL) {
        bool is_other = process->maps_hash != hash;

        process->maps_hash = hash;
        return is_other;
    }
    if (symbols->process_count < PROCESSES_MAX) {
        symbols->processes[symbols->process_count++] =
            (struct process){.incarnation = incarnation, .maps_hash = hash};
    }
    return true;
}

/* Is it mapped from a file? */
static bool is_module(const struct mapping *mapping)
{
    if (strcmp(mapping->path, SYMBOLTABLE_VDSO) == 0) {
        return mapping->start > UINT32_MAX; /* else not of 64 bits */
    }
    return mapping->path[0] == '/' && strncmp(mapping->path, "/dev/", 5) != 0;
}

/* Is it the start of a module, or a later part of one? */
static bool is_part(const struct module *module, const struct mapping *mapping)
{
    return mapping->offset == 0 ? mapping->start == module->start
                                : mapping->start >= module->start &&
                                      mapping->start < module->end;
}

/* Does it belong to the same image as the last one, of the file's mappings in
 * the order of addresses? Of a file of lld the first page may be mapped as each
 * of its parts; an image ends with what may be written to. */
static bool is_next(const struct mapping *last, const struct mapping *mapping)
{
    return last->path != NULL && strcmp(last->path, mapping->path) == 0 &&
           (mapping->offset != 0 ||
            (mapping->start == last->end && !last->is_writable));
}

static bool is_known(const struct symbols *symbols,
                     uint32_t incarnation,
                     const struct mapping *mapping)
{
    for (size_t i = symbols->module_count; i-- > 0;) {
        const struct module *module = &symbols->modules[i];

        if (module->incarnation == incarnation && is_part(module, mapping) &&
            strcmp(module->path, mapping->path) == 0) {
            return true;
        }
    }
    return false;
}

static struct module *module_add(struct symbols *symbols,
                                 uint32_t incarnation,
                                 const struct mapping *mapping,
                                 bool is_code)
{
    struct module *module = &symbols->modules[symbols->module_count];
    const char *path = mapping->path;

    if (symbols->module_count == SYMBOLS_MODULES_MAX) {
        symbols->modules_left_out++;
        return NULL;
    }
    *module = (struct module){
        .incarnation = incarnation,
        .start = mapping->start,
        .end = mapping->end,
        .path = strdup(path),
    };
    if (module->path == NULL) {
        symbols->modules_left_out++;
        return NULL;
    }
    module->has_file =
        strstr(path, " (deleted)") == NULL &&
        symboltable_identify(path, mapping->start, mapping->offset, is_code,
                             &module->bias, module->build_id) == 0;
    symbols->module_count++;
    return module;
}

/* NULL: it is known. */
static void module_extend(struct module *module, const struct mapping *mapping)
{
    if (module != NULL) {
        module->end = mapping->end;
    }
}

void symbols_seen_process(struct symbols *symbols,
                          uint32_t incarnation,
                          pid_t pid)
{
    size_t length = mappings_read(&symbols->maps, pid);
    struct module *module = NULL;
    struct mapping mapping, last = {.path = NULL};

    if (length == 0 ||
        !is_changed(symbols, incarnation,
                    ck_fnv(CK_FNV_START, symbols->maps.text, length))) {
        return;
    }
    while (mappings_next(&symbols->maps, &mapping)) {
        if (!is_module(&mapping)) {
            continue; /* .bss between two files' mappings, too */
        }
        if (is_next(&last, &mapping) &&
            (module != NULL || mapping.offset == 0)) {
            module_extend(module, &mapping);
        } else if (is_known(symbols, incarnation, &mapping)) {
            module = NULL;
        } else {
            module = module_add(symbols, incarnation, &mapping, false);
        }
        last = mapping;
    }
}

void symbols_mapped(struct symbols *symbols, uint32_t incarnation)
{
    struct process *process = process_find(symbols, incarnation);

    if (process != NULL) {
        process->is_due = true;
    }
}

void symbols_follow_process(struct symbols *symbols,
                            uint32_t incarnation,
                            pid_t pid,
                            ck_time_t now)
{
    struct process *process = process_find(symbols, incarnation);
    size_t before = symbols->module_count;

    if (process != NULL && !process->is_due && now < process->look_at) {
        return;
    }
    symbols_seen_process(symbols, incarnation, pid);
    process = process_find(symbols, incarnation);
    if (process != NULL) {
        process->is_due = false;
        if (symbols->module_count > before || process->pause == 0) {
            process->pause = LOOK_AGAIN;
        } else if (process->pause < LOOK_AGAIN_MAX) {
            process->pause = 2 * process->pause;
        } else {
            process->pause = LOOK_AGAIN_MAX;
        }
        process->look_at = now + process->pause;
    }
}

/* Where to look for an address first. Those of 4 KiB of code are neighbours, so
 * that a program takes about as many pages of the table as of its code. */
static uint64_t site_slot(uint32_t incarnation, uint64_t address)
{
    uint64_t code = (address >> 12) ^ ((uint64_t)incarnation << 40);

    return ((code * 0x9e3779b97f4a7c15ull >> 32) << 8) + (address >> 4 & 0xff);
}

/* The newest module of the image that the address is in. */
static struct module *module_find(const struct symbols *symbols,
                                  uint32_t incarnation,
                                  uint64_t address)
{
    for (size_t i = symbols->module_count; i-- > 0;) {
        struct module *module = &symbols->modules[i];

        if (module->incarnation == incarnation && module->start <= address &&
            address < module->end) {
            return module;
        }
    }
    return NULL;
}

void symbols_seen_mapping(struct symbols *symbols,
                          uint32_t incarnation,
                          const struct mapping *mapping)
{
    if (is_module(mapping) &&
        module_find(symbols, incarnation, mapping->start) == NULL) {
        (void)module_add(symbols, incarnation, mapping, true);
    }
}

static struct site *site_add(struct symbols *symbols,
                             uint32_t *slot,
                             uint32_t incarnation,
                             uint64_t address)
{
    struct site *site;

    if (symbols->site_count == SYMBOLS_SITES_MAX) {
        symbols->sites_left_out++;
        return NULL;
    }
    site = &symbols->sites[symbols->site_count];
    *site = (struct site){.address = address, .incarnation = incarnation};
    *slot = (uint32_t)++symbols->site_count;
    if (address < CK_SITE_KERNEL &&
        module_find(symbols, incarnation, address - 1) == NULL) {
        symbols_mapped(symbols, incarnation);
    }
    return site;
}

/* The entry of that address, a new one if need be; NULL = none. */
static struct site *
site_note(struct symbols *symbols, uint32_t incarnation, uint64_t address)
{
    if (address == 0 || (address >= CK_SITE_TOLD && address < CK_SITE_KERNEL)) {
        return NULL;
    }
    /* Ends: at most half of the table is used. */
    for (uint64_t at = site_slot(incarnation, address);; at++) {
        uint32_t *slot = &symbols->slots[at % SLOTS];
        struct site *site;

        if (*slot == 0) {
            return site_add(symbols, slot, incarnation, address);
        }
        site = &symbols->sites[*slot - 1];
        if (site->address == address && site->incarnation == incarnation) {
            return site;
        }
    }
}

void symbols_site(struct symbols *symbols,
                  uint32_t incarnation,
                  uint64_t address)
{
    struct site *site = site_note(symbols, incarnation, address);

    if (site != NULL) {
        site->is_call = true;
    }
}

void symbols_frame(struct symbols *symbols,
                   uint32_t incarnation,
                   uint64_t address)
{
    (void)site_note(symbols, incarnation, address);
}

void symbols_caller(struct symbols *symbols,
                    uint32_t incarnation,
                    uint64_t address)
{
    if (symbols->site_count < SYMBOLS_SITES_MAX / 2 &&
        module_find(symbols, incarnation, address - 1) != NULL) {
        (void)site_note(symbols, incarnation, address);
    }
}

void symbols_in_kernel(struct symbols *symbols)
{
    symbols->kernel_samples++;
}

static int module_say(struct selfstream *selfstream,
                      const struct module *module)
{
    struct ck_text head = {
        .e = {.kind = CK_KIND_MODULE, .name = module->incarnation},
        .object = module->bias,
    };
    char text[TEXT_BYTES];
    int length = snprintf(
        text, sizeof(text),
        "path=%s\nstart=0x%" PRIx64 "\nend=0x%" PRIx64 "\nbuild_id=%s\n",
        module->path, module->start, module->end, module->build_id);

    if (length < 0 || (size_t)length >= sizeof(text)) {
        length = (int)sizeof(text) - 1;
    }
    return selfstream_text(selfstream, head, text, (size_t)length);
}

/* A runtime whose work nothing here records. Not libhsa-runtime64: AMD's OpenCL
 * has it, too. */
static void hip_say(struct symbols *symbols,
                    struct selfstream *selfstream,
                    const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    if (!symbols->has_said_hip && strncmp(name, "libamdhip64.so", 14) == 0) {
        symbols->has_said_hip = true;
        selfstream_note(selfstream,
                        "the program has loaded AMD's HIP runtime (%s): its "
                        "work is not recorded, ck knows AMD devices through "
                        "OpenCL only",
                        name);
    }
}

int symbols_modules(struct symbols *symbols, struct selfstream *selfstream)
{
    while (symbols->modules_said < symbols->module_count) {
        if (module_say(selfstream, &symbols->modules[symbols->modules_said]) !=
            0) {
            return -1;
        }
        hip_say(symbols, selfstream,
                symbols->modules[symbols->modules_said].path);
        symbols->modules_said++;
    }
    return 0;
}

static void table_open(struct symbols *symbols, struct module *module)
{
    module->is_opened = true;
    for (size_t i = 0; i < symbols->module_count; i++) {
        const struct module *other = &symbols->modules[i];

        if (other->table != NULL && strcmp(other->path, module->path) == 0 &&
            strcmp(other->build_id, module->build_id) == 0) {
            module->table = other->table;
            return;
        }
    }
    module->table = symboltable_create(module->path, module->build_id);
}

static void place_find(const struct module *module,
                       const struct site *site,
                       struct symbol_place *place)
{
    uint64_t address = site->address - 1 - module->bias;

    if (module->table == NULL) {
        return;
    }
    if (site->is_call || symboltable_has_lines(module->table)) {
        symboltable_find(module->table, address, place);
    } else {
        place->function = symboltable_function(module->table, address);
    }
}

/* "[vdso] clock_gettime", whatever the machine's prefix for that. */
static int vdso_name(const char *function, char *text, size_t room)
{
    static const char *const prefixes[] = {"__vdso_", "__kernel_"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t length = strlen(prefixes[i]);

        if (strncmp(function, prefixes[i], length) == 0) {
            function += length;
            break;
        }
    }
    return snprintf(text, room, SYMBOLTABLE_VDSO " %s", function);
}

/* The site's function, or how far behind the module's start it is. Returns
 * as snprintf(). */
static int function_name(const struct module *module,
                         const struct site *site,
                         const char *function,
                         char *text,
                         size_t room)
{
    const char *slash = strrchr(module->path, '/');
    const char *base = slash == NULL ? module->path : slash + 1;

    if (function != NULL) {
        return slash == NULL ? vdso_name(function, text, room)
                             : snprintf(text, room, "%s", function);
    }
    return snprintf(text, room, "%s+0x%" PRIx64, base,
                    site->address - 1 -
                        (module->has_file ? module->bias : module->start));
}

/* The module of a site whose place is to be read, NULL = there is no such site,
 * or no file to read. */
static struct module *module_asked(const struct symbols *symbols, size_t at)
{
    const struct site *site = &symbols->sites[at];
    struct module *module =
        module_find(symbols, site->incarnation, site->address - 1);

    return module != NULL && module->has_file && !module->is_refused ? module
                                                                     : NULL;
}

/* In a process of its own: the tables of the program's files are opened in it
 * alone. */
static void places_read(void *context, uint32_t first, int out)
{
    struct symbols *symbols = context;

    for (uint32_t i = first; i < symbols->site_count; i++) {
        struct symbol_place place = {.function = NULL};
        struct module *module = module_asked(symbols, i);

        if (module == NULL) {
            continue;
        }
        if (!module->is_opened) {
            table_open(symbols, module);
        }
        place_find(module, &symbols->sites[i], &place);
        placereader_put(out, i, &place);
    }
}

/* What the end of all sites does. */
struct finish {
    struct symbols *symbols;
    struct selfstream *selfstream;
    struct placereader reader;
    struct placereader_place place; /* of the site that is at work */
    ck_time_t start;
    ck_time_t limit;
    ck_time_t deadline;
    ck_time_t kept_back; /* this thread, before */
    unsigned deaths;     /* of readers */
    uint64_t late;
    uint64_t refused; /* sites in files that are not read */
};

/* Its file is the one that ended a reader; after too many all are. */
static void module_refuse(struct finish *finish, struct module *module)
{
    struct symbols *symbols = finish->symbols;

    placereader_end(&finish->reader);
    for (size_t i = 0; i < symbols->module_count; i++) {
        struct module *other = &symbols->modules[i];

        other->is_refused = other->is_refused ||
                            finish->deaths >= READERS_MAX ||
                            strcmp(other->path, module->path) == 0;
    }
    finish->refused++;
}

/* Is the time over? What a reader, or who waits for it, had no CPU is not
 * counted, or a busy machine would have no lines; PATIENCE has an end. */
static bool is_late(struct finish *finish)
{
    ck_time_t now = ck_time_raw();
    ck_time_t kept_back, most;

    if (now <= finish->deadline) {
        return false;
    }
    kept_back = placereader_kept_back(&finish->reader) +
                procfile_kept_back("thread-self") - finish->kept_back;
    most = PATIENCE * finish->limit;
    finish->deadline =
        finish->start +
        (finish->limit + kept_back < most ? finish->limit + kept_back : most);
    return now > finish->deadline;
}

/* Fill in the place of a site; false: there was no time for it. */
static bool place_take(struct finish *finish, size_t at, struct module *module)
{
    struct placereader_place *place = &finish->place;
    enum placereader_next next = PLACEREADER_DIED;

    if (finish->reader.pid > 0 ||
        placereader_start(&finish->reader, places_read, finish->symbols,
                          (uint32_t)at) == 0) {
        do {
            next = placereader_next(&finish->reader, finish->deadline, place);
        } while (next == PLACEREADER_LATE && !is_late(finish));
    } else {
        finish->deaths = READERS_MAX; /* no process can be started */
    }
    if (next == PLACEREADER_LATE) {
        return false;
    }
    if (next == PLACEREADER_DIED || place->site != at) {
        place->function[0] = place->file[0] = '\0';
        place->line = place->inlined_length = 0;
        finish->deaths++;
        module_refuse(finish, module);
    }
    return true;
}

static int site_say(const struct finish *finish,
                    const struct module *module,
                    const struct site *site)
{
    const struct placereader_place *place = &finish->place;
    struct ck_text head = {
        .e = {.kind = CK_KIND_SYMBOL, .name = site->incarnation},
        .object = site->address,
        .extra = place->line,
    };
    char text[TEXT_BYTES];
    int length = function_name(
        module, site, place->function[0] == '\0' ? NULL : place->function, text,
        sizeof(text));

    length = length < TEXT_BYTES / 2 ? length : TEXT_BYTES / 2;
    text[length] = '\0';
    length +=
        1 + snprintf(text + length + 1, TEXT_BYTES / 2 - 2, "%s", place->file);
    length = length < TEXT_BYTES - 2 ? length : TEXT_BYTES - 2;
    if (place->inlined_length > 0 &&
        (size_t)length + place->inlined_length < sizeof(text)) {
        memcpy(text + length, place->inlined, place->inlined_length);
        length += (int)place->inlined_length;
    }
    return selfstream_text(finish->selfstream, head, text, (size_t)length);
}

static int site_finish(struct finish *finish, size_t at)
{
    struct symbols *symbols = finish->symbols;
    const struct site *site = &symbols->sites[at];
    struct module *module =
        module_find(symbols, site->incarnation, site->address - 1);
    bool is_asked = module_asked(symbols, at) != NULL;

    if (module == NULL) {
        return 0; /* generated code: the address itself stays */
    }
    finish->place.function[0] = finish->place.file[0] = '\0';
    finish->place.line = finish->place.inlined_length = 0;
    if (is_asked && !place_take(finish, at, module)) {
        finish->late++;
        return 0;
    }
    finish->refused += !is_asked && module->is_refused;
    return site_say(finish, module, site);
}

static void finish_note(const struct finish *finish)
{
    const struct symbols *symbols = finish->symbols;

    if (finish->late > 0) {
        selfstream_note(finish->selfstream,
                        "%" PRIu64 " of %zu call sites have no file and line: "
                        "looking them up took longer than %" PRId64 " ms",
                        finish->late, symbols->site_count,
                        finish->limit / CK_TIME_MS);
    }
    if (finish->refused > 0) {
        selfstream_note(finish->selfstream,
                        "%" PRIu64 " of %zu call sites have no file and line: "
                        "a process that reads the program's files could not be "
                        "started, or ended (a file was shortened while it was "
                        "read, is damaged, or takes too much memory)",
                        finish->refused, symbols->site_count);
    }
    if (symbols->sites_left_out + symbols->modules_left_out > 0) {
        selfstream_note(finish->selfstream,
                        "call sites beyond %d (met %" PRIu64
                        " times or more) and "
                        "modules beyond %d (%" PRIu64 ") have no file and line",
                        SYMBOLS_SITES_MAX, symbols->sites_left_out,
                        SYMBOLS_MODULES_MAX, symbols->modules_left_out);
    }
}

/* ---- the kernel -----------------------------------------------------------
 */

/* All sites in the kernel, to be freed; NULL = none, too few samples are there,
 * or no memory. */
static struct kernelsymbol *kernel_collect(const struct symbols *symbols,
                                           size_t *count)
{
    struct kernelsymbol *wanted = NULL;
    size_t used = 0;

    *count = 0;
    if (symbols->kernel_samples < SYMBOLS_KERNEL_SAMPLES) {
        return NULL;
    }
    for (size_t i = 0; i < symbols->site_count; i++) {
        *count += symbols->sites[i].address >= CK_SITE_KERNEL;
    }
    if (*count > 0) {
        wanted = calloc(*count, sizeof(*wanted));
    }
    for (size_t i = 0; wanted != NULL && i < symbols->site_count; i++) {
        if (symbols->sites[i].address >= CK_SITE_KERNEL) {
            wanted[used].key = i;
            wanted[used++].address = symbols->sites[i].address - 1;
        }
    }
    return wanted;
}

static int kernel_say_one(const struct symbols *symbols,
                          struct selfstream *selfstream,
                          const struct kernelsymbol *found)
{
    const struct site *site = &symbols->sites[found->key];
    struct ck_text head = {
        .e = {.kind = CK_KIND_SYMBOL, .name = site->incarnation},
        .object = site->address,
    };
    char text[KERNELSYMBOLS_NAME + sizeof(SYMBOLS_KERNEL)];
    int length =
        snprintf(text, sizeof(text), "%s%c" SYMBOLS_KERNEL, found->name, '\0');

    return selfstream_text(selfstream, head, text, (size_t)length);
}

/* The names of the kernel's functions. 0, or -1: some found no room. */
static int kernel_say(struct symbols *symbols, struct selfstream *selfstream)
{
    size_t count, found = 0;
    struct kernelsymbol *wanted = kernel_collect(symbols, &count);
    FILE *lines = wanted == NULL ? NULL : fopen("/proc/kallsyms", "re");
    int rc = 0;

    if (lines != NULL) {
        found = kernelsymbols_find(lines, wanted, count);
        (void)fclose(lines);
    }
    for (size_t i = 0; wanted != NULL && i < count; i++) {
        rc |= kernel_say_one(symbols, selfstream, &wanted[i]);
    }
    if (count > 0 && found == 0) {
        selfstream_note(selfstream,
                        "the kernel's functions in CPU samples have no names "
                        "(kernel.kptr_restrict)");
    }
    free(wanted);
    return rc;
}

int symbols_finish(struct symbols *symbols,
                   struct selfstream *selfstream,
                   ck_time_t limit)
{
    struct finish *finish = calloc(1, sizeof(*finish));
    int rc = symbols_modules(symbols, selfstream);

    if (finish == NULL) {
        return -1;
    }
    finish->symbols = symbols;
    finish->selfstream = selfstream;
    finish->start = ck_time_raw();
    finish->limit = limit;
    finish->kept_back = procfile_kept_back("thread-self");
    finish->deadline = finish->start + limit;
    rc |= kernel_say(symbols, selfstream);
    for (size_t i = 0; i < symbols->site_count; i++) {
        if (symbols->sites[i].address >= CK_SITE_KERNEL) {
            continue;
        }
        if (finish->late > 0 || is_late(finish)) {
            finish->late++;
        } else {
            rc |= site_finish(finish, i);
        }
    }
    placereader_end(&finish->reader);
    finish_note(finish);
    free(finish);
    if (rc != 0) {
        errno = ENOSPC;
        return -1;
    }
    return 0;
}

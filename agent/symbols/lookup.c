/* lookup.c - places of call sites whose collector did not live to look them up
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/symbols/lookup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/symbols/symboltable.h"

/* The module that was asked about last. */
struct module {
    char *path;
    char build_id[SYMBOLTABLE_ID_BYTES];
    struct symboltable *table; /* NULL = not readable, or another file */
};

struct question {
    uint64_t address;
    uint64_t bias;
    bool is_frame; /* no call site: "@" is before it */
    char build_id[SYMBOLTABLE_ID_BYTES];
    const char *path; /* borrowed: the line's */
};

static void module_fini(struct module *module)
{
    symboltable_destroy(module->table);
    free(module->path);
    *module = (struct module){.path = NULL};
}

/* 0 or -1 with ENOMEM. */
static int module_open(struct module *module, const struct question *question)
{
    if (module->path != NULL && strcmp(module->path, question->path) == 0 &&
        strcmp(module->build_id, question->build_id) == 0) {
        return 0;
    }
    module_fini(module);
    module->path = strdup(question->path);
    if (module->path == NULL) {
        return -1;
    }
    strcpy(module->build_id, question->build_id);
    module->table = symboltable_create(question->path, question->build_id);
    return 0;
}

static bool question_parse(char *line, struct question *question)
{
    int at = 0;

    line[strcspn(line, "\n")] = '\0';
    question->is_frame = line[0] == '@';
    line += question->is_frame;
    if (sscanf(line, "%" SCNx64 " %" SCNx64 " %63s %n", &question->address,
               &question->bias, question->build_id, &at) != 3 ||
        at == 0 || line[at] != '/') {
        return false;
    }
    question->path = line + at;
    return true;
}

/* A field of the answer: nothing in it may end it. */
static void word_put(const char *word, FILE *out)
{
    for (; *word != '\0'; word++) {
        (void)fputc((unsigned char)*word < 0x20 ? '?' : *word, out);
    }
}

static void answer_put(const struct module *module,
                       const struct question *question,
                       FILE *out)
{
    uint64_t address = question->address - 1 - question->bias;
    struct symbol_place place = {.function = NULL};

    /* A library's frame is not worth reading its separate debug file. */
    if (module->table != NULL && question->is_frame &&
        !symboltable_has_lines(module->table)) {
        place.function = symboltable_function(module->table, address);
    } else if (module->table != NULL) {
        symboltable_find(module->table, address, &place);
    }
    fprintf(out, "%" PRIu32 "\t", place.line);
    if (place.function != NULL) {
        word_put(place.function, out);
    } else {
        word_put(strrchr(question->path, '/') + 1, out);
        fprintf(out, "+0x%" PRIx64, address);
    }
    (void)fputc('\t', out);
    word_put(place.file == NULL ? "" : place.file, out);
    (void)fputc('\n', out);
}

int lookup_run(FILE *in, FILE *out)
{
    struct module module = {.path = NULL};
    struct question question;
    char *line = NULL;
    size_t room = 0;
    int rc = 0;

    /* libdwfl would ask servers on the network for debugging information. */
    (void)unsetenv("DEBUGINFOD_URLS");
    while (rc == 0 && getline(&line, &room, in) > 0) {
        if (!question_parse(line, &question)) {
            fputs("0\t\t\n", out);
        } else if ((rc = module_open(&module, &question)) == 0) {
            answer_put(&module, &question, out);
        }
    }
    free(line);
    module_fini(&module);
    if (rc == 0 && (ferror(in) || fflush(out) != 0)) {
        rc = -1;
    }
    return rc;
}

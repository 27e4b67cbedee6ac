/* instance.c - templates and overloads of one name, as a person distinguishes
 * them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     void gmx::send<int>(int const*, gmx::Ref<int>)
 *          |    |        |                         |
 *          scope name    parameters              end
 */
#include "merge/output/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/demangle.h"

/* Fewer columns show nothing of parameters. */
#define PARAMETERS_MIN 10

struct signature {
    char *text; /* owned */
    const char *name;
    size_t name_length; /* with template arguments */
    const char *end;    /* behind the last parameter's parenthesis */
};

/* The parenthesis of the parameters: the first one outside of template
 * arguments that is not "(anonymous namespace)". */
static const char *parameters_find(const char *text)
{
    int depth = 0;

    for (; *text != '\0'; text++) {
        depth += *text == '<';
        depth -= *text == '>' && depth > 0;
        if (*text == '(' && depth == 0 && strncmp(text, "(anon", 5) != 0) {
            return text;
        }
    }
    return text;
}

/* Behind the result's type and the scopes. */
static const char *name_find(const char *text, const char *end)
{
    const char *name = text;
    int depth = 0;

    for (; text < end; text++) {
        depth += *text == '<' || *text == '(';
        depth -= (*text == '>' || *text == ')') && depth > 0;
        if ((*text == ' ' || *text == ':') && depth == 0) {
            name = text + 1;
        }
    }
    return name;
}

/* False: it is no name of C++. */
static int signature_of(struct signature *signature, const char *mangled)
{
    const char *parameters;

    signature->text = demangle_name(mangled);
    if (signature->text == NULL) {
        return 0;
    }
    parameters = parameters_find(signature->text);
    signature->name = name_find(signature->text, parameters);
    signature->name_length = (size_t)(parameters - signature->name);
    signature->end = parameters + strlen(parameters);
    return 1;
}

/* The name; what has no room goes at its end. */
static size_t name_put(char *to, size_t columns, const struct signature *its)
{
    if (its->name_length <= columns) {
        (void)snprintf(to, columns + 1, "%.*s", (int)its->name_length,
                       its->name);
        return its->name_length;
    }
    (void)snprintf(to, columns + 1, "%.*s...",
                   columns > 3 ? (int)columns - 3 : 0, its->name);
    return columns;
}

/* "send<int>(...Ref<int>)" */
static void
parameters_put(char *to, size_t columns, const struct signature *its)
{
    size_t all = (size_t)(its->end - its->name);
    size_t length = name_put(to, columns - PARAMETERS_MIN - 4, its);
    size_t room = columns - length - 4;
    size_t rest = all - its->name_length;

    if (all <= columns) {
        (void)snprintf(to, columns + 1, "%s", its->name);
        return;
    }
    (void)snprintf(to + length, columns + 1 - length, "(...%s",
                   its->end - (rest < room ? rest : room));
}

int instance_text(char *to,
                  size_t columns,
                  const char *mangled,
                  const char *twin)
{
    struct signature its, other;
    char alike[512];

    if (columns >= sizeof(alike) || columns < 2 * (size_t)PARAMETERS_MIN ||
        !signature_of(&its, mangled)) {
        return 0;
    }
    (void)name_put(to, columns, &its);
    if (signature_of(&other, twin)) {
        (void)name_put(alike, columns, &other);
        if (strcmp(to, alike) == 0) {
            parameters_put(to, columns, &its);
        }
        free(other.text);
    }
    free(its.text);
    return 1;
}

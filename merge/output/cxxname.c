/* cxxname.c - names of C++ as a person reads them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The Itanium ABI's mangling, as far as a row of a table has room for it:
 *
 *     _Z <name> <parameters>
 *     name   = N [r V K R O] part... E | part | Z <name> <parameters> E <name>
 *     part   = <length> <letters> | St | Sa ... | C1..C3 | D0..D2 | <operator>
 *              | Ul <parameters> E [number] _ | Ut [number] _, each with
 *              B <tag> or I <arguments> E behind it
 *
 * Arguments are skipped, not read: nothing here grows with the demangled
 * name, so a hostile one costs no more than its length. (Itanium C++ ABI, 5.1.)
 */
#include "merge/output/cxxname.h"

#include <string.h>

#include "merge/model/rustname.h"

/* Arguments within arguments. */
#define DEPTH_MAX 64

/* A mangled text and what was made of it. */
struct cxxname {
    const char *at;
    char *to;
    size_t room;
    size_t used;
    const char *last; /* start of the last part in `to`, for constructors */
    size_t last_length;
    int inner; /* names and parameters that are within others */
};

struct code {
    const char code[3];
    const char *text;
};

static const struct code operators[] = {
    {"nw", "operator new"},      {"na", "operator new[]"},
    {"dl", "operator delete"},   {"da", "operator delete[]"},
    {"aw", "operator co_await"}, {"ps", "operator+"},
    {"ng", "operator-"},         {"ad", "operator&"},
    {"de", "operator*"},         {"co", "operator~"},
    {"pl", "operator+"},         {"mi", "operator-"},
    {"ml", "operator*"},         {"dv", "operator/"},
    {"rm", "operator%"},         {"an", "operator&"},
    {"or", "operator|"},         {"eo", "operator^"},
    {"aS", "operator="},         {"pL", "operator+="},
    {"mI", "operator-="},        {"mL", "operator*="},
    {"dV", "operator/="},        {"rM", "operator%="},
    {"aN", "operator&="},        {"oR", "operator|="},
    {"eO", "operator^="},        {"ls", "operator<<"},
    {"rs", "operator>>"},        {"lS", "operator<<="},
    {"rS", "operator>>="},       {"eq", "operator=="},
    {"ne", "operator!="},        {"lt", "operator<"},
    {"gt", "operator>"},         {"le", "operator<="},
    {"ge", "operator>="},        {"ss", "operator<=>"},
    {"nt", "operator!"},         {"aa", "operator&&"},
    {"oo", "operator||"},        {"pp", "operator++"},
    {"mm", "operator--"},        {"cm", "operator,"},
    {"pm", "operator->*"},       {"pt", "operator->"},
    {"cl", "operator()"},        {"ix", "operator[]"},
};

/* What is so common that it has a letter. */
static const struct code known[] = {
    {"St", "std"},
    {"Sa", "std::allocator"},
    {"Sb", "std::basic_string"},
    {"Ss", "std::string"},
    {"Si", "std::istream"},
    {"So", "std::ostream"},
    {"Sd", "std::iostream"},
};

static const char *
code_text(const struct code *codes, size_t count, const char *at)
{
    for (size_t i = 0; i < count; i++) {
        if (codes[i].code[0] == at[0] && codes[i].code[1] == at[1]) {
            return codes[i].text;
        }
    }
    return NULL;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int put(struct cxxname *symbol, const char *bytes, size_t length)
{
    if (symbol->used + length + 1 > symbol->room) {
        return 0;
    }
    memcpy(symbol->to + symbol->used, bytes, length);
    symbol->used += length;
    symbol->to[symbol->used] = '\0';
    return 1;
}

/* A length and so many letters, which *name then is. False: there is none. */
static int word_take(struct cxxname *symbol, const char **name, size_t *length)
{
    size_t count = 0;

    if (!is_digit(*symbol->at)) {
        return 0;
    }
    while (is_digit(*symbol->at) && count < 100000) {
        count = count * 10 + (size_t)(*symbol->at++ - '0');
    }
    if (count == 0 || strnlen(symbol->at, count) < count) {
        return 0;
    }
    *name = symbol->at;
    *length = count;
    symbol->at += count;
    return 1;
}

/* S_, S0_, T_, T1_ behind their letter. */
static int back_skip(struct cxxname *symbol)
{
    while (is_digit(*symbol->at) ||
           (*symbol->at >= 'A' && *symbol->at <= 'Z')) {
        symbol->at++;
    }
    if (*symbol->at != '_') {
        return 0;
    }
    symbol->at++;
    return 1;
}

static int argument_skip(struct cxxname *symbol, int *depth);

/* Up to the E of what they are in, with it. */
static int list_skip(struct cxxname *symbol)
{
    int depth = 1;

    while (depth > 0) {
        if (!argument_skip(symbol, &depth)) {
            return 0;
        }
    }
    return 1;
}

/* A type without a name behind its U: l <parameters> E [number] _, or
 * t [number] _. */
static int unnamed_skip(struct cxxname *symbol)
{
    int is_read = *symbol->at == 't';

    if (!is_read && *symbol->at != 'l') {
        return 0;
    }
    symbol->at++;
    if (!is_read && symbol->inner < DEPTH_MAX) {
        symbol->inner++;
        is_read = list_skip(symbol);
        symbol->inner--;
    }
    return is_read && back_skip(symbol);
}

/* A literal behind its L: Li4E, Lb1E, L4enum2E, LN1a4enumE2E, L_Z3fooE. */
static int literal_skip(struct cxxname *symbol, int *depth)
{
    int inner = *depth + 1;
    const char *name;
    size_t length;

    if (inner == DEPTH_MAX) {
        return 0;
    }
    if (symbol->at[0] == '_' && symbol->at[1] == 'Z') {
        symbol->at += 2;
        *depth = inner; /* up to the literal's own E */
        return 1;
    }
    if (*symbol->at == 'N') {
        symbol->at++;
        while (inner > *depth) {
            if (!argument_skip(symbol, &inner)) {
                return 0;
            }
        }
    } else if (is_digit(*symbol->at) && !word_take(symbol, &name, &length)) {
        return 0;
    }
    symbol->at += strcspn(symbol->at, "E");
    if (*symbol->at == '\0') {
        return 0;
    }
    symbol->at++;
    return 1;
}

/* One step of arguments. False: not understood. */
static int argument_skip(struct cxxname *symbol, int *depth)
{
    const char *name;
    size_t length;
    char c = *symbol->at;

    if (is_digit(c)) {
        return word_take(symbol, &name, &length);
    }
    if (c == '\0') {
        return 0;
    }
    symbol->at++;
    switch (c) {
    case 'E':
        --*depth;
        return 1;
    case 'I':
    case 'N':
    case 'X':
    case 'J':
    case 'F':
    case 'Z': /* a function, and the next is a part */
        return ++*depth < DEPTH_MAX;
    case 'L':
        return literal_skip(symbol, depth);
    case 'T':
        return back_skip(symbol);
    case 'S':
        if (*symbol->at >= 'a' && *symbol->at <= 'z') {
            symbol->at++;
            return 1;
        }
        return back_skip(symbol);
    case 'A':
        return back_skip(symbol);
    case 'U':
        return unnamed_skip(symbol);
    default:
        return 1;
    }
}

/* Template arguments behind their I. */
static int arguments_skip(struct cxxname *symbol)
{
    return list_skip(symbol) && put(symbol, "<...>", 5);
}

/* A part that is no word. False: not understood. */
static int special_take(struct cxxname *symbol)
{
    const char *at = symbol->at;
    const char *text;

    if (at[0] == '\0' || at[1] == '\0') {
        return 0;
    }
    if (at[0] == 'U') {
        symbol->at++;
        return unnamed_skip(symbol) &&
               (at[1] == 'l' ? put(symbol, "{lambda}", 8)
                             : put(symbol, "{unnamed}", 9));
    }
    symbol->at += 2;
    if (at[0] == 'C' && is_digit(at[1])) {
        return put(symbol, symbol->last, symbol->last_length);
    }
    if (at[0] == 'D' && is_digit(at[1])) {
        return put(symbol, "~", 1) &&
               put(symbol, symbol->last, symbol->last_length);
    }
    text = code_text(operators, sizeof(operators) / sizeof(operators[0]), at);
    return text != NULL && put(symbol, text, strlen(text));
}

static int part_take(struct cxxname *symbol, int is_first)
{
    const char *name;
    size_t length;

    if (!is_first && !put(symbol, "::", 2)) {
        return 0;
    }
    name = code_text(known, sizeof(known) / sizeof(known[0]), symbol->at);
    if (name != NULL) {
        symbol->at += 2;
        symbol->last =
            strrchr(name, ':') != NULL ? strrchr(name, ':') + 1 : name;
        symbol->last_length = strlen(symbol->last);
        return put(symbol, name, strlen(name));
    }
    if (!is_digit(*symbol->at)) {
        return special_take(symbol);
    }
    if (!word_take(symbol, &name, &length)) {
        return 0;
    }
    symbol->last = name;
    symbol->last_length = length;
    return strncmp(name, "_GLOBAL__N", 10) == 0 ? put(symbol, "(anonymous)", 11)
                                                : put(symbol, name, length);
}

static int parts_take(struct cxxname *symbol)
{
    int is_first = 1;

    symbol->at += strspn(symbol->at, "rVKRO");
    while (*symbol->at != 'E') {
        if (*symbol->at == 'B' && !is_first) {
            const char *tag;
            size_t length;

            symbol->at++;
            if (!word_take(symbol, &tag, &length)) {
                return 0;
            }
            continue;
        }
        if (*symbol->at == 'I' && !is_first) {
            symbol->at++;
            if (!arguments_skip(symbol)) {
                return 0;
            }
            continue;
        }
        if (!part_take(symbol, is_first)) {
            return 0;
        }
        is_first = 0;
    }
    return !is_first;
}

static int name_take(struct cxxname *symbol);

/* Behind a Z: a function, and what is within it. */
static int local_take(struct cxxname *symbol)
{
    int is_read = 0;

    if (symbol->inner < DEPTH_MAX) {
        symbol->inner++;
        is_read = name_take(symbol) && list_skip(symbol) &&
                  put(symbol, "::", 2) && name_take(symbol);
        symbol->inner--;
    }
    return is_read;
}

static int name_take(struct cxxname *symbol)
{
    size_t before = symbol->used;

    symbol->at += *symbol->at == 'L'; /* of one file alone */
    if (*symbol->at == 'Z') {
        symbol->at++;
        return local_take(symbol);
    }
    if (*symbol->at == 'N') {
        symbol->at++;
        if (!parts_take(symbol)) {
            return 0;
        }
        symbol->at++; /* its E */
        return 1;
    }
    if (!part_take(symbol, 1)) {
        return 0;
    }
    if (symbol->used == before + 3 && strcmp(symbol->to + before, "std") == 0 &&
        !part_take(symbol, 0)) {
        return 0;
    }
    if (*symbol->at == 'I') {
        symbol->at++;
        return arguments_skip(symbol);
    }
    return 1;
}

/* 0: it is not understood. */
static int symbol_take(char *to, size_t room, const char *text)
{
    struct cxxname symbol = {
        .at = text + 2, .to = to, .room = room, .last = ""};

    return name_take(&symbol);
}

int cxxname_plain(char *to, size_t room, const char *text)
{
    if (strncmp(text, "_R", 2) == 0) {
        return rustname_plain(to, room, text);
    }
    if (strncmp(text, "_Z", 2) != 0 || !symbol_take(to, room, text)) {
        return 0;
    }
    rustname_older(to);
    return 1;
}

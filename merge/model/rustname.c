/* rustname.c - names of Rust as their source has them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A name is a tree in prefix notation; a part that was there before is a
 * reference to its place ("B"). It is printed while it is read, without
 * disambiguators and lifetimes. What is not printed follows no reference, and
 * what is printed ends with the room: so no name takes long.
 */
#include "merge/model/rustname.h"

#include <stdint.h>
#include <string.h>

/* Parts within parts; deeper names stay as they are. */
#define DEEPEST 64
#define HASH 16 /* digits of the older mangling's */

struct rust {
    const char *text; /* behind "_R" */
    size_t length, at;
    char *to; /* NULL = nothing is printed */
    size_t room, used;
    unsigned depth;
    bool is_bad;
    bool is_short; /* without arguments */
    bool is_open;  /* arguments of a trait are, by trait_print() */
};

static void path_print(struct rust *rust, bool is_value);
static void type_print(struct rust *rust);

/* ---- reading and printing ------------------------------------------------ */

static void put_bytes(struct rust *rust, const char *text, size_t length)
{
    if (rust->to == NULL || rust->is_bad) {
        return;
    }
    if (length >= rust->room - rust->used) {
        rust->is_bad = true;
        return;
    }
    memcpy(rust->to + rust->used, text, length);
    rust->used += length;
}

static void put(struct rust *rust, const char *text)
{
    put_bytes(rust, text, strlen(text));
}

static void put_number(struct rust *rust, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put_bytes(rust, digits + at, sizeof(digits) - at);
}

static char next(struct rust *rust)
{
    if (rust->is_bad || rust->at >= rust->length) {
        rust->is_bad = true;
        return '\0';
    }
    return rust->text[rust->at++];
}

static bool take(struct rust *rust, char c)
{
    if (!rust->is_bad && rust->at < rust->length && rust->text[rust->at] == c) {
        rust->at++;
        return true;
    }
    return false;
}

/* Of 62; -1 = it is none. */
static int digit_of(char c)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *at = c == '\0' ? NULL : strchr(digits, c);

    return at == NULL ? -1 : (int)(at - digits);
}

/* "_" is 0, "0_" is 1 ... */
static uint64_t base62_read(struct rust *rust)
{
    uint64_t number = 0;

    if (take(rust, '_')) {
        return 0;
    }
    while (!rust->is_bad && !take(rust, '_')) {
        char c = next(rust);
        int digit = digit_of(c);

        if (digit < 0 || __builtin_mul_overflow(number, 62, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit, &number)) {
            rust->is_bad = true;
        }
    }
    return number + 1;
}

/* Behind a letter, if that is there: one more than base62_read(); else 0. */
static uint64_t optional_read(struct rust *rust, char letter)
{
    return take(rust, letter) ? base62_read(rust) + 1 : 0;
}

struct identifier {
    const char *text;
    size_t length;
    bool is_punycode;
};

static struct identifier identifier_read(struct rust *rust)
{
    struct identifier found = {.is_punycode = take(rust, 'u')};
    size_t length = 0;

    if (rust->at >= rust->length || rust->text[rust->at] < '0' ||
        rust->text[rust->at] > '9') {
        rust->is_bad = true;
        return found;
    }
    if (!take(rust, '0')) {
        while (rust->at < rust->length && rust->text[rust->at] >= '0' &&
               rust->text[rust->at] <= '9' && length < rust->length) {
            length = length * 10 + (size_t)(rust->text[rust->at++] - '0');
        }
    }
    (void)take(rust, '_');
    if (length > rust->length - rust->at) {
        rust->is_bad = true;
        return found;
    }
    found.text = rust->text + rust->at;
    found.length = length;
    rust->at += length;
    return found;
}

static void identifier_put(struct rust *rust, const struct identifier *of)
{
    if (of->is_punycode) {
        put(rust, "punycode{");
    }
    put_bytes(rust, of->text, of->text == NULL ? 0 : of->length);
    if (of->is_punycode) {
        put(rust, "}");
    }
}

/* Read, without a trace. */
static void silently(struct rust *rust, void (*read)(struct rust *))
{
    char *to = rust->to;

    rust->to = NULL;
    read(rust);
    rust->to = to;
}

/* What is at an earlier place; behind "B". */
static void again(struct rust *rust, void (*print)(struct rust *))
{
    size_t here = rust->at - 1;
    uint64_t there = base62_read(rust);
    size_t behind = rust->at;

    if (there >= here) {
        rust->is_bad = true;
        return;
    }
    if (rust->to != NULL) {
        rust->at = (size_t)there;
        print(rust);
        rust->at = behind;
    }
}

static bool enter(struct rust *rust)
{
    if (++rust->depth > DEEPEST) {
        rust->is_bad = true;
    }
    return !rust->is_bad;
}

/* Items up to "E". How many. */
static unsigned
list_print(struct rust *rust, void (*print)(struct rust *), const char *between)
{
    unsigned count = 0;

    while (!rust->is_bad && !take(rust, 'E')) {
        put(rust, count > 0 ? between : "");
        print(rust);
        count++;
    }
    return count;
}

/* ---- paths --------------------------------------------------------------- */

static void type_path(struct rust *rust)
{
    path_print(rust, false);
}

static void value_path(struct rust *rust)
{
    path_print(rust, true);
}

/* Where an implementation is: not printed. */
static void impl_skip(struct rust *rust)
{
    (void)optional_read(rust, 's');
    silently(rust, type_path);
}

/* {closure#0}, {shim:vtable#0}; a plain name. */
static void nested_print(struct rust *rust, bool is_value)
{
    char space = next(rust);
    bool is_special = space >= 'A' && space <= 'Z';
    uint64_t number;
    struct identifier of;

    path_print(rust, is_value);
    number = optional_read(rust, 's');
    of = identifier_read(rust);
    if (!is_special) {
        put(rust, of.length > 0 ? "::" : "");
        identifier_put(rust, &of);
        return;
    }
    put(rust, "::{");
    if (space == 'C' || space == 'S') {
        put(rust, space == 'C' ? "closure" : "shim");
    } else {
        put_bytes(rust, &space, 1);
    }
    put(rust, of.length > 0 ? ":" : "");
    identifier_put(rust, &of);
    put(rust, "#");
    put_number(rust, number);
    put(rust, "}");
}

static void const_print(struct rust *rust);

static void argument_print(struct rust *rust)
{
    if (take(rust, 'L')) {
        (void)base62_read(rust);
        put(rust, "'_");
    } else if (take(rust, 'K')) {
        const_print(rust);
    } else {
        type_print(rust);
    }
}

static void arguments_skip(struct rust *rust)
{
    (void)list_print(rust, argument_print, "");
}

static void path_print(struct rust *rust, bool is_value)
{
    struct identifier of;
    char kind;

    if (!enter(rust)) {
        return;
    }
    kind = next(rust);
    switch (kind) {
    case 'C':
        (void)optional_read(rust, 's');
        of = identifier_read(rust);
        identifier_put(rust, &of);
        break;
    case 'N':
        nested_print(rust, is_value);
        break;
    case 'M':
    case 'X':
        impl_skip(rust);
        /* fall through */
    case 'Y':
        put(rust, "<");
        type_print(rust);
        if (kind != 'M') {
            put(rust, " as ");
            path_print(rust, false);
        }
        put(rust, ">");
        break;
    case 'I':
        path_print(rust, is_value);
        if (rust->is_short) {
            silently(rust, arguments_skip);
        } else {
            put(rust, is_value ? "::<" : "<");
            (void)list_print(rust, argument_print, ", ");
            put(rust, ">");
        }
        break;
    case 'B':
        again(rust, is_value ? value_path : type_path);
        break;
    default:
        rust->is_bad = true;
    }
    rust->depth--;
}

/* ---- types --------------------------------------------------------------- */

static const char *basic_name(char c)
{
    static const char *const names['z' + 1] = {
        ['a'] = "i8",    ['b'] = "bool", ['c'] = "char", ['d'] = "f64",
        ['e'] = "str",   ['f'] = "f32",  ['h'] = "u8",   ['i'] = "isize",
        ['j'] = "usize", ['l'] = "i32",  ['m'] = "u32",  ['n'] = "i128",
        ['o'] = "u128",  ['p'] = "_",    ['s'] = "i16",  ['t'] = "u16",
        ['u'] = "()",    ['v'] = "...",  ['x'] = "i64",  ['y'] = "u64",
        ['z'] = "!",
    };

    return c >= 'a' && c <= 'z' ? names[(int)c] : NULL;
}

/* A trait's path, whose arguments stay open: more may follow. */
static void trait_print(struct rust *rust)
{
    rust->is_open = false;
    if (take(rust, 'B')) {
        again(rust, trait_print);
    } else if (!rust->is_short && take(rust, 'I')) {
        path_print(rust, false);
        put(rust, "<");
        (void)list_print(rust, argument_print, ", ");
        rust->is_open = true;
    } else {
        path_print(rust, false);
        rust->is_open = false;
    }
}

/* With what its types are: Iterator<Item = u8>. */
static void bound_print(struct rust *rust)
{
    bool is_open;

    trait_print(rust);
    is_open = rust->is_open;
    while (take(rust, 'p')) {
        struct identifier of = identifier_read(rust);

        put(rust, is_open ? ", " : "<");
        is_open = true;
        identifier_put(rust, &of);
        put(rust, " = ");
        type_print(rust);
    }
    put(rust, is_open ? ">" : "");
}

static void function_print(struct rust *rust)
{
    (void)optional_read(rust, 'G');
    put(rust, take(rust, 'U') ? "unsafe " : "");
    if (take(rust, 'K')) {
        struct identifier of = {"C", 1, false};

        if (!take(rust, 'C')) {
            of = identifier_read(rust);
        }
        put(rust, "extern \"");
        identifier_put(rust, &of);
        put(rust, "\" ");
    }
    put(rust, "fn(");
    (void)list_print(rust, type_print, ", ");
    put(rust, ")");
    if (!take(rust, 'u')) {
        put(rust, " -> ");
        type_print(rust);
    }
}

static void reference_print(struct rust *rust, const char *what)
{
    put(rust, what);
    if (take(rust, 'L')) {
        (void)base62_read(rust);
    }
    type_print(rust);
}

static void tuple_print(struct rust *rust)
{
    put(rust, "(");
    put(rust, list_print(rust, type_print, ", ") == 1 ? ",)" : ")");
}

/* A type that is no path and none of the basic ones. False: it is a path. */
static bool composed_print(struct rust *rust, char kind)
{
    switch (kind) {
    case 'A':
    case 'S':
        put(rust, "[");
        type_print(rust);
        if (kind == 'A') {
            put(rust, "; ");
            const_print(rust);
        }
        put(rust, "]");
        return true;
    case 'T':
        tuple_print(rust);
        return true;
    case 'R':
        reference_print(rust, "&");
        return true;
    case 'Q':
        reference_print(rust, "&mut ");
        return true;
    case 'P':
        reference_print(rust, "*const ");
        return true;
    case 'O':
        reference_print(rust, "*mut ");
        return true;
    case 'F':
        function_print(rust);
        return true;
    case 'D':
        put(rust, "dyn ");
        (void)optional_read(rust, 'G');
        (void)list_print(rust, bound_print, " + ");
        if (!take(rust, 'L')) {
            rust->is_bad = true;
        }
        (void)base62_read(rust);
        return true;
    case 'B':
        again(rust, type_print);
        return true;
    default:
        return false;
    }
}

static void type_print(struct rust *rust)
{
    const char *basic;
    char kind;

    if (!enter(rust)) {
        return;
    }
    kind = next(rust);
    basic = basic_name(kind);
    if (basic != NULL) {
        put(rust, basic);
    } else if (!composed_print(rust, kind)) {
        rust->at -= !rust->is_bad;
        path_print(rust, false);
    }
    rust->depth--;
}

/* A number, true, or a letter; others are not part of names yet. */
static void const_print(struct rust *rust)
{
    uint64_t number = 0;
    size_t digits = 0;
    char kind;

    if (take(rust, 'B')) {
        again(rust, const_print);
        return;
    }
    kind = next(rust);
    if (kind == 'p') {
        put(rust, "_");
        return;
    }
    if (basic_name(kind) == NULL) {
        rust->is_bad = true;
        return;
    }
    put(rust, take(rust, 'n') ? "-" : "");
    for (; !rust->is_bad && !take(rust, '_'); digits++) {
        char c = next(rust);

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            rust->is_bad = true;
            return;
        }
        number = number << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (kind == 'b') {
        put(rust, number == 0 ? "false" : "true");
    } else if (digits > 16) {
        put(rust, "{large}");
    } else {
        put_number(rust, number);
    }
}

/* ---- names --------------------------------------------------------------- */

static bool name_print(struct rust *rust, const char *name)
{
    if (strncmp(name, "_R", 2) != 0 || rust->room == 0) {
        return false;
    }
    rust->text = name + 2;
    rust->length = strcspn(rust->text, ".$");
    path_print(rust, true);
    if (!rust->is_bad && rust->at < rust->length) {
        silently(rust, type_path); /* the crate that made this instance */
    }
    if (rust->is_bad || rust->at != rust->length) {
        return false;
    }
    rust->to[rust->used] = '\0';
    return true;
}

bool rustname_whole(char *to, size_t room, const char *name)
{
    struct rust rust = {.to = to, .room = room};

    return name_print(&rust, name);
}

bool rustname_plain(char *to, size_t room, const char *name)
{
    struct rust rust = {.to = to, .room = room, .is_short = true};

    return name_print(&rust, name);
}

/* ---- the older mangling -------------------------------------------------- */

static const struct {
    const char *code;
    char sign;
} signs[] = {{"$SP$", '@'},  {"$BP$", '*'},   {"$RF$", '&'},  {"$LT$", '<'},
             {"$GT$", '>'},  {"$LP$", '('},   {"$RP$", ')'},  {"$C$", ','},
             {"$u20$", ' '}, {"$u27$", '\''}, {"$u5b$", '['}, {"$u5d$", ']'},
             {"$u7b$", '{'}, {"$u7d$", '}'},  {"$u3b$", ';'}, {"$u2b$", '+'},
             {"$u22$", '"'}, {"$u7e$", '~'}};

/* The sign that a code at the begin of the text is for; '\0' = there is none.
 */
static char sign_of(const char *text, size_t *length)
{
    for (size_t i = 0; text[0] == '$' && i < sizeof(signs) / sizeof(signs[0]);
         i++) {
        *length = strlen(signs[i].code);
        if (strncmp(text, signs[i].code, *length) == 0) {
            return signs[i].sign;
        }
    }
    return '\0';
}

static const char hex[] = "0123456789abcdef";

/* Parts of names have dots, too: "core..convert". */
size_t rustname_older_length(const char *name)
{
    for (const char *at = strstr(name, "17h"); at != NULL;
         at = strstr(at + 1, "17h")) {
        const char *end = at + 3 + HASH;

        if (strspn(at + 3, hex) == HASH && strncmp(end, "E.", 2) == 0) {
            return (size_t)(end + 1 - name);
        }
    }
    return strlen(name);
}

void rustname_older(char *plain)
{
    size_t length = strlen(plain), used = 0, at = 0;

    if (length <= HASH + 3 ||
        strncmp(plain + length - HASH - 3, "::h", 3) != 0 ||
        strspn(plain + length - HASH, hex) != HASH) {
        return;
    }
    plain[length - HASH - 3] = '\0';
    while (plain[at] != '\0') {
        size_t code = 1;
        char sign = sign_of(plain + at, &code);

        if (sign != '\0') {
            plain[used++] = sign;
            at += code;
        } else if (plain[at] == '_' && plain[at + 1] == '$' &&
                   (at == 0 || plain[at - 1] == ':')) {
            at++; /* a name may not begin with a code */
        } else if (plain[at] == '.' && plain[at + 1] == '.') {
            plain[used++] = ':';
            plain[used++] = ':';
            at += 2;
        } else {
            plain[used++] = plain[at++];
        }
    }
    plain[used] = '\0';
}

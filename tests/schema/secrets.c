/* secrets.c - no step that is taken depends on a byte of a secret
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Run by valgrind, which reports each jump that depends on bytes without a
 * value. Such are the key and the secret here, until a comparison has its
 * answer. Lengths are no secret: strlen() is left out by secrets.supp.
 * `fast` compares as one would not: valgrind is to report that.
 */
#include <stdio.h>
#include <string.h>
#include <valgrind/memcheck.h>

#include "schema/auth.h"

#define LENGTH 32

/* Public from here on. */
static bool open(bool answer)
{
    (void)VALGRIND_MAKE_MEM_DEFINED(&answer, sizeof(answer));
    return answer;
}

static bool compare_fast(const char *secret, const char *text)
{
    return memcmp(secret, text, LENGTH) == 0;
}

/* Texts that are equal, and that differ at each place. 0 = as it should. */
static int texts(bool (*compare)(const char *, const char *))
{
    char secret[LENGTH + 1] = "0123456789abcdef0123456789abcdef";
    char text[LENGTH + 1];
    int wrong = 0;

    for (int at = 0; at <= LENGTH; at++) {
        memcpy(text, secret, sizeof(text));
        (void)VALGRIND_MAKE_MEM_DEFINED(text, sizeof(text));
        if (at < LENGTH) {
            text[at] = 'x';
        }
        (void)VALGRIND_MAKE_MEM_UNDEFINED(secret, LENGTH);
        wrong += open(compare(secret, text)) != (at == LENGTH);
    }
    return wrong;
}

static int tags(void)
{
    uint8_t key[CK_AUTH_KEY_BYTES] = {7};
    uint8_t tag[CK_AUTH_TAG_BYTES];
    int wrong = 0;

    ck_auth_tag(key, "abc", 3, tag);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(key, sizeof(key));
    wrong += !open(ck_auth_is(key, "abc", 3, tag));
    for (size_t at = 0; at < sizeof(tag); at++) {
        tag[at] ^= 1;
        wrong += open(ck_auth_is(key, "abc", 3, tag));
        tag[at] ^= 1;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "fast") == 0) {
        return texts(compare_fast);
    }
    if (RUNNING_ON_VALGRIND == 0) {
        (void)fputs("only valgrind sees the steps\n", stderr);
        return 1;
    }
    return texts(ck_auth_equal) + tags();
}

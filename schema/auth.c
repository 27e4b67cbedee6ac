/* auth.c - a keyed tag: who has the key wrote these bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/auth.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>

#include <sodium.h>

_Static_assert(CK_AUTH_TAG_BYTES >= crypto_generichash_BYTES_MIN,
               "a tag that BLAKE2b can make");
_Static_assert(CK_AUTH_KEY_BYTES + CK_AUTH_BYTES_MAX <= 128,
               "one block of BLAKE2b");

int ck_auth_key(uint8_t key[CK_AUTH_KEY_BYTES])
{
    return getrandom(key, CK_AUTH_KEY_BYTES, 0) == CK_AUTH_KEY_BYTES ? 0 : -1;
}

void ck_auth_key_hex(const uint8_t key[CK_AUTH_KEY_BYTES],
                     char hex[CK_AUTH_KEY_HEX])
{
    (void)sodium_bin2hex(hex, CK_AUTH_KEY_HEX, key, CK_AUTH_KEY_BYTES);
}

int ck_auth_key_parse(const char *hex, uint8_t key[CK_AUTH_KEY_BYTES])
{
    uint8_t bytes[CK_AUTH_KEY_BYTES];
    size_t length = 0;

    if (strlen(hex) != CK_AUTH_KEY_HEX - 1 ||
        sodium_hex2bin(bytes, sizeof(bytes), hex, CK_AUTH_KEY_HEX - 1, NULL,
                       &length, NULL) != 0 ||
        length != CK_AUTH_KEY_BYTES) {
        return -1;
    }
    memcpy(key, bytes, CK_AUTH_KEY_BYTES);
    return 0;
}

/* What BLAKE2b has hashed cannot be lengthened, so a key in front of the bytes
 * is as good as its keyed mode. That would hash one more block: twice the time.
 */
void ck_auth_tag(const uint8_t key[CK_AUTH_KEY_BYTES],
                 const void *bytes,
                 size_t length,
                 uint8_t tag[CK_AUTH_TAG_BYTES])
{
    uint8_t block[CK_AUTH_KEY_BYTES + CK_AUTH_BYTES_MAX];

    assert(length <= CK_AUTH_BYTES_MAX);
    memcpy(block, key, CK_AUTH_KEY_BYTES);
    memcpy(block + CK_AUTH_KEY_BYTES, bytes, length);
    (void)crypto_generichash(tag, CK_AUTH_TAG_BYTES, block,
                             CK_AUTH_KEY_BYTES + length, NULL, 0);
    sodium_memzero(block, CK_AUTH_KEY_BYTES);
}

bool ck_auth_is(const uint8_t key[CK_AUTH_KEY_BYTES],
                const void *bytes,
                size_t length,
                const uint8_t tag[CK_AUTH_TAG_BYTES])
{
    uint8_t right[CK_AUTH_TAG_BYTES];

    ck_auth_tag(key, bytes, length, right);
    return sodium_memcmp(right, tag, CK_AUTH_TAG_BYTES) == 0;
}

bool ck_auth_equal(const char *secret, const char *text)
{
    size_t length = strlen(secret);

    return strlen(text) == length && sodium_memcmp(secret, text, length) == 0;
}

void ck_auth_forget(uint8_t key[CK_AUTH_KEY_BYTES])
{
    sodium_memzero(key, CK_AUTH_KEY_BYTES);
}

/* auth.h - a keyed tag: who has the key wrote these bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The only file that knows libsodium. The tag is BLAKE2b of key and bytes,
 * which together are one block of it, cut to 16; comparing takes the same time
 * wherever two tags differ.
 */
#ifndef CK_SCHEMA_AUTH_H
#define CK_SCHEMA_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CK_AUTH_KEY_BYTES 32
#define CK_AUTH_TAG_BYTES 16
/* Longest that has a tag. */
#define CK_AUTH_BYTES_MAX 96
#define CK_AUTH_KEY_HEX (2 * CK_AUTH_KEY_BYTES + 1)

/* A new random key. 0, or -1 with errno: no random bytes. */
int ck_auth_key(uint8_t key[CK_AUTH_KEY_BYTES]);
/* As text and back: 0, or -1 (not exactly such a text). */
void ck_auth_key_hex(const uint8_t key[CK_AUTH_KEY_BYTES],
                     char hex[CK_AUTH_KEY_HEX]);
int ck_auth_key_parse(const char *hex, uint8_t key[CK_AUTH_KEY_BYTES]);

void ck_auth_tag(const uint8_t key[CK_AUTH_KEY_BYTES],
                 const void *bytes,
                 size_t length,
                 uint8_t tag[CK_AUTH_TAG_BYTES]);
bool ck_auth_is(const uint8_t key[CK_AUTH_KEY_BYTES],
                const void *bytes,
                size_t length,
                const uint8_t tag[CK_AUTH_TAG_BYTES]);
/* Are two secret texts equal? The time it takes does not show where they
 * differ; it may show that their lengths do. */
bool ck_auth_equal(const char *secret, const char *text);
/* Overwrite a key that is not needed any more. */
void ck_auth_forget(uint8_t key[CK_AUTH_KEY_BYTES]);

#endif

/* fnv.h - the FNV-1a hash of 64 bits
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake: The FNV Non-Cryptographic Hash
 * Algorithm (draft-eastlake-fnv), FNV-1a. For tables and file names of our own
 * data: it is no protection against texts that are chosen to collide. Its high
 * bits are poor for short texts: mix them where a table takes those. */
#ifndef CK_SCHEMA_FNV_H
#define CK_SCHEMA_FNV_H

#include <stddef.h>
#include <stdint.h>

#define CK_FNV_START 0xcbf29ce484222325u
#define CK_FNV_PRIME 0x100000001b3u

/* `hash` (CK_FNV_START at first) with `length` bytes more. */
static inline uint64_t ck_fnv(uint64_t hash, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * CK_FNV_PRIME;
    }
    return hash;
}

/* The same of a text, without its NUL. */
static inline uint64_t ck_fnv_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * CK_FNV_PRIME;
    }
    return hash;
}

#endif

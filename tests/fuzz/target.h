/* target.h - what a fuzz target is: bytes that nothing vouches for
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Called by libFuzzer (clang), or by driver.c with files (any compiler).
 */
#ifndef CK_TESTS_FUZZ_TARGET_H
#define CK_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif

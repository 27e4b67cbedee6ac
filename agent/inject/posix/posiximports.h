/* posiximports.h - what a program asks of other libraries
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_POSIX_POSIXIMPORTS_H
#define CK_AGENT_INJECT_POSIX_POSIXIMPORTS_H

#include <stdbool.h>

/* Is the file a program of this processor that uses the C library alone, and
 * of it no function that is recorded but for output to streams, none that
 * starts a program or a thread, and none that loads a library? False where
 * that cannot be seen. By system calls, in 6 KiB of the stack; for a child of
 * vfork() too. */
bool posix_imports_little(const char *path);

#endif

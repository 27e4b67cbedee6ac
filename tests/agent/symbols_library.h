/* symbols_library.h - what symbols_target.c calls in another file
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_AGENT_SYMBOLS_LIBRARY_H
#define CK_TESTS_AGENT_SYMBOLS_LIBRARY_H

/* Print "ADDRESS FUNCTION LINE" of the place that calls. */
void symbols_here(const char *function, int line);
/* symbols_here() called from inside the library. */
void symbols_inside(void);

#endif

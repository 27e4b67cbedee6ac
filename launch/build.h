/* build.h - what a program was built from, for --version
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Defined in a file that the build writes (launch/build.cmake). Only the four
 * programs link it, so that a new commit does not link every test again.
 */
#ifndef CK_LAUNCH_BUILD_H
#define CK_LAUNCH_BUILD_H

/* Lines: commit, compiler and libc, libraries; ends with NULL. */
extern const char *const ck_build_facts[];

#endif

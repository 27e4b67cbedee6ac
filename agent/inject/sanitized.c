/* sanitized.c - let programs built with the address sanitizer start
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Its runtime, where it is a library, ends a program in which another library
 * comes first, as a preloaded one does. It asks for this function first, in
 * the program and then here. What comes behind us still reaches it: our
 * wrappers call the next definition, which is the runtime's.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}

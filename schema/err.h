/* err.h - the text of an error, owned by the caller
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_SCHEMA_ERR_H
#define CK_SCHEMA_ERR_H

#ifdef __cplusplus
extern "C" {
#endif

#define CK_ERR_BYTES 512

/* One line for a person: what, where, what to do. No newline. */
struct ck_err {
    char text[CK_ERR_BYTES];
};

/* Set the text (cut when too long; err may be NULL). Keeps errno. Always
 * returns -1, for `return ck_err_set(...)`.
 */
int ck_err_set(struct ck_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for functions that return a pointer: NULL. */
#define ck_err_null(...) ((void)ck_err_set(__VA_ARGS__), NULL)

#ifdef __cplusplus
}
#endif

#endif

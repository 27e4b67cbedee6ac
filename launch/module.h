/* module.h - a part of a program that is loaded when it is asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Libraries that few jobs need would cost each program that is started their
 * mapping and their relocations: 290 page faults for libpfm4's tables, 200 for
 * libmicrohttpd's TLS. What needs such a library is a module in ../lib/ck, and
 * it alone is linked with it.
 */
#ifndef CK_LAUNCH_MODULE_H
#define CK_LAUNCH_MODULE_H

#include "schema/err.h"

/* A name of the module's, "libckpfm.so"; it stays loaded. NULL with err: the
 * file is not there, it or its library cannot be loaded, or it is of another
 * version. */
void *ck_module_symbol(const char *file, const char *name, struct ck_err *err);

#endif

/* kernelprofile.h - kernel_profile.json, as nkipy's profiler writes it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * kernel_calls (file, line, kernel of each call, in order) and events_json, a
 * string that holds JSON of its own: starts and stops of runtime functions,
 * and of executions on cores (nc_exec_running).
 */
#ifndef CK_MERGE_PROFILES_KERNELPROFILE_H
#define CK_MERGE_PROFILES_KERNELPROFILE_H

#include "merge/json/jsonread.h"
#include "merge/profiles/import.h"

/* As chrometrace_read(). */
int kernelprofile_read(struct json *json,
                       struct import *import,
                       struct import_facts *facts,
                       struct ck_err *err);

#endif

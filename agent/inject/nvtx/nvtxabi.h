/* nvtxabi.h - NVTX version 3, as far as an injected library sees it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Written from the layouts of nvToolsExt.h and nvtxTypes.h. The program has the
 * library in itself; at its first call it opens NVTX_INJECTION64_PATH, which
 * puts its own functions in the tables of modules that it asks for.
 */
#ifndef CK_AGENT_INJECT_NVTX_NVTXABI_H
#define CK_AGENT_INJECT_NVTX_NVTXABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_CALLBACKS 1u /* the exported table that has the modules */

enum nvtx_module {
    NVTX_CORE = 1,
    NVTX_DOMAINS = 5,
};

/* Functions of a module, by their places in its table. */
enum nvtx_core {
    NVTX_MARK = 1,
    NVTX_MARK_A = 2,
    NVTX_MARK_W = 3,
    NVTX_START = 4,
    NVTX_START_A = 5,
    NVTX_START_W = 6,
    NVTX_END = 7,
    NVTX_PUSH = 8,
    NVTX_PUSH_A = 9,
    NVTX_PUSH_W = 10,
    NVTX_POP = 11,
};
enum nvtx_domains {
    NVTX_DOMAIN_MARK = 1,
    NVTX_DOMAIN_START = 2,
    NVTX_DOMAIN_END = 3,
    NVTX_DOMAIN_PUSH = 4,
    NVTX_DOMAIN_POP = 5,
    NVTX_DOMAIN_STRING_A = 10,
    NVTX_DOMAIN_STRING_W = 11,
    NVTX_DOMAIN_CREATE_A = 12,
    NVTX_DOMAIN_CREATE_W = 13,
};

enum nvtx_message {
    NVTX_ASCII = 1,
    NVTX_WIDE = 2,
    NVTX_REGISTERED = 3,
};

enum nvtx_payload {
    NVTX_PAYLOAD_UINT64 = 1,
    NVTX_PAYLOAD_INT64 = 2,
    NVTX_PAYLOAD_DOUBLE = 3,
    NVTX_PAYLOAD_UINT32 = 4,
    NVTX_PAYLOAD_INT32 = 5,
    NVTX_PAYLOAD_FLOAT = 6,
};

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type; /* enum nvtx_payload */
    int32_t reserved;
    uint64_t payload;
    int32_t message_type; /* enum nvtx_message */
    union {
        const char *ascii;
        const wchar_t *wide;
        const void *registered; /* what we gave for it */
    };
};

typedef void nvtx_function_f(void);
struct nvtx_callbacks {
    size_t size;
    int (*table_get)(uint32_t module,
                     nvtx_function_f ****table,
                     unsigned *functions);
};
typedef const void *nvtx_export_f(uint32_t table);

#endif

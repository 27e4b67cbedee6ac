/* symbols.h - addresses of calls become function, file and line
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Collects the modules of each process image and the distinct call sites of
 * its records, and turns them into records at the end, while the files are at
 * hand. Used by the collector's thread only.
 */
#ifndef CK_AGENT_SYMBOLS_SYMBOLS_H
#define CK_AGENT_SYMBOLS_SYMBOLS_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/stream/selfstream.h"
#include "schema/time.h"

#define SYMBOLS_SITES_MAX 65536
#define SYMBOLS_MODULES_MAX 16384
/* The file of functions of the kernel. */
#define SYMBOLS_KERNEL "[kernel]"

struct symbols;

/* NULL with ENOMEM. */
struct symbols *symbols_create(void);
void symbols_destroy(struct symbols *symbols);

/* Look at what the process has mapped now. To be called when the image is
 * first seen and about each second after; a process that is gone changes
 * nothing, one whose mappings are the same costs one read of its maps.
 */
void symbols_seen_process(struct symbols *symbols,
                          uint32_t incarnation,
                          pid_t pid);

/* The same where it is worth it: after symbols_mapped(), after an address that
 * is in nothing that was seen, and else ever more rarely. */
void symbols_follow_process(struct symbols *symbols,
                            uint32_t incarnation,
                            pid_t pid,
                            ck_time_t now);
/* The process has this mapping of a file, which was seen otherwise; nothing
 * where its code is known. */
struct mapping;
void symbols_seen_mapping(struct symbols *symbols,
                          uint32_t incarnation,
                          const struct mapping *mapping);
/* The process has mapped code. */
void symbols_mapped(struct symbols *symbols, uint32_t incarnation);

/* A return address in a process image; noted once. Any number is safe. */
void symbols_site(struct symbols *symbols,
                  uint32_t incarnation,
                  uint64_t address);

/* As a site, for an address of a sampled stack: its line is recorded only when
 * the module's own file has lines. A separate debug file may take longer to
 * read than all the rest, and stacks lead into every system library.
 */
void symbols_frame(struct symbols *symbols,
                   uint32_t incarnation,
                   uint64_t address);
/* The same of a caller far out, which is noted only in a file that was seen,
 * and while half of the room is left: stacks of code without frame pointers
 * hold any numbers. */
void symbols_caller(struct symbols *symbols,
                    uint32_t incarnation,
                    uint64_t address);

/* A sample of CPU time was in the kernel. Its functions get names at the end
 * where enough were: /proc/kallsyms is long, and few of them show little. */
void symbols_in_kernel(struct symbols *symbols);
#define SYMBOLS_KERNEL_SAMPLES 50

/* Record MODULE of modules that are new since the last call. 0, or -1
 * with errno ENOSPC: some found no room, and are recorded next time.
 */
int symbols_modules(struct symbols *symbols, struct selfstream *selfstream);

/* Record SYMBOL, and MODULE where it is still due, for `limit` at
 * most (about: one module's tables may take longer), not counting how long the
 * process that reads files had no CPU: with that 15 times as long. A note
 * counts what was left out. 0, or -1 with errno ENOSPC: some found no room.
 */
int symbols_finish(struct symbols *symbols,
                   struct selfstream *selfstream,
                   ck_time_t limit);

#endif

/* run.h - the run directory: its names, its manifest
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   ck-<job>-<start>/            0700
 *     manifest.json              written by ckagg, replaced atomically
 *     seg-<agent>.ck             frames of one agent, as received
 *     seg-<agent>-<number>.ck    those that came later, where only the newest
 *                                are kept; 8 digits
 *     facts-<agent>.ck           what stays of segments that were discarded
 *     spool-<agent>.ck           frames an agent could not deliver
 *     report.txt report.json     written by ckmerge
 *     report.html                the same as a page
 * <agent> = 32 hex digits. A directory without a manifest is still a run.
 */
#ifndef CK_SCHEMA_STORE_RUN_H
#define CK_SCHEMA_STORE_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"
#include "schema/time.h"

#define CK_RUN_MANIFEST "manifest.json"
#define CK_RUN_VERSION 1
#define CK_AGENT_HEX 33

/* Agent id as 32 hex digits and NUL; and back: 0 or -1. */
void ck_run_agent_hex(const uint8_t agent[16], char hex[CK_AGENT_HEX]);
int ck_run_agent_parse(const char *hex, uint8_t agent[16]);

/* "seg-<hex>.ck" / "spool-<hex>.ck" under dir. 0 or -1 (too long). */
int ck_run_segment_path(char path[PATH_MAX],
                        const char *dir,
                        const uint8_t agent[16],
                        bool is_spool);

/* "seg-<hex>.ck" for number 0, else "seg-<hex>-<number>.ck". */
int ck_run_part_path(char path[PATH_MAX],
                     const char *dir,
                     const uint8_t agent[16],
                     uint32_t number);
/* "facts-<hex>.ck". */
int ck_run_facts_path(char path[PATH_MAX],
                      const char *dir,
                      const uint8_t agent[16]);
/* Take the name of a file of frames apart, with or without a path. False: it is
 * no such name; *file is untouched. */
struct ck_run_name {
    enum ck_run_file {
        CK_RUN_SEGMENT,
        CK_RUN_SPOOL,
        CK_RUN_FACTS,
    } kind;
    uint8_t agent[16];
    uint32_t number; /* of a segment */
};
bool ck_run_name(const char *path, struct ck_run_name *name);

/* Create the directory with 0700 (parents must exist; an existing one that
 * is ours is fine). 0, or -1 with errno and err. */
int ck_run_create(const char *dir, struct ck_err *err);

/* The segments, spools and files of facts of a run, sorted by name. The array
 * and its strings (paths) are the caller's to free with ck_run_files_free(). */
struct ck_run_files {
    char **paths;
    size_t count;
};
int ck_run_files(const char *dir,
                 struct ck_run_files *files,
                 struct ck_err *err);
void ck_run_files_free(struct ck_run_files *files);

/* Write `text` as dir/name: to a temporary file, synced, then renamed. */
int ck_run_replace(const char *dir,
                   const char *name,
                   const char *text,
                   size_t length,
                   struct ck_err *err);

/* Keep room of so many bytes for a file of the directory, so that it can be
 * replaced when the disk is full. 0, or -1 with errno. */
int ck_run_spare(const char *dir, const char *name, size_t bytes);
void ck_run_spare_remove(const char *dir, const char *name);
/* Replace the file with the text in the room that was kept, which is used up
 * then. 0, or -1 with err: the file is as it was. */
int ck_run_spare_use(const char *dir,
                     const char *name,
                     const char *text,
                     size_t length,
                     struct ck_err *err);

/* Value of `key` in key=value lines (identity, exit, device ... texts),
 * copied into value. True when found. Values have no newline; writers turn
 * control characters into '?'. */
bool ck_lines_get(const char *lines,
                  size_t length,
                  const char *key,
                  char *value,
                  size_t room);
/* Such lines as they are written: `used` bytes and a NUL. */
struct ck_lines {
    char *text;  /* borrowed */
    size_t room; /* without the NUL */
    size_t used;
    bool is_cut; /* a line had no room and was left out */
};
/* None so far; `bytes` is what `text` has room for, with the NUL. */
struct ck_lines ck_lines_in(char *text, size_t bytes);
/* Append "key=value\n"; control characters become '?'. */
void ck_lines_put(struct ck_lines *lines, const char *key, const char *value);
void ck_lines_put_number(struct ck_lines *lines,
                         const char *key,
                         int64_t value);

#endif

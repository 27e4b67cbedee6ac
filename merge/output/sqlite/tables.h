/* tables.h - the tables and views of the SQLite file, as SQL
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * docs/sqlite.md describes them for those who query them. All tables are there
 * whatever the run has; names are in `string` alone; no key is NULL, and 0
 * means "none".
 */
#ifndef CK_MERGE_OUTPUT_SQLITE_TABLES_H
#define CK_MERGE_OUTPUT_SQLITE_TABLES_H

/* Rises when a column changes its meaning; PRAGMA user_version has it. */
#define TABLES_VERSION 1

/* CREATE TABLE of all; then indexes and views. */
extern const char tables_create[];
extern const char tables_finish[];

#endif

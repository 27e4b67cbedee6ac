/* tempfiles.h - what must not stay where ckmerge ends early
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An output is written beside its place and renamed when it is whole; profiles
 * are kept in a scratch directory. Each is entered here while it exists, so
 * that a merge whose memory is out, or that is interrupted, leaves none of
 * them. From any thread.
 */
#ifndef CK_MERGE_MODEL_TEMPFILES_H
#define CK_MERGE_MODEL_TEMPFILES_H

#include <stdbool.h>

/* A file, or a directory with all in it, between tempfiles_hold() and
 * tempfiles_release(), as its making is. Where the table is full (64) the path
 * is not entered: it would stay. */
void tempfiles_add(const char *path);
/* It is renamed or removed: nothing when it was not entered. */
void tempfiles_forget(const char *path);

/* Between the two nothing is removed and no signal ends the program: for what
 * takes milliseconds, and never asks for memory. */
void tempfiles_hold(void);
void tempfiles_release(void);

/* Remove all of them; links are not followed. Errors are passed over. The
 * program ends next: no thread gets behind tempfiles_hold() any more. In a
 * fork of the process that entered them nothing is removed. */
void tempfiles_remove(void);

/* In a signal handler, behind which the program ends: files alone. */
void tempfiles_abandon(void);

/* From here on SIGHUP, SIGINT and SIGTERM remove them before they end the
 * program as they would have: a thread waits for them, so call it before any
 * other thread begins. Signals that are ignored stay so. */
void tempfiles_watch(void);

#endif

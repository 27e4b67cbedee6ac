/* claim.h - a run directory is one job's from its start on
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The manifest names the job of a run, but only once ckagg is there: until then
 * two jobs that begin at once would both take an empty directory. Among the
 * jobs of one user on one host a file beside the meeting points settles it: it
 * has the job's key, and every agent of the job holds its lock.
 */
#ifndef CK_AGENT_LINK_CLAIM_H
#define CK_AGENT_LINK_CLAIM_H

/* Claim the run directory for the job, together with its other agents. The
 * descriptor that holds the claim, or -1 with errno: EWOULDBLOCK another job
 * has it, else no claim can be made here.
 */
int claim_take(const char *dir, const char *job_key);
/* Others may take the directory; every copy of the descriptor lets go. The last
 * agent of the job removes the file. */
void claim_release(int claim, const char *dir);

#endif

/* mpirendezvous.h - hand the aggregator's endpoint from host to host
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Over several hosts the agents of other hosts cannot see the one of rank 0.
 * The program's own PMIx client can: rank 0 puts what its agent published in
 * the ring's header, the others ask for it and write it into theirs. Never
 * waits, never starts a client, adds no message to the program's MPI.
 */
#ifndef CK_AGENT_INJECT_MPI_MPIRENDEZVOUS_H
#define CK_AGENT_INJECT_MPI_MPIRENDEZVOUS_H

/* A thread looks again each so many calls. */
#define MPI_RENDEZVOUS_CALLS 256

/* After MPI_Init, with rank and size of MPI_COMM_WORLD. */
void mpi_rendezvous_start(int rank, int size);

/* Go on with what is still to do. Any thread, at any time. */
void mpi_rendezvous_look(void);

#endif

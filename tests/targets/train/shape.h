/* shape.h - sizes of the network that train fits, and where weights are
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One hidden layer: 784 pixels -> HIDDEN (ReLU) -> 10 classes (softmax). All
 * parameters are one array of floats, so that one MPI_Allreduce sums their
 * gradients: | W1 784 x HIDDEN | b1 | W2 HIDDEN x 10 | b2 |
 */
#ifndef CK_TESTS_TARGETS_TRAIN_SHAPE_H
#define CK_TESTS_TARGETS_TRAIN_SHAPE_H

#define PIXELS 784
#define HIDDEN 64
#define CLASSES 10
#define LAYER1 (PIXELS * HIDDEN + HIDDEN)
#define LAYER2 (HIDDEN * CLASSES + CLASSES)
#define PARAMETERS (LAYER1 + LAYER2)

#endif

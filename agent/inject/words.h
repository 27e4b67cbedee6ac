/* words.h - parameters of a wrapper that only hands them on, as machine words
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Integers and pointers of a call are words, whatever their type: a wrapper
 * takes as many words as the function has arguments and hands the same words
 * on. For n words: PARAMETERS_n declares w0, w1 ..., NAMES_n lists them,
 * TYPES_n are their types, WORDS_n takes them out of an array `words`.
 */
#ifndef CK_AGENT_INJECT_WORDS_H
#define CK_AGENT_INJECT_WORDS_H

#define PARAMETERS_0 void
#define PARAMETERS_1 long w0
#define PARAMETERS_2 PARAMETERS_1, long w1
#define PARAMETERS_3 PARAMETERS_2, long w2
#define PARAMETERS_4 PARAMETERS_3, long w3
#define PARAMETERS_5 PARAMETERS_4, long w4
#define PARAMETERS_6 PARAMETERS_5, long w5
#define PARAMETERS_7 PARAMETERS_6, long w6
#define PARAMETERS_8 PARAMETERS_7, long w7
#define PARAMETERS_9 PARAMETERS_8, long w8
#define PARAMETERS_10 PARAMETERS_9, long w9
#define PARAMETERS_11 PARAMETERS_10, long w10
#define PARAMETERS_12 PARAMETERS_11, long w11
#define PARAMETERS_13 PARAMETERS_12, long w12
#define PARAMETERS_14 PARAMETERS_13, long w13
#define PARAMETERS_15 PARAMETERS_14, long w14
#define PARAMETERS_16 PARAMETERS_15, long w15

#define NAMES_0 0
#define NAMES_1 w0
#define NAMES_2 NAMES_1, w1
#define NAMES_3 NAMES_2, w2
#define NAMES_4 NAMES_3, w3
#define NAMES_5 NAMES_4, w4
#define NAMES_6 NAMES_5, w5
#define NAMES_7 NAMES_6, w6
#define NAMES_8 NAMES_7, w7
#define NAMES_9 NAMES_8, w8
#define NAMES_10 NAMES_9, w9
#define NAMES_11 NAMES_10, w10
#define NAMES_12 NAMES_11, w11
#define NAMES_13 NAMES_12, w12
#define NAMES_14 NAMES_13, w13
#define NAMES_15 NAMES_14, w14
#define NAMES_16 NAMES_15, w15

#define TYPES_0 void
#define TYPES_1 long
#define TYPES_2 TYPES_1, long
#define TYPES_3 TYPES_2, long
#define TYPES_4 TYPES_3, long
#define TYPES_5 TYPES_4, long
#define TYPES_6 TYPES_5, long
#define TYPES_7 TYPES_6, long
#define TYPES_8 TYPES_7, long
#define TYPES_9 TYPES_8, long
#define TYPES_10 TYPES_9, long
#define TYPES_11 TYPES_10, long
#define TYPES_12 TYPES_11, long
#define TYPES_13 TYPES_12, long
#define TYPES_14 TYPES_13, long

#define WORDS_0
#define WORDS_1 words[0]
#define WORDS_2 WORDS_1, words[1]
#define WORDS_3 WORDS_2, words[2]
#define WORDS_4 WORDS_3, words[3]
#define WORDS_5 WORDS_4, words[4]
#define WORDS_6 WORDS_5, words[5]
#define WORDS_7 WORDS_6, words[6]
#define WORDS_8 WORDS_7, words[7]
#define WORDS_9 WORDS_8, words[8]
#define WORDS_10 WORDS_9, words[9]
#define WORDS_11 WORDS_10, words[10]
#define WORDS_12 WORDS_11, words[11]
#define WORDS_13 WORDS_12, words[12]
#define WORDS_14 WORDS_13, words[13]

#endif

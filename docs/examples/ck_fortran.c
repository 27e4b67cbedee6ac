/* ck_fortran.c - ck.h as functions, which Fortran can call
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <ck.h>

void ckf_step_begin(int64_t number);
void ckf_step_end(void);
void ckf_range_push(const char *name);
void ckf_range_pop(void);

void ckf_step_begin(int64_t number)
{
    ck_step_begin(number);
}

void ckf_step_end(void)
{
    ck_step_end();
}

void ckf_range_push(const char *name)
{
    ck_range_push(name);
}

void ckf_range_pop(void)
{
    ck_range_pop();
}

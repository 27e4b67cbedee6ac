// annotate_cxx.cpp - ck.h compiles as C++11 and does nothing without an agent
//
// SPDX-License-Identifier: Apache-2.0
#include <agent/inject/ck.h>

int main()
{
    ck_step_begin(1);
    ck_range_push("range");
    ck_mark("mark", 1);
    ck_value("value", 2);
    ck_range_pop();
    ck_step_end();
    return ck_api_current()->is_on == 0 ? 0 : 1;
}

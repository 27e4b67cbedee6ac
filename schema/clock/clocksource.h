/* clocksource.h - names of the kernel's clocksources as numbers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pair of counter and RAW has the clock that the kernel kept RAW by then: the
 * first eight bytes of current_clocksource, the first one lowest.
 */
#ifndef CK_SCHEMA_CLOCK_CLOCKSOURCE_H
#define CK_SCHEMA_CLOCK_CLOCKSOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* "tsc", of x86-64 */
#define CK_CLOCKSOURCE_TSC 0x637374
/* "arch_sys_counter", of aarch64 */
#define CK_CLOCKSOURCE_ARCH 0x7379735f68637261

/* Whether the kernel keeps RAW by the counter that ck_time_ticks() reads. */
static inline bool ck_clocksource_is_counter(int64_t number)
{
    return number == CK_CLOCKSOURCE_TSC || number == CK_CLOCKSOURCE_ARCH;
}

/* Of a name that ends with a NUL or a line break; 0 = empty. */
static inline int64_t ck_clocksource_number(const char *name)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < 8 && name[i] != '\0' && name[i] != '\n'; i++) {
        number |= (uint64_t)(uint8_t)name[i] << (8 * i);
    }
    return (int64_t)number;
}

/* And back. */
static inline const char *ck_clocksource_name(int64_t number, char name[9])
{
    for (unsigned i = 0; i < 8; i++) {
        name[i] = (char)((uint64_t)number >> (8 * i));
    }
    name[8] = '\0';
    return name;
}

#endif

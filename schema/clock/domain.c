/* domain.c - which clock a process reads: the name of its clock domain
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/clock/domain.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "schema/fnv.h"
#include "schema/skew.h"

static void boot_read(char *boot, int room)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    boot[0] = '\0';
    if (file != NULL) {
        if (fgets(boot, room, file) == NULL) {
            boot[0] = '\0';
        }
        (void)fclose(file);
    }
    boot[strcspn(boot, "\n")] = '\0';
}

int ck_domain_read(struct ck_domain *domain, struct ck_err *err)
{
    const char *skew = ck_skew_text();
    struct ck_skew parsed;
    ssize_t length = readlink("/proc/self/ns/time", domain->timens,
                              sizeof(domain->timens) / 2);

    domain->timens[length > 0 ? length : 0] = '\0';
    boot_read(domain->boot_id, sizeof(domain->boot_id));
    if (skew == NULL) {
        return 0;
    }
    if (ck_skew_parse(skew, &parsed) != 0) {
        return ck_err_set(err,
                          CK_SKEW_VARIABLE
                          "='%s' is not made of off=NS, ppm=X, step=S:NS, "
                          "slew=S-S:X, at=NS, clone",
                          skew);
    }
    if (parsed.is_clone) {
        return 0;
    }
    length = length > 0 ? length : 0;
    (void)snprintf(domain->timens + length,
                   sizeof(domain->timens) - (size_t)length, "/skew-%08x",
                   (unsigned)ck_fnv_text(CK_FNV_START, skew));
    return 0;
}

const char *ck_domain_skew(void)
{
    return ck_skew_text();
}

ck_time_t ck_domain_raw(ck_time_t machine)
{
    static int64_t shift; /* it cannot change once a process is inside */
    static bool is_known;

    if (!is_known) {
        shift = ck_time_space("monotonic");
        is_known = true;
    }
    machine += shift;
    return ck_time_is_skewed ? ck_time_skew(machine) : machine;
}

bool ck_domain_equal(const struct ck_domain *a, const struct ck_domain *b)
{
    return a->boot_id[0] != '\0' && strcmp(a->boot_id, b->boot_id) == 0 &&
           strcmp(a->timens, b->timens) == 0;
}

bool ck_domain_is_here(const char *boot_id)
{
    struct ck_domain ours = {.boot_id = ""};

    (void)ck_domain_read(&ours, NULL);
    return ours.boot_id[0] != '\0' && strcmp(ours.boot_id, boot_id) == 0;
}

uint64_t ck_domain_hash(const struct ck_domain *domain)
{
    uint64_t hash = ck_fnv_text(CK_FNV_START, domain->boot_id);

    hash = ck_fnv_text(hash * CK_FNV_PRIME, domain->timens);
    hash ^= hash >> 32;
    return hash == 0 ? 1 : hash;
}

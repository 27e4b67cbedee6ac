/* paths.c - where the data of this agent goes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/link/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/link/claim.h"
#include "schema/store/owner.h"
#include "schema/time.h"

#define SIBLINGS_MAX 1000

static int absolute(char path[PATH_MAX], const char *name, struct ck_err *err)
{
    char here[PATH_MAX] = "";

    if (name[0] != '/' && getcwd(here, sizeof(here)) == NULL) {
        return ck_err_set(err, "the current directory cannot be found: %s",
                          strerror(errno));
    }
    if (snprintf(path, PATH_MAX, "%s%s%s", here, here[0] == '\0' ? "" : "/",
                 name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return ck_err_set(err, "run directory: %s", strerror(errno));
    }
    return 0;
}

/* Does the directory hold a run that is not of this job? */
static bool
is_foreign(const char *dir, const struct identity *identity, char *key)
{
    const struct ck_begin launcher = identity_launcher(identity);
    struct ck_owner owner;

    if (!ck_owner_read(dir, &owner) || owner.job_key[0] == '\0') {
        return false;
    }
    strcpy(key, owner.job_key);
    return strcmp(owner.job_key, identity->job_key) != 0 ||
           ck_owner_is_earlier(owner.is_over, &owner.started, &launcher, false);
}

/* Is the directory this job's? Else *key is that of the other one. */
static bool
is_won(struct paths *places, const struct identity *identity, char *key)
{
    strcpy(key, "that starts now");
    if (is_foreign(places->dir, identity, key)) {
        return false;
    }
    places->claim = claim_take(places->dir, identity->job_key);
    return places->claim >= 0 || errno != EWOULDBLOCK;
}

/* The name with the start of the run in it may be that of a run before, of the
 * same second. 0 or -1 with err. */
static int name_settle(struct paths *places,
                       const struct identity *identity,
                       struct ck_err *err)
{
    char other[CK_OWNER_KEY_BYTES];
    size_t length = strlen(places->dir);

    for (int i = 2; is_foreign(places->dir, identity, other); i++) {
        if (i == SIBLINGS_MAX ||
            snprintf(places->dir + length, PATH_MAX - length, ".%d", i) >=
                (int)(PATH_MAX - length)) {
            return ck_err_set(err, "%.*s and those beside it hold other runs",
                              (int)length, places->dir);
        }
    }
    return 0;
}

/* The run of another job in the user's directory stays as it is. */
static int dir_settle(struct paths *places,
                      const struct identity *identity,
                      const char *given,
                      struct ck_err *err)
{
    char first[CK_OWNER_KEY_BYTES];
    char other[CK_OWNER_KEY_BYTES];
    size_t length = strlen(places->dir);

    if (is_won(places, identity, first)) {
        return 0;
    }
    for (int i = 2; i < SIBLINGS_MAX; i++) {
        if (snprintf(places->dir + length, PATH_MAX - length, ".%d", i) >=
            (int)(PATH_MAX - length)) {
            return ck_err_set(err, "run directory: %s", strerror(ENAMETOOLONG));
        }
        if (is_won(places, identity, other)) {
            places->is_moved = true;
            (void)ck_err_set(err,
                             "%s holds the run of another job (%.60s): give "
                             "--dir NEW, or remove it",
                             given, first);
            return 0;
        }
    }
    return ck_err_set(err, "%s and %d directories beside it hold other runs",
                      given, SIBLINGS_MAX - 2);
}

int paths_find(struct paths *places,
               const struct identity *identity,
               const char *dir,
               struct ck_err *err)
{
    const char *tmp = getenv("TMPDIR");
    char name[128];
    size_t length;

    places->is_moved = false;
    places->claim = -1;
    if (identity_run_name(identity, name, sizeof(name)) != 0 ||
        snprintf(places->fallback, PATH_MAX, "%s/%s",
                 tmp != NULL && tmp[0] == '/' ? tmp : "/tmp",
                 name) >= PATH_MAX) {
        return ck_err_set(err, "run directory: %s", strerror(ENAMETOOLONG));
    }
    if (absolute(places->dir, dir != NULL ? dir : name, err) != 0) {
        if (dir != NULL || errno == ENAMETOOLONG) {
            return -1;
        }
        /* Of its own accord the run would be where nothing is any more. */
        strcpy(places->dir, places->fallback);
        places->is_moved = true;
        return 0;
    }
    /* DIR/ and DIR are one, and DIR.2 is beside it. */
    for (length = strlen(places->dir);
         length > 1 && places->dir[length - 1] == '/'; length--) {
        places->dir[length - 1] = '\0';
    }
    return dir == NULL ? name_settle(places, identity, err)
                       : dir_settle(places, identity, dir, err);
}

/* SPDX-License-Identifier: MIT */

/*
 * A catalogue in a file that many processes read and any of them rebuilds
 * when it is older than ten seconds, one at a time.
 *
 *   cc cache.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://127.0.0.1
 */

#include <latchkey/rwlock.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_AGE_S = 10, WAIT_MS = 5000, REQUESTS = 100 };

static const char cache_path[] = "catalogue.txt";

static bool is_fresh(void)
{
    struct stat file;

    return stat(cache_path, &file) == 0 &&
           time(NULL) - file.st_mtime < MAX_AGE_S;
}

static bool serve(void)
{
    FILE *file = fopen(cache_path, "r");
    char line[128];

    if (!file)
        return false;
    while (fgets(line, sizeof line, file))
        fputs(line, stdout);
    fclose(file);
    return true;
}

/*
 * Writes a new catalogue beside the old one and puts it in its place if the
 * lock is still ours. The fence in it tells later which writer made it.
 */
static bool rebuild(const lk_hold *hold)
{
    char new_path[64];
    FILE *file;

    snprintf(new_path, sizeof new_path, "%s.%ld", cache_path, (long)getpid());
    file = fopen(new_path, "w");
    if (!file)
        return false;
    fprintf(file, "catalogue %" PRIu64 "\n", lk_hold_fence(hold));
    if (fclose(file) == 0 && lk_hold_check(hold) == LK_OK)
        return rename(new_path, cache_path) == 0;
    remove(new_path);
    return false;
}

/* Rebuilds the catalogue and goes on as a reader, with no writer between. */
static lk_status acquire_rebuilt(lk_rwlock *lock, lk_hold **ret_hold)
{
    lk_hold *hold;
    lk_status status = lk_rwlock_acquire_write(lock, WAIT_MS, NULL, &hold);

    if (status != LK_OK)
        return status;

    /* Another process may have rebuilt it while this one waited. */
    if (!is_fresh() && !rebuild(hold))
        fprintf(stderr, "cannot rebuild %s\n", cache_path);
    status = lk_rwlock_downgrade(hold);
    if (status == LK_OK)
        *ret_hold = hold;
    else
        lk_hold_release(hold);
    return status;
}

static lk_status answer_request(lk_rwlock *lock)
{
    lk_hold *hold;
    lk_status status = lk_rwlock_acquire_read(lock, WAIT_MS, NULL, &hold);

    if (status == LK_OK && !is_fresh()) {
        lk_hold_release(hold);
        status = acquire_rebuilt(lock, &hold);
    }
    if (status != LK_OK)
        return status;

    if (!serve())
        fprintf(stderr, "cannot read %s\n", cache_path);
    return lk_hold_release(hold);
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("LATCHKEY_URL");
    lk_client *client = NULL;
    lk_rwlock *lock = NULL;
    lk_status status = lk_client_open(&client, url, NULL);

    if (status == LK_OK)
        status = lk_rwlock_new(&lock, client, "catalogue", NULL);
    for (int i = 0; status == LK_OK && i < REQUESTS; i++)
        status = answer_request(lock);
    if (status != LK_OK)
        fprintf(stderr, "%s (%s)\n", lk_status_text(status), lk_last_error());

    lk_rwlock_free(lock);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

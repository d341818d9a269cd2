/* SPDX-License-Identifier: MIT */

/*
 * The hand-over of the siglock beside the lock's: two clients that take turns,
 * each holding for a millisecond. From the moment at which the one begins to
 * release until the other has it; medians of five rounds.
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "server.h"

enum {
    ROUNDS = 5,
    QUICK_ROUNDS = 3,
    TURNS = 500,
    HOLD_NS = 1000000,
    PAUSE_NS = 500000
};

typedef enum lock_sort { SORT_LOCK, SORT_SIGLOCK, SORTS } lock_sort;

static const char *const names[SORTS] = {"lock", "siglock"};

static atomic_ullong released_at; /* 0: it was noted */

typedef struct player {
    pthread_t thread;
    lock_sort sort;
    lk_client *client;
    lk_lock *lock;
    lk_siglock *siglock;
    double us[TURNS]; /* 0: it was not handed over */
} player;

static void must(lk_status status)
{
    if (status != LK_OK)
        errx(1, "%s: %s", lk_status_text(status), lk_last_error());
}

static void player_open(player *p, lock_sort sort)
{
    p->sort = sort;
    must(lk_client_open(&p->client, server_url(), NULL));
    if (sort == SORT_LOCK)
        must(lk_lock_new(&p->lock, p->client, "turns", NULL));
    else
        must(lk_siglock_new(&p->siglock, p->client, "turns", NULL));
}

static void player_close(player *p)
{
    lk_lock_free(p->lock);
    lk_siglock_free(p->siglock);
    lk_client_free(p->client);
}

static lk_hold *take(const player *p)
{
    lk_hold *hold = NULL;

    must(p->sort == SORT_LOCK
             ? lk_lock_acquire(p->lock, LK_FOREVER, NULL, &hold)
             : lk_siglock_acquire(p->siglock, LK_FOREVER, NULL, &hold));
    return hold;
}

static void *play(void *data)
{
    player *p = data;

    for (unsigned i = 0; i < TURNS; i++) {
        lk_hold *hold = take(p);
        unsigned long long at = atomic_exchange(&released_at, 0);

        p->us[i] = at == 0 ? 0 : (double)(now_ns() - at) / 1e3;
        sleep_ns(HOLD_NS);
        atomic_store(&released_at, now_ns());
        must(lk_hold_release(hold));
        sleep_ns(PAUSE_NS); /* else a siglock's is had again at once */
    }
    return NULL;
}

/* The quantiles of all hand-overs of one game, in us. */
static void game(lock_sort sort, double *ret_p50, double *ret_p99)
{
    static player players[2];
    static double us[2 * TURNS];
    size_t count = 0;

    atomic_store(&released_at, 0);
    for (unsigned i = 0; i < 2; i++) {
        players[i] = (player){.sort = sort};
        player_open(&players[i], sort);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (pthread_create(&players[i].thread, NULL, play, &players[i]) != 0)
            errx(1, "no thread");
    }
    for (unsigned i = 0; i < 2; i++) {
        (void)pthread_join(players[i].thread, NULL);
        player_close(&players[i]);
        for (unsigned turn = 0; turn < TURNS; turn++) {
            if (players[i].us[turn] > 0)
                us[count++] = players[i].us[turn];
        }
    }
    *ret_p50 = quantile(us, count, 0.5);
    *ret_p99 = quantile(us, count, 0.99);
}

int main(void)
{
    unsigned rounds = is_quick() ? QUICK_ROUNDS : ROUNDS;
    double p50[SORTS][ROUNDS], p99[SORTS][ROUNDS];

    server_start();
    for (unsigned round = 0; round < rounds; round++) {
        for (lock_sort k = SORT_LOCK; k < SORTS; k++)
            game(k, &p50[k][round], &p99[k][round]);
    }
    printf("| hand-over between two clients | p50 us | p99 us |\n"
           "|---|---|---|\n");
    for (lock_sort k = SORT_LOCK; k < SORTS; k++)
        printf("| %s | %.0f | %.0f |\n", names[k],
               quantile(p50[k], rounds, 0.5), quantile(p99[k], rounds, 0.5));
    return EXIT_SUCCESS;
}

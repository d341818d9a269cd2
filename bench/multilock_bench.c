/* SPDX-License-Identifier: MIT */

/*
 * What a multilock of free members costs beside as many locks that are acquired
 * one after the other, and released so: one thread, one private server. Round
 * after round, medians.
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "server.h"

enum { ROUNDS = 5, QUICK_ROUNDS = 3, MEMBERS = 16 };

#define NS_PER_MS UINT64_C(1000000)

typedef struct row {
    unsigned members;
    bool together;
    double us[ROUNDS], server_us[ROUNDS], writes[ROUNDS];
} row;

typedef struct setting {
    lk_client *client;
    lk_lock *locks[MEMBERS];
    lk_multilock *multilock; /* of the row's first members */
} setting;

static row rows[] = {
    {.members = 1, .together = false},  {.members = 1, .together = true},
    {.members = 4, .together = false},  {.members = 4, .together = true},
    {.members = 16, .together = false}, {.members = 16, .together = true},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void must(lk_status status)
{
    if (status != LK_OK)
        errx(1, "%s", lk_last_error());
}

static void one_by_one(setting *s, unsigned members)
{
    lk_hold *holds[MEMBERS];

    for (unsigned i = 0; i < members; i++)
        must(lk_lock_acquire(s->locks[i], 0, NULL, &holds[i]));
    for (unsigned i = 0; i < members; i++)
        must(lk_hold_release(holds[i]));
}

static void all_at_once(setting *s)
{
    lk_hold *hold;

    must(lk_multilock_acquire(s->multilock, 0, NULL, &hold));
    must(lk_hold_release(hold));
}

static lk_client_stats stats_of(const setting *s)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    must(lk_client_stats_get(s->client, &stats));
    return stats;
}

static void
measure(row *r, setting *s, redisContext *redis, unsigned round, uint64_t ns)
{
    uint64_t writes = stats_of(s).writes;
    uint64_t busy = server_busy_ns(redis);
    uint64_t begin = now_ns();
    uint64_t count = 0;
    double cycles;

    while (now_ns() - begin < ns) {
        if (r->together)
            all_at_once(s);
        else
            one_by_one(s, r->members);
        count++;
    }
    cycles = (double)count;
    r->us[round] = (double)(now_ns() - begin) / 1e3 / cycles;
    r->server_us[round] = (double)(server_busy_ns(redis) - busy) / 1e3 / cycles;
    r->writes[round] = (double)(stats_of(s).writes - writes) / cycles;
}

static void set_make(setting *s, unsigned members)
{
    must(lk_multilock_new(&s->multilock));
    for (unsigned i = 0; i < members; i++)
        must(lk_multilock_add_lock(s->multilock, s->locks[i]));
}

static void print(unsigned rounds)
{
    (void)printf("%-8s %-11s %10s %10s %10s\n", "members", "", "us",
                 "server us", "writes");
    for (unsigned i = 0; i < ROWS; i++)
        (void)printf("%-8u %-11s %10.1f %10.1f %10.1f\n", rows[i].members,
                     rows[i].together ? "multilock" : "one by one",
                     quantile(rows[i].us, rounds, 0.5),
                     quantile(rows[i].server_us, rounds, 0.5),
                     quantile(rows[i].writes, rounds, 0.5));
}

int main(void)
{
    unsigned rounds = is_quick() ? QUICK_ROUNDS : ROUNDS;
    redisContext *redis;
    setting s = {0};

    server_start();
    redis = server_connect();
    must(lk_client_open(&s.client, server_url(), NULL));
    for (unsigned i = 0; i < MEMBERS; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "member:%u", i);
        must(lk_lock_new(&s.locks[i], s.client, name, NULL));
    }
    one_by_one(&s, MEMBERS); /* its inbox stands then */
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < ROWS; i++) {
            set_make(&s, rows[i].members);
            wait_for_quiet();
            measure(&rows[i], &s, redis, round, scaled_ns(500 * NS_PER_MS));
            lk_multilock_free(s.multilock);
        }
    }
    print(rounds);
    for (unsigned i = 0; i < MEMBERS; i++)
        lk_lock_free(s.locks[i]);
    lk_client_free(s.client);
    redisFree(redis);
    return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT */

/* Whom a group of sentinels names. */

#include "server/naming.h"

#include <stdio.h>
#include <string.h>

#include "base/deadline.h"
#include "world/world.h"

#define MS UINT64_C(1000000)

bool lk__naming_same(const lk__naming *a, const lk__naming *b)
{
    return a->host[0] != '\0' && strcmp(a->host, b->host) == 0 &&
           a->port == b->port;
}

/* A group does not change there and back in less than that: the old master
   becomes a replica only ten seconds after. */
static bool is_gap(const lk__naming *naming, uint64_t asked_at)
{
    return asked_at > naming->asked_at + LK__BELIEF_MS * MS;
}

void lk__naming_note(lk__naming *naming, const char *host, uint16_t port,
                     uint64_t asked_at, uint64_t now)
{
    if (strcmp(naming->host, host) != 0 || naming->port != port ||
        is_gap(naming, asked_at))
        naming->since = now;
    snprintf(naming->host, sizeof(naming->host), "%s", host);
    naming->port = port;
    naming->asked_at = asked_at;
}

void lk__naming_aged(lk__naming *naming, uint64_t now, uint64_t age_ms)
{
    uint64_t most_ms = now / MS;
    uint64_t since = age_ms < most_ms ? now - age_ms * MS : 0;

    if (since < naming->since)
        naming->since = since;
}

bool lk__naming_is_heard(const lk__naming *naming, uint64_t now)
{
    return naming->asked_at != 0 && now < naming->asked_at + LK__BELIEF_MS * MS;
}

static bool
names(const lk__naming *naming, const lk__naming *whom, uint64_t now)
{
    return lk__naming_is_heard(naming, now) && lk__naming_same(naming, whom);
}

static size_t votes(const lk__naming *namings, size_t count,
                    const lk__naming *whom, uint64_t now)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += names(&namings[i], whom, now);
    return sum;
}

/* One that has more votes, or as many and is followed already. */
static const lk__naming *most_named(const lk__naming *namings, size_t count,
                                    const lk__naming *followed, uint64_t now,
                                    size_t *ret_votes)
{
    const lk__naming *most = NULL;

    *ret_votes = 0;
    for (size_t i = 0; i < count; i++) {
        size_t sum = names(&namings[i], &namings[i], now)
                         ? votes(namings, count, &namings[i], now)
                         : 0;

        if (sum > *ret_votes ||
            (sum > 0 && sum == *ret_votes && followed != NULL &&
             lk__naming_same(&namings[i], followed))) {
            most = &namings[i];
            *ret_votes = sum;
        }
    }
    return most;
}

/* The earliest time at which as many as needed had begun to name it, and the
   latest at which as many were asked. Each of them is one of theirs. */
static void span(const lk__naming *namings, size_t count,
                 lk__majority *majority, uint64_t now)
{
    uint64_t asked = 0, since = LK__NEVER;

    for (size_t i = 0; i < count; i++) {
        size_t later = 0, sooner = 0;

        if (!names(&namings[i], majority->named, now))
            continue;
        for (size_t j = 0; j < count; j++) {
            if (!names(&namings[j], majority->named, now))
                continue;
            later += namings[j].asked_at >= namings[i].asked_at;
            sooner += namings[j].since <= namings[i].since;
        }
        if (later >= majority->needed && namings[i].asked_at > asked)
            asked = namings[i].asked_at;
        if (sooner >= majority->needed && namings[i].since < since)
            since = namings[i].since;
    }
    majority->until = lk__deadline_ns(asked, LK__BELIEF_MS);
    majority->from = lk__wait_until_ns(since, LK__BELIEF_MS);
}

lk__majority lk__naming_judge(const lk__naming *namings, size_t count,
                              lk_failover failover, const lk__naming *followed,
                              uint64_t now)
{
    lk__majority majority = {.total = count};

    for (size_t i = 0; i < count; i++) {
        majority.heard += lk__naming_is_heard(&namings[i], now);
        if (lk__naming_is_heard(&namings[i], now) &&
            namings[i].others >= majority.total)
            majority.total = (size_t)namings[i].others + 1;
    }
    majority.needed = majority.total / 2 + 1;
    majority.named = most_named(namings, count, followed, now, &majority.votes);
    if (failover == LK_FAILOVER_FAST) {
        majority.until = LK__NEVER;
        return majority;
    }
    if (majority.votes < majority.needed)
        majority.named = NULL;
    if (majority.named != NULL)
        span(namings, count, &majority, now);
    return majority;
}

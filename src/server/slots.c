/* SPDX-License-Identifier: MIT */

/*
 * The map of slots. CLUSTER SLOTS is answered by a list of ranges, in no order:
 *
 *   first slot, last slot, master, replicas ...
 *
 * with [host, port, id, what else is known] for each node. Host and port are what
 * the server wants clients to use, for TLS or without. The id tells two masters
 * apart that are said to be at one address, as where neither has a name: taken for
 * one, it would be asked whether it is still the master, and answer for the other.
 * Replicas are not read: servers leave some out.
 */

#include "server/slots.h"

#include <string.h>

#include "base/mem.h"
#include "server/reply.h"

enum { MASTERS_FIRST = 4 }; /* there is memory for at the beginning */

/* ---- masters --------------------------------------------------------------- */

/* Room for twice as many when a power of two is full. */
static lk_status add(lk__slots *slots, const lk__master *master)
{
    size_t count = slots->master_count;
    size_t room = count == 0 ? MASTERS_FIRST : 2 * count;
    lk__master *masters;

    if (count == LK__MASTERS_MOST)
        return LK_EPROTO;
    if (count == 0 || (count >= MASTERS_FIRST && (count & (count - 1)) == 0)) {
        masters = lk__realloc(slots->masters, room * sizeof(*masters));
        if (masters == NULL)
            return LK_ENOMEM;
        slots->masters = masters;
    }
    slots->masters[slots->master_count++] = *master;
    return LK_OK;
}

/* Finds a master's number, or gives it one. LK_EPROTO: another one is there. */
static lk_status
number_of(lk__slots *slots, const lk__master *master, uint16_t *ret_number)
{
    lk_status status = LK_OK;
    size_t i = 0;

    while (i < slots->master_count &&
           !lk__endpoint_same(&slots->masters[i].at, &master->at))
        i++;
    if (i == slots->master_count)
        status = add(slots, master);
    else if (strcmp(slots->masters[i].id, master->id) != 0)
        status = LK_EPROTO;
    *ret_number = (uint16_t)(i + 1);
    return status;
}

/* ---- reading ----------------------------------------------------------------- */

/* Reads the number that a range or a node has at i; -1: it is no number. */
static int64_t integer_at(const redisReply *reply, size_t i)
{
    const redisReply *at = lk__reply_at(reply, i);

    return at != NULL && at->type == REDIS_REPLY_INTEGER ? at->integer : -1;
}

static bool id_read(const redisReply *node, char id[LK__NODE_ID])
{
    const redisReply *at = lk__reply_at(node, 2);

    id[0] = '\0';
    if (at == NULL)
        return true;
    if (at->type != REDIS_REPLY_STRING || at->len >= LK__NODE_ID ||
        strlen(at->str) != at->len)
        return false;
    memcpy(id, at->str, at->len + 1);
    return true;
}

static bool
master_read(const redisReply *node, const char *asked, lk__master *ret_master)
{
    const redisReply *host = lk__reply_at(node, 0);
    int64_t port = integer_at(node, 1);
    bool is_text = host != NULL && host->type == REDIS_REPLY_STRING;

    if (host == NULL || (!is_text && host->type != REDIS_REPLY_NIL) || port < 0)
        return false;
    return id_read(node, ret_master->id) &&
           lk__endpoint_note(&ret_master->at, is_text ? host->str : "",
                             is_text ? host->len : 0, (uint64_t)port, asked);
}

/* Reads one range into a map. LK_EPROTO: it is none, or a slot is taken. */
static lk_status
range_read(lk__slots *slots, const redisReply *range, const char *asked)
{
    int64_t first = integer_at(range, 0), last = integer_at(range, 1);
    lk__master master;
    uint16_t number = 0;
    lk_status status;

    if (first < 0 || first > last || last >= LK__SLOTS ||
        !master_read(lk__reply_at(range, 2), asked, &master))
        return LK_EPROTO;
    status = number_of(slots, &master, &number);
    if (status != LK_OK)
        return status;
    for (int64_t slot = first; slot <= last; slot++) {
        if (slots->numbers[slot] != 0)
            return LK_EPROTO;
        slots->numbers[slot] = number;
    }
    return LK_OK;
}

static lk_status
map_read(lk__slots *slots, const redisReply *reply, const char *asked)
{
    lk_status status = LK_OK;

    if (reply->type != REDIS_REPLY_ARRAY)
        return LK_EPROTO;
    for (size_t i = 0; status == LK_OK && i < reply->elements; i++)
        status = range_read(slots, reply->element[i], asked);
    return status;
}

/* What a server's error means: the server may have no cluster at all. */
static lk_status refused(const redisReply *reply, const char **ret_words)
{
    lk_status status = lk__reply_status(reply);

    *ret_words = lk__reply_words(reply);
    if (status != LK_ESERVER ||
        strstr(reply->str, "cluster support disabled") == NULL)
        return status;
    *ret_words = "the server is no node of a cluster; write redis://host:port";
    return LK_ENOTSUP;
}

lk_status lk__slots_new(lk__slots **ret_slots, const redisReply *reply,
                        const char *asked, const char **ret_words)
{
    lk__slots *slots;
    lk_status status;

    if (reply->type == REDIS_REPLY_ERROR)
        return refused(reply, ret_words);
    slots = lk__alloc(sizeof(*slots));
    status = slots != NULL ? map_read(slots, reply, asked) : LK_ENOMEM;
    if (status == LK_OK) {
        *ret_slots = slots;
        return LK_OK;
    }
    lk__slots_free(slots);
    *ret_words = status == LK_ENOMEM
                     ? "no memory for the map of slots"
                     : "the answer to CLUSTER SLOTS is no map of slots, or "
                       "has two masters at one address";
    return status;
}

/* ---- the same again ----------------------------------------------------------- */

/* How many slots a range has, if they all have the master that it says; else 0. */
static size_t
range_same(const lk__slots *slots, const redisReply *range, const char *asked)
{
    int64_t first = integer_at(range, 0), last = integer_at(range, 1);
    const lk__master *known;
    lk__master master;

    if (first < 0 || first > last || last >= LK__SLOTS ||
        slots->numbers[first] == 0 ||
        !master_read(lk__reply_at(range, 2), asked, &master))
        return 0;
    known = &slots->masters[slots->numbers[first] - 1];
    if (!lk__endpoint_same(&known->at, &master.at) ||
        strcmp(known->id, master.id) != 0)
        return 0;
    for (int64_t slot = first; slot <= last; slot++) {
        if (slots->numbers[slot] != slots->numbers[first])
            return 0;
    }
    return (size_t)(last - first) + 1;
}

static size_t served(const lk__slots *slots)
{
    size_t count = 0;

    for (unsigned slot = 0; slot < LK__SLOTS; slot++)
        count += slots->numbers[slot] != 0;
    return count;
}

bool lk__slots_says(const lk__slots *slots, const redisReply *reply,
                    const char *asked)
{
    size_t sum = 0;

    if (reply->type != REDIS_REPLY_ARRAY)
        return false;
    for (size_t i = 0; i < reply->elements; i++) {
        size_t count = range_same(slots, reply->element[i], asked);

        sum += count;
        if (count == 0 || sum > LK__SLOTS) /* a long answer ends early */
            return false;
    }
    return sum == served(slots);
}

void lk__slots_free(lk__slots *slots)
{
    if (slots != NULL)
        lk__free(slots->masters);
    lk__free(slots);
}

/* ---- use --------------------------------------------------------------------- */

const lk__endpoint *lk__slots_owner(const lk__slots *slots, unsigned slot)
{
    uint16_t number = slots->numbers[slot];

    return number != 0 ? &slots->masters[number - 1].at : NULL;
}

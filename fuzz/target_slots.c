/* SPDX-License-Identifier: MIT */

/*
 * The map of slots, from whatever answers CLUSTER SLOTS: one that is taken says
 * of each range what the answer says, and of no other slot anything.
 *
 * The input is an answer's bytes.
 */

#include <string.h>
#include <strings.h>

#include "base/resp.h"
#include "input.h"
#include "server/slots.h"

static const char asked[] = "asked.example";

static void check_host(const lk__endpoint *master)
{
    size_t size = strnlen(master->host, sizeof(master->host));

    if (size == 0 || size == sizeof(master->host) || master->port == 0)
        input_fail("a master at no address");
    for (size_t i = 0; i < size; i++) {
        if (master->host[i] <= ' ' || master->host[i] > '~')
            input_fail("a host that nobody can have");
    }
}

/* Returns how many slots the range has. */
static size_t check_range(const lk__slots *slots, const redisReply *range)
{
    const redisReply *node = range->element[2];
    const redisReply *host = node->element[0];
    long long first = range->element[0]->integer;
    long long last = range->element[1]->integer;
    const char *name = host->type == REDIS_REPLY_NIL || host->len == 0 ||
                               strcmp(host->str, "?") == 0
                           ? asked
                           : host->str;

    for (long long slot = first; slot <= last; slot++) {
        const lk__endpoint *owner = lk__slots_owner(slots, (unsigned)slot);

        if (owner == NULL || owner->port != node->element[1]->integer ||
            strcasecmp(owner->host, name) != 0)
            input_fail("another master than was said");
    }
    return (size_t)(last - first) + 1;
}

static void check(lk__slots *slots, const redisReply *reply)
{
    size_t said = 0, known = 0;

    for (size_t i = 0; i < reply->elements; i++)
        said += check_range(slots, reply->element[i]);
    for (unsigned slot = 0; slot < LK__SLOTS; slot++)
        known += lk__slots_owner(slots, slot) != NULL;
    if (known != said)
        input_fail("a master that nobody named");
    for (size_t i = 0; i < slots->master_count; i++) {
        check_host(&slots->masters[i].at);
        for (size_t j = 0; j < i; j++) {
            if (lk__endpoint_same(&slots->masters[i].at, &slots->masters[j].at))
                input_fail("a master twice");
        }
    }
}

static void take(const redisReply *reply)
{
    lk__slots *slots = NULL;
    const char *words = NULL;
    lk_status status = lk__slots_new(&slots, reply, asked, &words);

    if ((status == LK_OK) != (slots != NULL))
        input_fail("a map with an error, or none without");
    if (status == LK_OK)
        check(slots, reply);
    lk__slots_free(slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    redisReader *reader = lk__resp_reader_new();
    redisReply *reply = NULL;

    if (reader == NULL)
        input_fail("no memory");
    if (lk__resp_reader_feed(reader, (const char *)bytes, size) == LK_OK &&
        lk__resp_reader_next(reader, &reply) == LK_OK && reply != NULL)
        take(reply);
    if (reply != NULL)
        freeReplyObject(reply);
    lk__resp_reader_free(reader);
    return 0;
}

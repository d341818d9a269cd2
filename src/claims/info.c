/* SPDX-License-Identifier: MIT */

/* Who holds and who waits: the script's answer made into lk_info. */

#include "claims/info.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "claims/fetch.h"
#include "claims/protocol.h"
#include "claims/record.h"
#include "claims/under.h"
#include "claims/work.h"
#include "server/reply.h"
#include "shared_table.h"

/* A party and the memory of its strings. */
struct room {
    lk_party party;
    char *owner;
    char *reason;
    char *under;  /* what is waited for under it; NULL: nothing */
    char *record; /* cut into lines by lk__record_parse() */
};

struct building {
    lk_info info; /* first: what the caller sees */
    size_t count;
    struct room *rooms;
    const lk_party **pointers;
};

void lk_info_free(lk_info *info)
{
    struct building *building = (struct building *)(void *)info;

    if (info == NULL)
        return;
    for (size_t i = 0; i < building->count; i++) {
        lk__free(building->rooms[i].owner);
        lk__free(building->rooms[i].reason);
        lk__free(building->rooms[i].record);
        lk__free(building->rooms[i].under);
    }
    lk__free(building->rooms);
    lk__free(building->pointers);
    lk__free(building);
}

/* ---- the script's answer --------------------------------------------------------- */

/* The modes of all kinds, by their letters. */
static const char *mode_text(const char *letter)
{
    switch (letter[0]) {
    case 'r':
        return "read";
    case 'u':
        return "upgradeable";
    case 'w':
        return "write";
    default:
        return "";
    }
}

static bool room_fill(struct room *room, const lk__party_answer *one)
{
    room->owner = lk__strdup(one->owner.bytes);
    room->reason = lk__strdup(one->reason.bytes);
    if (room->owner == NULL || room->reason == NULL)
        return false;
    room->party.owner = room->owner;
    room->party.reason = room->reason;
    room->party.mode = mode_text(one->mode.bytes);
    room->party.revoked = strchr(one->mode.bytes, 'v') != NULL;
    room->party.count = (uint64_t)one->count;
    room->party.fence = (uint64_t)one->fence;
    room->party.since_ms = (uint64_t)one->since_ms;
    room->party.lease_ms = one->left_ms;
    room->party.host = room->party.command = "";
    room->party.user = room->party.name = "";
    room->party.waits_for = "";
    return true;
}

static bool rooms_fill(struct building *building, const lk__info_answer *answer)
{
    for (size_t i = 0; i < building->count; i++) {
        size_t holders = building->info.holder_count;
        lk__party_answer one = {.count = 1};

        if (i < holders)
            answer->holder(answer, i, &one);
        else
            answer->waiter(answer, i - holders, &one);
        if (!room_fill(&building->rooms[i], &one))
            return false;
    }
    return true;
}

static lk_status
rooms_make(struct building *building, const lk__info_answer *answer)
{
    lk_info *info = &building->info;

    info->holder_count = answer->holder_count;
    info->waiter_count = answer->number < 0 ? 0 : (size_t)answer->number;
    info->listed_count = answer->waiter_count;
    building->count = info->holder_count + info->listed_count;
    building->rooms =
        lk__alloc((building->count + 1) * sizeof(*building->rooms));
    building->pointers =
        lk__alloc((building->count + 1) * sizeof(const lk_party *));
    if (building->rooms == NULL || building->pointers == NULL) {
        building->count = 0;
        return LK_ENOMEM;
    }
    for (size_t i = 0; i < building->count; i++)
        building->pointers[i] = &building->rooms[i].party;
    info->holders = building->pointers;
    info->waiters = building->pointers + info->holder_count;
    return rooms_fill(building, answer) ? LK_OK : LK_ENOMEM;
}

/* What stands behind the client's id; 0: it is no owner of ours. */
static uint64_t number_of(const char *owner)
{
    return strlen(owner) > LK__CLIENT_ID_SIZE + 1
               ? strtoull(owner + LK__CLIENT_ID_SIZE + 1, NULL, 10)
               : 0;
}

/* ---- the records ------------------------------------------------------------------- */

/* What a program that runs under a holder waits for, if the holder itself waits
   for nothing. */
static void unders_read(struct building *building)
{
    for (size_t i = 0; i < building->info.holder_count; i++) {
        struct room *room = &building->rooms[i];

        if (room->under != NULL && strlen(room->under) <= LK__NAME_MAX &&
            room->party.waits_for[0] == '\0')
            room->party.waits_for = room->under;
    }
}

/* What has come of them. */
static void records_read(struct building *building, const lk_client *client)
{
    for (size_t i = 0; i < building->count; i++) {
        struct room *room = &building->rooms[i];
        lk__record record;

        if (room->record == NULL)
            continue;
        lk__record_parse(&record, room->record);
        room->party.host = record.host;
        room->party.pid = strtoull(record.pid, NULL, 10);
        room->party.command = record.command;
        room->party.user = record.user;
        room->party.name = record.name;
        room->party.near = lk__record_is_near(&record, client);
        room->party.waits_for =
            lk__record_waits_for(&record, number_of(room->owner));
    }
    unders_read(building);
}

/* One record for each party, the same one twice if need be; then, for each
   holder, what a program that runs under it waits for. */
static size_t texts_count(const struct building *building)
{
    return building->count + building->info.holder_count;
}

static char **text_at(struct building *building, size_t i)
{
    return i < building->count ? &building->rooms[i].record
                               : &building->rooms[i - building->count].under;
}

static lk_status records_take(struct building *building,
                              const lk_client *client, const redisReply *reply)
{
    for (size_t i = 0; i < texts_count(building); i++) {
        const redisReply *text = lk__reply_at(reply, i);
        char **at = text_at(building, i);

        if (text == NULL || text->type != REDIS_REPLY_STRING)
            continue;
        *at = lk__strdup(text->str);
        if (*at == NULL)
            return LK_ENOMEM;
    }
    records_read(building, client);
    return LK_OK;
}

struct inquiry {
    lk__ask ask; /* first */
    struct building *building;
    lk__fetch *fetch; /* of the records, in a cluster */
    lk_info_cb cb;
    void *data;
};

/* Writes the key of such a text. */
static void key_write(void *data, size_t i, char *ret_key)
{
    const struct inquiry *inquiry = data;
    const lk_client *client = inquiry->ask.call.client;
    const struct building *building = inquiry->building;

    if (i < building->count)
        lk__record_key(ret_key, client, building->rooms[i].owner);
    else
        lk__under_key(ret_key, client,
                      building->rooms[i - building->count].owner);
}

/* Of one server: all by one command. */
static lk_status records_ask(struct inquiry *inquiry)
{
    size_t count = texts_count(inquiry->building);
    lk__arg *args = lk__alloc((count + 1) * sizeof(*args));
    char(*keys)[LK__RECORD_KEY_SIZE] = lk__alloc((count + 1) * sizeof(*keys));
    lk_status status = LK_ENOMEM;

    if (args != NULL && keys != NULL) {
        args[0] = lk__arg_text("MGET");
        for (size_t i = 0; i < count; i++) {
            key_write(inquiry, i, keys[i]);
            args[i + 1] = lk__arg_text(keys[i]);
        }
        status = lk__ask_command(&inquiry->ask, count + 1, args);
    }
    lk__free(args);
    lk__free(keys);
    return status;
}

/* Of a cluster: they are of any slots. */
static lk_status records_fetch(struct inquiry *inquiry)
{
    inquiry->fetch =
        lk__fetch_begin(&inquiry->ask, texts_count(inquiry->building),
                        key_write, inquiry);
    return inquiry->fetch != NULL ? LK_OK : LK_ENOMEM;
}

/* ---- the question ------------------------------------------------------------ */

static void inquiry_cleanup(lk__ask *ask)
{
    struct inquiry *inquiry = (struct inquiry *)(void *)ask;

    lk__fetch_free(inquiry->fetch);
    if (inquiry->building != NULL)
        lk_info_free(&inquiry->building->info);
}

/* The call is over: what was fetched for it is read. */
static void inquiry_ended(lk__ask *ask)
{
    struct inquiry *inquiry = (struct inquiry *)(void *)ask;
    struct building *building = inquiry->building;

    if (inquiry->fetch == NULL || ask->call.status != LK_OK)
        return;
    for (size_t i = 0; i < texts_count(building); i++)
        *text_at(building, i) = lk__fetch_take(inquiry->fetch, i);
    records_read(building, ask->call.client);
}

/* The first answer is the script's, the second brings the records. */
static lk_status
inquiry_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct inquiry *inquiry = (struct inquiry *)(void *)ask;
    struct building *building = inquiry->building;
    lk__info_answer answer;
    lk_status status;

    if (ask->script == NULL)
        return records_take(building, ask->call.client, reply);
    status = ask->place->kind->protocol->read_info(reply, &answer);
    if (status == LK_OK)
        status = rooms_make(building, &answer);
    if (status != LK_OK || building->count == 0)
        return status;
    *ret_more = true;
    return ask->call.client->work->cluster != NULL ? records_fetch(inquiry)
                                                   : records_ask(inquiry);
}

static lk_status inquiry_new(struct inquiry **ret_inquiry, lk__place *place,
                             void (*deliver)(lk__call *call))
{
    struct inquiry *inquiry =
        (struct inquiry *)(void *)lk__ask_new(sizeof(*inquiry), place->client,
                                              place, deliver);

    if (inquiry == NULL)
        return LK_ENOMEM;
    inquiry->ask.reads = true;
    inquiry->ask.take = inquiry_take;
    inquiry->ask.ended = inquiry_ended;
    inquiry->ask.cleanup = inquiry_cleanup;
    inquiry->building = lk__alloc(sizeof(*inquiry->building));
    if (inquiry->building == NULL ||
        lk__ask_question(&inquiry->ask, place->kind->protocol->info(place)) !=
            LK_OK) {
        lk__ask_release(&inquiry->ask);
        return LK_ENOMEM;
    }
    *ret_inquiry = inquiry;
    return LK_OK;
}

static lk_info *inquiry_result(struct inquiry *inquiry)
{
    lk_info *info = &inquiry->building->info;

    inquiry->building = NULL;
    return info;
}

lk_status lk__info_ask(lk__place *place, uint64_t until, lk_info **ret_info)
{
    struct inquiry *inquiry;
    lk_status status = inquiry_new(&inquiry, place, NULL);

    if (status != LK_OK)
        return status;
    lk__ask_begin_by(&inquiry->ask, until);
    status = lk__ask_sleep(&inquiry->ask);
    if (status == LK_OK)
        *ret_info = inquiry_result(inquiry);
    lk__ask_release(&inquiry->ask);
    return status;
}

static void deliver(lk__call *call)
{
    struct inquiry *inquiry = (struct inquiry *)(void *)lk__ask_of_call(call);
    lk_info *info = call->status == LK_OK ? inquiry_result(inquiry) : NULL;

    inquiry->cb(call->status, info, inquiry->data);
    lk__ask_finish(&inquiry->ask);
}

lk_status
lk__info_ask_async(lk__place *place, uint64_t until, lk_info_cb cb, void *data)
{
    struct inquiry *inquiry;
    lk_status status = inquiry_new(&inquiry, place, deliver);

    if (status != LK_OK)
        return status;
    inquiry->cb = cb;
    inquiry->data = data;
    lk__ask_begin_by(&inquiry->ask, until);
    return LK_OK;
}

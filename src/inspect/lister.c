/* SPDX-License-Identifier: MIT */

/*
 * Reading names: a few short commands for each, a few names at a time. With so
 * few under way the server serves others in between.
 */

#include "inspect/lister.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "inspect/kinds.h"
#include "lock_table.h"
#include "rwlock_table.h"
#include "server/reply.h"

enum {
    FLUSH_EVERY = 16, /* names whose questions go out together */
    READ_MOST = 1024  /* of those who wait for one, as lua/shared/waiting.lua */
};

/* Scores of those who wait: from the first band to the claims that are void. */
#define FIRST  "0"
#define BEHIND "(2533274790395904"

/* ---- reading a name ------------------------------------------------------------ */

static void look_step(struct lk__look *look);

static void look_take(lk__probing *probing, const redisReply *reply)
{
    struct lk__look_ask *ask = (struct lk__look_ask *)(void *)probing;
    struct lk__look *look = ask->look;

    if (reply->type != REDIS_REPLY_ERROR)
        ask->take(look, reply);
    if (--look->pending == 0)
        look_step(look);
}

/* In a cluster: its master is away, which the list says. */
static void look_miss(lk__probing *probing)
{
    struct lk__look *look = ((struct lk__look_ask *)(void *)probing)->look;

    if (--look->pending == 0)
        look_step(look);
}

/* Asks a command about a key of the name; words follow the key. */
static void
look_ask(struct lk__look *look, const char *command, const char *form,
         size_t count, const char *const *words,
         void (*take)(struct lk__look *look, const redisReply *reply))
{
    struct lk__look_ask *ask = &look->asks[look->pending++];
    char *key = lk__key_make(form, look->name->name);
    lk__arg *args = lk__alloc((count + 2) * sizeof(*args));

    if (key == NULL || args == NULL) {
        look->pending--;
        lk__probe_end(&look->lister->probe, LK_ENOMEM, NULL);
        lk__free(key);
        lk__free(args);
        return;
    }
    args[0] = lk__arg_text(command);
    args[1] = lk__arg_text(key);
    for (size_t i = 0; i < count; i++)
        args[i + 2] = lk__arg_text(words[i]);
    ask->look = look;
    ask->take = take;
    ask->probing.take = look_take;
    ask->probing.miss = look_miss;
    lk__probe_send(&look->lister->probe, &ask->probing, count + 2, args);
    lk__free(key);
    lk__free(args);
}

/* Redisson's. */
static void take_waiters(struct lk__look *look, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer > 0)
        look->name->entry.waiter_count += (uint64_t)reply->integer;
}

static uint64_t begun_ms(const struct lk__look *look)
{
    return lk__walk_ms(&look->lister->walk, look->name->name);
}

/* The first of those who wait. */
static void take_line(struct lk__look *look, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return;
    look->read = reply->elements / 2;
    look->name->entry.waiter_count = look->read;
    if (!lk__suspects_find(&look->suspects, reply, begun_ms(look)))
        lk__probe_end(&look->lister->probe, LK_ENOMEM, NULL);
}

/* All of them, where more wait than were read. */
static void take_length_of_line(struct lk__look *look, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER &&
        reply->integer > (int64_t)look->read)
        look->name->entry.waiter_count += (uint64_t)reply->integer - look->read;
}

static void take_marks(struct lk__look *look, const redisReply *reply)
{
    size_t silent = lk__suspects_judge(reply, begun_ms(look));

    if (silent <= look->read)
        look->name->entry.waiter_count -= silent;
}

static void take_lease(struct lk__look *look, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer != -2)
        look->name->party.lease_ms = reply->integer;
}

static void take_value(struct lk__look *look, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING)
        return;
    look->name->entry.has_value = true;
    look->name->entry.value = strtoll(reply->str, NULL, 10);
}

static void take_permits(struct lk__look *look, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        look->name->entry.holder_count = (uint64_t)reply->integer;
}

/* Of all fields but the mode. */
static void take_length(struct lk__look *look, const redisReply *reply)
{
    bool has_mode = look->hash_kind == LK_KIND_RWLOCK;

    if (reply->type == REDIS_REPLY_INTEGER && reply->integer > has_mode)
        look->name->entry.holder_count = (uint64_t)(reply->integer - has_mode);
}

static void take_fields(struct lk__look *look, const redisReply *reply)
{
    lk__lister_name *name = look->name;
    lk__fields fields;

    lk__fields_read(&fields, lk__reply_at(reply, 1));
    look->hash_kind = fields.kind;
    look->many = strcmp(lk__reply_text_at(reply, 0), "0") != 0;
    if (fields.owner == NULL)
        return;
    name->entry.holder_count = fields.count;
    name->party.mode = fields.mode;
    name->party.count = fields.entries;
    lk__free(name->owner);
    name->owner = lk__strndup(fields.owner, fields.owner_size);
    if (name->owner == NULL)
        lk__probe_end(&look->lister->probe, LK_ENOMEM, NULL);
}

/* It is the holder that the record is about. */
static void take_holder(struct lk__look *look, const redisReply *reply)
{
    lk__lister_name *name = look->name;

    if (reply->type != REDIS_REPLY_STRING)
        return;
    look->hash_kind = LK_KIND_LOCK;
    name->entry.holder_count = 1;
    name->party.count = strtoull(reply->str, NULL, 10);
    name->owner = lk__strdup(look->claim);
    if (name->owner == NULL)
        lk__probe_end(&look->lister->probe, LK_ENOMEM, NULL);
}

/* From a time of the server's clock to when the list was begun. */
static uint64_t span_since(const struct lk__look *look, uint64_t since)
{
    uint64_t now = begun_ms(look);

    return since != 0 && now > since ? now - since : 0;
}

static bool is_revoked(lk__text flag)
{
    return flag.size == 1 && flag.bytes[0] == 'v';
}

/* Kept until the holder is known: the hash is the truth. */
static void take_record(struct lk__look *look, const redisReply *reply)
{
    lk__lister_name *name = look->name;
    lk__record_text record;

    if (reply->type != REDIS_REPLY_STRING ||
        !lk__packed_read(&lk__record_text_packed,
                         (lk__text){reply->str, reply->len}, &record))
        return;
    look->record_kind = lk__kind_of_layout(record.layout);
    name->entry.ours = look->record_kind != LK_KIND_NONE;
    look->claim = lk__strndup(record.claim.bytes, record.claim.size);
    name->reason = lk__strndup(record.reason.bytes, record.reason.size);
    name->party.revoked = is_revoked(record.flag);
    name->party.fence = (uint64_t)record.fence;
    name->party.since_ms = span_since(look, (uint64_t)record.since);
    if (look->claim == NULL || name->reason == NULL)
        lk__probe_end(&look->lister->probe, LK_ENOMEM, NULL);
}

static void take_reader(struct lk__look *look, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING)
        return;
    look->mark = lk__strdup(reply->str);
    if (look->mark == NULL)
        lk__probe_end(&look->lister->probe, LK_ENOMEM, NULL);
}

static void ask_record(struct lk__look *look)
{
    static const char *const first[] = {FIRST,   BEHIND, "WITHSCORES",
                                        "LIMIT", "0",    "1024"};

    if (look->name->has_record) {
        look_ask(look, "GET", LK__RECORD_FORM, 0, NULL, take_record);
        look_ask(look, "ZRANGEBYSCORE", ":q", 6, first, take_line);
    }
}

static void ask_line(struct lk__look *look)
{
    static const char *const all[] = {FIRST, BEHIND};

    if (look->read == READ_MOST)
        look_ask(look, "ZCOUNT", ":q", 2, all, take_length_of_line);
    if (look->suspects.count > 0)
        look_ask(look, "ZMSCORE", ":q", look->suspects.count,
                 look->suspects.marks, take_marks);
}

/* Of a lock it is enough to ask whether the one on record still holds. */
static void ask_holder(struct lk__look *look)
{
    const char *claim = look->claim;

    ask_line(look);
    if (!look->name->has_hash)
        return;
    look_ask(look, "PTTL", "N", 0, NULL, take_lease);
    if (look->record_kind == LK_KIND_LOCK && claim != NULL && claim[0] != '\0')
        look_ask(look, "HGET", "N", 1, &claim, take_holder);
}

static void ask_fields(struct lk__look *look)
{
    static const char *const scan[] = {"0", "COUNT", "16"};

    if (look->name->has_hash && look->hash_kind == LK_KIND_NONE)
        look_ask(look, "HSCAN", "N", 3, scan, take_fields);
}

/* A hash that is there is the truth; else the record; else the leases. */
static lk_kind kind_of(const struct lk__look *look)
{
    if (look->hash_kind != LK_KIND_NONE)
        return look->hash_kind;
    if (look->record_kind != LK_KIND_NONE || look->name->entry.ours)
        return look->record_kind;
    return look->name->has_timeout ? LK_KIND_SEMAPHORE : LK_KIND_NONE;
}

/* What the kind asks for. */
static void ask_rest(struct lk__look *look)
{
    lk__lister_name *name = look->name;
    lk_kind kind = kind_of(look);

    name->entry.kind = kind;
    if (kind == LK_KIND_RWLOCK && name->owner != NULL &&
        strcmp(name->party.mode, "read") == 0) {
        const char *reader = name->owner;

        look_ask(look, "HGET", ":h", 1, &reader, take_reader);
    }
    if (kind == LK_KIND_LOCK && name->has_hash && !name->entry.ours)
        look_ask(look, "LLEN", "redisson_lock_queue", 0, NULL, take_waiters);
    if (look->many)
        look_ask(look, "HLEN", "N", 0, NULL, take_length);
    if (kind == LK_KIND_SEMAPHORE)
        look_ask(look, "ZCARD", LK__TIMEOUT_FORM, 0, NULL, take_permits);
    if (kind == LK_KIND_SEMAPHORE || kind == LK_KIND_PLAIN_SEMAPHORE ||
        kind == LK_KIND_LATCH)
        look_ask(look, "GET", "N", 0, NULL, take_value);
}

/* ---- what became of a name --------------------------------------------------------- */

static void client_take(lk__probing *probing, const redisReply *reply)
{
    lk__lister_client *client = (lk__lister_client *)(void *)probing;

    if (reply->type != REDIS_REPLY_STRING)
        return;
    client->text = lk__strdup(reply->str);
    if (client->text == NULL)
        return;
    lk__record_parse(&client->record, client->text);
    client->is_near =
        lk__record_is_near(&client->record, probing->probe->call.client);
}

static void client_miss(lk__probing *probing)
{
    (void)probing; /* who the client is stays unknown */
}

static void client_ask(struct lk__lister *lister, lk__lister_client *client)
{
    char key[LK__RECORD_KEY_SIZE];
    lk__arg args[2] = {lk__arg_text("GET")};

    lk__record_key(key, lister->probe.call.client, client->id);
    args[1] = lk__arg_text(key);
    client->probing.take = client_take;
    client->probing.miss = client_miss;
    lk__probe_send(&lister->probe, &client->probing, 2, args);
}

/* The name's record is about the last writer: readers have one each. */
static void reader_settle(struct lk__look *look)
{
    lk__lister_name *name = look->name;
    lk__reader_text reader;

    if (!lk__packed_read(&lk__reader_text_packed,
                         (lk__text){look->mark, strlen(look->mark)}, &reader))
        return;
    name->party.revoked = is_revoked(reader.flag);
    name->party.fence = (uint64_t)reader.fence;
    name->party.since_ms = span_since(look, (uint64_t)reader.since);
    name->party.mode = reader.mode.size == 1 && reader.mode.bytes[0] == 'u'
                           ? "upgradeable"
                           : "read";
    lk__free(name->reason);
    name->reason = lk__strndup(reader.reason.bytes, reader.reason.size);
    if (name->reason == NULL)
        lk__probe_end(&look->lister->probe, LK_ENOMEM, NULL);
}

/* The record tells of the holder only if it is about the holder. */
static void holder_settle(struct lk__look *look)
{
    lk__lister_name *name = look->name;
    bool is_new = false;

    if (look->claim == NULL || strcmp(look->claim, name->owner) != 0) {
        lk__free(name->reason);
        name->reason = NULL;
        name->party.fence = name->party.since_ms = 0;
        name->party.revoked = false;
    }
    if (look->mark != NULL)
        reader_settle(look);
    name->client = lk__names_client(look->lister->names, name->owner, &is_new);
    if (name->client == NULL)
        lk__probe_end(&look->lister->probe, LK_ENOMEM, NULL);
    else if (is_new)
        client_ask(look->lister, name->client);
}

static void settle(struct lk__look *look)
{
    lk__lister_name *name = look->name;
    const lk_entry *entry = &name->entry;

    if (name->owner != NULL)
        holder_settle(look);
    name->is_used = entry->kind != LK_KIND_NONE &&
                    (entry->holder_count > 0 || entry->waiter_count > 0 ||
                     entry->has_value || look->lister->options.idle != 0);
    lk__free(look->claim);
    lk__free(look->mark);
    look->claim = look->mark = NULL;
    look->read = 0;
    lk__suspects_free(&look->suspects);
}

static bool look_next(struct lk__look *look)
{
    struct lk__lister *lister = look->lister;

    if (lister->next >= lister->names->count)
        return false;
    look->name = lister->names->all[lister->next++];
    look->round = 0;
    look->many = false;
    look->hash_kind = look->record_kind = LK_KIND_NONE;
    look->name->party.mode = "";
    ask_record(look);
    if (lister->next % FLUSH_EVERY == 0)
        lk__probe_flush(&lister->probe);
    return true;
}

/* All questions of a round were answered. */
static void look_step(struct lk__look *look)
{
    static void (*const rounds[])(
        struct lk__look * look) = {NULL, ask_holder, ask_fields, ask_rest};
    const int count = sizeof(rounds) / sizeof(rounds[0]);

    while (look->pending == 0 && !look->lister->probe.call.done) {
        if (look->name != NULL && ++look->round < count) {
            rounds[look->round](look);
            continue;
        }
        if (look->name != NULL)
            settle(look);
        look->name = NULL;
        if (!look_next(look))
            return;
    }
}

void lk__lister_read(struct lk__lister *lister)
{
    for (size_t i = 0; i < LK__LISTER_LOOKS; i++) {
        lister->looks[i].lister = lister;
        look_step(&lister->looks[i]);
    }
}

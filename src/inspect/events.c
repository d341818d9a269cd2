/* SPDX-License-Identifier: MIT */

/* Reading what was noted of one name, or of all that SCAN finds. */

#include <latchkey/inspect.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/node.h"
#include "claims/record.h"
#include "inspect/event.h"
#include "inspect/probe.h"
#include "inspect/walk.h"
#include "server/reply.h"

enum {
    EVENTS_MOST = 10000,
    LOOKS_MOST = 16 /* keys that are read at once */
};

/* ---- what is told ----------------------------------------------------------- */

/* One event, and the memory of its strings. */
struct kept {
    lk_event event; /* first */
    char *texts[4]; /* name, what, owner, text */
    char *id;       /* of the entry in its stream */
    char *by;       /* a client's record, cut into lines */
};

struct telling {
    lk_events events; /* first: what the caller sees */
    struct kept **all;
    size_t count, room;
    char *missing;
};

static void kept_free(struct kept *kept)
{
    for (size_t i = 0; i < 4; i++)
        lk__free(kept->texts[i]);
    lk__free(kept->id);
    lk__free(kept->by);
    lk__free(kept);
}

static void telling_free(struct telling *telling)
{
    if (telling == NULL)
        return;
    for (size_t i = 0; i < telling->count; i++)
        kept_free(telling->all[i]);
    lk__free(telling->all);
    lk__free(telling->missing);
    lk__free(telling);
}

void lk_events_free(lk_events *events)
{
    telling_free((struct telling *)(void *)events);
}

/* The value of a field of an entry; "" if it is not there. */
static const char *value_of(const redisReply *fields, const char *field)
{
    for (size_t i = 0; fields != NULL && i + 1 < fields->elements; i += 2) {
        if (strcmp(lk__reply_text_at(fields, i), field) == 0)
            return lk__reply_text_at(fields, i + 1);
    }
    return "";
}

/* NULL: no memory. */
static struct kept *kept_new(const redisReply *entry)
{
    static const char *const fields[] = {LK__EVENT_NAME, LK__EVENT_WHAT,
                                         LK__EVENT_OWNER, LK__EVENT_TEXT};
    const redisReply *values = lk__reply_at(entry, 1);
    struct kept *kept = lk__alloc(sizeof(*kept));
    lk__record by;
    bool is_whole = kept != NULL;

    for (size_t i = 0; is_whole && i < 4; i++) {
        kept->texts[i] = lk__strdup(value_of(values, fields[i]));
        is_whole = kept->texts[i] != NULL;
    }
    if (is_whole) {
        kept->id = lk__strdup(lk__reply_text_at(entry, 0));
        kept->by = lk__strdup(value_of(values, LK__EVENT_BY));
    }
    if (!is_whole || kept->id == NULL || kept->by == NULL) {
        if (kept != NULL)
            kept_free(kept);
        return NULL;
    }
    lk__record_parse(&by, kept->by);
    kept->event = (lk_event){.name = kept->texts[0],
                             .what = kept->texts[1],
                             .owner = kept->texts[2],
                             .text = kept->texts[3],
                             .host = by.host,
                             .command = by.command,
                             .user = by.user,
                             .pid = strtoull(by.pid, NULL, 10),
                             .at_ms = strtoull(kept->id, NULL, 10)};
    return kept;
}

/* False: no memory. */
static bool telling_add(struct telling *telling, struct kept *kept)
{
    if (telling->count == telling->room) {
        size_t room = telling->room == 0 ? 64 : telling->room * 2;
        struct kept **all =
            lk__realloc(telling->all, room * sizeof(struct kept *));

        if (all == NULL)
            return false;
        telling->all = all;
        telling->room = room;
    }
    telling->all[telling->count++] = kept;
    return true;
}

/* The oldest first; of the same moment in the order of their names. */
static int compare(const void *a, const void *b)
{
    const struct kept *one = *(const struct kept *const *)a;
    const struct kept *other = *(const struct kept *const *)b;
    int names = strcmp(one->event.name, other->event.name);

    if (one->event.at_ms != other->event.at_ms)
        return one->event.at_ms < other->event.at_ms ? -1 : 1;
    return names != 0 ? names : strcmp(one->id, other->id);
}

/* Puts them in their order, each once: SCAN may tell of a key more than once. */
static void telling_sort(struct telling *telling)
{
    size_t count = 0;

    if (telling->count == 0)
        return;
    qsort(telling->all, telling->count, sizeof(struct kept *), compare);
    for (size_t i = 0; i < telling->count; i++) {
        struct kept *kept = telling->all[i];

        if (count > 0 && compare(&telling->all[count - 1], &kept) == 0)
            kept_free(kept);
        else
            telling->all[count++] = kept;
    }
    telling->count = count;
}

/* ---- asking ------------------------------------------------------------------ */

struct reading;

/* A key whose events are read. */
struct look {
    lk__probing probing; /* first */
    const char *key;     /* NULL: none */
};

struct reading {
    lk__probe probe; /* first */
    lk__walk walk;
    struct look looks[LOOKS_MOST];
    char *name;  /* NULL: every one */
    char **keys; /* that were found, and need not be there any more */
    size_t key_count, key_room, next;
    struct telling *telling;
    lk_events_cb cb;
    void *data;
};

static struct reading *reading_of(lk__probe *probe)
{
    return (struct reading *)(void *)probe;
}

static void cleanup(lk__probe *probe)
{
    struct reading *reading = reading_of(probe);

    for (size_t i = 0; i < reading->key_count; i++)
        lk__free(reading->keys[i]);
    lk__free(reading->keys);
    lk__free(reading->name);
    lk__walk_done(&reading->walk);
    telling_free(reading->telling);
}

/* What is no refusal was no list, either. */
static void fail(struct reading *reading, const redisReply *reply)
{
    lk_status status = lk__reply_status(reply);

    lk__probe_end(&reading->probe, status != LK_OK ? status : LK_EPROTO,
                  lk__reply_words(reply));
}

/* An entry is of the name that its key is of, whatever it says. */
static bool is_of_key(const struct kept *kept, const char *key)
{
    char own[LK__CLAIM_KEY_SIZE];

    return lk__name_check(kept->event.name) == LK_OK &&
           lk__key_write(LK__EVENT_FORM, kept->event.name, own, sizeof(own)) <
               sizeof(own) &&
           strcmp(own, key) == 0;
}

/* Passes over what is of another name. False: no memory. */
static bool
entry_take(struct telling *telling, const redisReply *entry, const char *key)
{
    struct kept *kept = kept_new(entry);
    bool is_meant;

    if (kept == NULL)
        return false;
    is_meant = is_of_key(kept, key);
    if (is_meant && telling_add(telling, kept))
        return true;
    kept_free(kept);
    return !is_meant;
}

static void look_next(struct reading *reading, struct look *look);

/* What a scan found may be another type's by now. */
static void look_take(lk__probing *probing, const redisReply *reply)
{
    struct reading *reading = reading_of(probing->probe);
    struct look *look = (struct look *)(void *)probing;
    lk_status status = lk__reply_status(reply);
    struct telling *telling = reading->telling;

    if (status == LK_OK ? reply->type != REDIS_REPLY_ARRAY
                        : status != LK_ETYPE || reading->name != NULL) {
        fail(reading, reply);
        return;
    }
    for (size_t i = 0; status == LK_OK && i < reply->elements; i++) {
        if (telling->count == EVENTS_MOST) {
            telling->events.truncated = true;
            break;
        }
        if (!entry_take(telling, reply->element[i], look->key)) {
            lk__probe_end(&reading->probe, LK_ENOMEM, NULL);
            return;
        }
    }
    look_next(reading, look);
}

/* In a cluster: its master is away, which the answer says. */
static void look_miss(lk__probing *probing)
{
    look_next(reading_of(probing->probe), (struct look *)(void *)probing);
}

static void look_send(struct reading *reading, struct look *look)
{
    const lk__arg args[] = {lk__arg_text("XREVRANGE"),
                            lk__arg_text(look->key),
                            lk__arg_text("+"),
                            lk__arg_text("-"),
                            lk__arg_text("COUNT"),
                            lk__arg_number(LK_EVENTS_KEPT)};

    look->probing.take = look_take;
    look->probing.miss = reading->name == NULL ? look_miss : NULL;
    lk__probe_send(&reading->probe, &look->probing,
                   sizeof(args) / sizeof(args[0]), args);
}

static void look_next(struct reading *reading, struct look *look)
{
    if (reading->next == reading->key_count ||
        reading->telling->events.truncated)
        return;
    look->key = reading->keys[reading->next++];
    look_send(reading, look);
}

/* False: no memory. Takes the key. */
static bool key_take(struct reading *reading, char *key)
{
    size_t room = reading->key_room == 0 ? 64 : reading->key_room * 2;
    char **keys = reading->keys;

    if (key == NULL)
        return false;
    if (reading->key_count == reading->key_room) {
        keys = lk__realloc(keys, room * sizeof(*keys));
        if (keys == NULL) {
            lk__free(key);
            return false;
        }
        reading->keys = keys;
        reading->key_room = room;
    }
    keys[reading->key_count++] = key;
    return true;
}

/* A key that is found twice is read twice. */
static void found(lk__walk *walk, size_t find, const redisReply *key)
{
    struct reading *reading = reading_of(walk->probe);

    (void)find;
    if (reading->key_count == EVENTS_MOST)
        reading->telling->events.truncated = walk->is_full = true;
    else if (!key_take(reading, lk__strdup(key->str)))
        lk__probe_end(walk->probe, LK_ENOMEM, NULL);
}

static void read_all(struct reading *reading)
{
    for (size_t i = 0; i < LOOKS_MOST; i++)
        look_next(reading, &reading->looks[i]);
}

static void over(lk__walk *walk)
{
    read_all(reading_of(walk->probe));
}

static void begin(lk__probe *probe)
{
    struct reading *reading = reading_of(probe);

    if (reading->name == NULL)
        lk__walk_begin(&reading->walk, probe);
    else
        read_all(reading);
}

/* ---- the call ------------------------------------------------------------------ */

/* False: no memory. */
static bool reading_fill(struct reading *reading, const char *name)
{
    reading->telling = lk__alloc(sizeof(*reading->telling));
    if (reading->telling == NULL)
        return false;
    if (name != NULL) {
        reading->name = lk__strdup(name);
        return reading->name != NULL &&
               key_take(reading, lk__key_make(LK__EVENT_FORM, name));
    }
    reading->walk.find_count = 1;
    reading->walk.found = found;
    reading->walk.over = over;
    reading->walk.finds[0].type = "stream";
    reading->walk.finds[0].match = lk__strdup(LK__KEYS_OWN "*" LK__EVENT_FORM);
    return reading->walk.finds[0].match != NULL;
}

static lk_status
reading_new(struct reading **ret_reading, int64_t wait_ms, const char *name)
{
    struct reading *reading;
    lk_status status = lk__wait_check(wait_ms);

    if (status == LK_OK && wait_ms == 0)
        status = lk__fail(LK_EINVAL, "wait_ms is 0");
    if (status == LK_OK && name != NULL)
        status = lk__name_check(name);
    if (status != LK_OK)
        return status;
    reading = lk__alloc(sizeof(*reading));
    if (reading == NULL)
        return LK_ENOMEM;
    reading->probe.begin = begin;
    reading->probe.cleanup = cleanup;
    if (!reading_fill(reading, name)) {
        lk__probe_release(&reading->probe);
        return LK_ENOMEM;
    }
    *ret_reading = reading;
    return LK_OK;
}

/* The caller's from here on. */
static lk_status reading_result(struct reading *reading, lk_events **ret_events)
{
    struct telling *telling = reading->telling;

    telling->missing = lk__probe_missing(&reading->probe);
    if (telling->missing == NULL)
        return LK_ENOMEM;
    telling->events.missing = telling->missing;
    reading->telling = NULL;
    telling_sort(telling);
    telling->events.count = telling->count;
    telling->events.entries = (const lk_event *const *)(void *)telling->all;
    *ret_events = &telling->events;
    return LK_OK;
}

lk_status lk_events_get(lk_client *client, int64_t wait_ms, const char *name,
                        lk_events **ret_events)
{
    struct reading *reading;
    lk_status status;

    if (ret_events == NULL)
        return lk__fail(LK_EINVAL, "ret_events is NULL");
    status = reading_new(&reading, wait_ms, name);
    if (status != LK_OK)
        return status;
    status = lk__probe_run(&reading->probe, client, wait_ms);
    if (status == LK_OK)
        status = reading_result(reading, ret_events);
    lk__probe_release(&reading->probe);
    return status;
}

static void deliver(lk__probe *probe)
{
    struct reading *reading = reading_of(probe);
    lk_status status = probe->call.status;
    lk_events *events = NULL;

    if (status == LK_OK)
        status = reading_result(reading, &events);
    reading->cb(status, events, reading->data);
}

lk_status lk_events_get_async(lk_client *client, int64_t wait_ms,
                              const char *name, lk_events_cb cb, void *data)
{
    struct reading *reading;
    lk_status status;

    if (cb == NULL)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    status = reading_new(&reading, wait_ms, name);
    if (status != LK_OK)
        return status;
    reading->probe.deliver = deliver;
    reading->cb = cb;
    reading->data = data;
    return lk__probe_run_async(&reading->probe, client, wait_ms);
}

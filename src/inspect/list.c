/* SPDX-License-Identifier: MIT */

/*
 * Which names are in use. First the key space is gone through, for two sorts of
 * keys at once: the hashes, which are locks of whatever library and the records of
 * all kinds of ours, and the leases of semaphores. Then each name that was
 * found is read, a few names at a time: with so few commands under way the
 * server serves others in between.
 */

#include <latchkey/inspect.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/work.h"
#include "handle/handle.h"
#include "inspect/kinds.h"
#include "inspect/lister.h"
#include "inspect/report.h"
#include "server/reply.h"

enum { LIMIT = 1000000 };

/* What the walk looks for; the leases of Redisson's semaphores only where others'
   names are wanted, too. */
enum scan_type { SCAN_HASHES, SCAN_RECORDS, SCAN_LEASES };

enum { SCANS = SCAN_LEASES + 1 };

static struct lk__lister *lister_of(lk__probe *probe)
{
    return (struct lk__lister *)(void *)probe;
}

/* ---- reading the key space ---------------------------------------------------------- */

/* A key of one type is no trace that keys of another type leave. */
static bool is_trace_of(enum scan_type type, lk__trace trace)
{
    switch (type) {
    case SCAN_RECORDS:
        return trace == LK__TRACE_RECORD;
    case SCAN_LEASES:
        return trace == LK__TRACE_TIMEOUT;
    case SCAN_HASHES:
    default:
        return trace != LK__TRACE_TIMEOUT && trace != LK__TRACE_RECORD &&
               trace != LK__TRACE_NONE;
    }
}

static void key_add(lk__walk *walk, size_t find, const redisReply *key)
{
    struct lk__lister *lister = lister_of(walk->probe);
    enum scan_type type = (enum scan_type)find;
    const char *text = key->str;
    size_t size = (size_t)key->len;
    lk__trace trace = lk__trace_of(key->str, (size_t)key->len, &text, &size);
    lk__lister_name *name;
    bool is_full;

    if (type == SCAN_HASHES &&
        trace == LK__TRACE_TIMEOUT) { /* a lock called so */
        trace = LK__TRACE_NAME;
        text = key->str;
        size = (size_t)key->len;
    }
    if (!is_trace_of(type, trace))
        return;
    if (trace == LK__TRACE_NAME && lister->options.ours != 0)
        return;
    name = lk__names_get(lister->names, text, size, lister->options.limit,
                         &is_full);
    if (is_full)
        lister->names->listing.truncated = walk->is_full = true;
    else if (name == NULL)
        lk__probe_end(&lister->probe, LK_ENOMEM, NULL);
    if (name == NULL)
        return;
    name->has_record |= trace == LK__TRACE_RECORD;
    name->has_timeout |= trace == LK__TRACE_TIMEOUT;
    name->has_hash |= trace == LK__TRACE_NAME || lister->options.ours != 0;
}

/* The pattern that keys were found by says less than that of names. */
static void names_sift(struct lk__lister *lister)
{
    lk__names *names = lister->names;
    size_t kept = 0;

    for (size_t i = 0; i < names->count; i++) {
        lk__lister_name *name = names->all[i];

        if (lister->pattern == NULL || lk__glob(lister->pattern, name->name)) {
            names->all[kept++] = name;
        } else {
            lk__table_remove(&names->by_name, &name->link);
            lk__free(name);
        }
    }
    names->count = kept;
}

static void over(lk__walk *walk)
{
    struct lk__lister *lister = lister_of(walk->probe);

    names_sift(lister);
    lk__lister_read(lister);
}

/* One who was told of a server, and not of its cluster, sees a part of it. */
static void size_take(lk__probing *probing, const redisReply *reply)
{
    char masters[LK__REPORT_VALUE];

    if (reply->type == REDIS_REPLY_STRING &&
        lk__info_value(reply->str, "cluster_size", masters) &&
        strcmp(masters, "1") == 0)
        return;
    lk__probe_note(
        probing->probe, NULL,
        "all but this node of a Redis Cluster: with redis+cluster:// "
        "in the URL the others are asked as well");
}

static void
mode_ask(struct lk__lister *lister, const char *command, const char *word,
         void (*take)(lk__probing *probing, const redisReply *reply))
{
    const lk__arg args[2] = {lk__arg_text(command), lk__arg_text(word)};

    lister->mode.take = take;
    lk__probe_send_to(&lister->probe, lister->probe.call.client->node,
                      &lister->mode, 2, args);
}

static void mode_take(lk__probing *probing, const redisReply *reply)
{
    char is_on[LK__REPORT_VALUE];

    if (reply->type == REDIS_REPLY_STRING &&
        lk__info_value(reply->str, "cluster_enabled", is_on) &&
        strcmp(is_on, "1") == 0)
        mode_ask(lister_of(probing->probe), "CLUSTER", "INFO", size_take);
}

static void begin(lk__probe *probe)
{
    if (probe->call.client->work->cluster == NULL)
        mode_ask(lister_of(probe), "INFO", "cluster", mode_take);
    lk__walk_begin(&lister_of(probe)->walk, probe);
}

/* ---- the call ------------------------------------------------------------------ */

static void cleanup(lk__probe *probe)
{
    struct lk__lister *lister = lister_of(probe);

    for (size_t i = 0; i < LK__LISTER_LOOKS; i++) {
        lk__free(lister->looks[i].claim);
        lk__free(lister->looks[i].mark);
        lk__suspects_free(&lister->looks[i].suspects);
    }
    lk__names_free(lister->names);
    lk__free(lister->pattern);
    lk__walk_done(&lister->walk);
}

/* Matches every key that tells of a name of the pattern, and some more. */
static char *
match_of(const char *pattern, const char *before, const char *after)
{
    size_t size = strlen(before) + strlen(pattern) + strlen(after) + 3;
    char *match = lk__alloc(size);

    if (match != NULL)
        snprintf(match, size, "%s*%s*%s", before, pattern, after);
    return match;
}

/* False: no memory. */
static bool walk_fill(struct lk__lister *lister, const char *pattern)
{
    const struct {
        const char *type, *before, *after;
    } forms[SCANS] =
        {[SCAN_HASHES] = {"hash", lister->options.ours ? LK__KEYS_OWN : "", ""},
         [SCAN_RECORDS] = {"string", LK__KEYS_OWN, LK__RECORD_FORM},
         [SCAN_LEASES] = {"zset", "", LK__TIMEOUT_END}};
    lk__walk *walk = &lister->walk;
    bool is_complete = true;

    walk->find_count = lister->options.ours != 0 ? SCAN_LEASES : SCANS;
    walk->found = key_add;
    walk->over = over;
    for (size_t i = 0; i < walk->find_count; i++) {
        walk->finds[i].type = forms[i].type;
        walk->finds[i].match = match_of(pattern != NULL ? pattern : "",
                                        forms[i].before, forms[i].after);
        is_complete = is_complete && walk->finds[i].match != NULL;
    }
    return is_complete;
}

static lk_status lister_fill(struct lk__lister *lister)
{
    const char *pattern = lister->options.pattern;

    lister->names = lk__names_new();
    if (pattern != NULL)
        lister->pattern = lk__strdup(pattern);
    lister->options.pattern = NULL; /* the caller's */
    return lister->names != NULL && walk_fill(lister, pattern) &&
                   (pattern == NULL || lister->pattern != NULL)
               ? LK_OK
               : LK_ENOMEM;
}

static lk_status lister_new(struct lk__lister **ret_lister, int64_t wait_ms,
                            const lk_list_options *options)
{
    lk_list_options copy;
    lk_status status = lk__options_copy(&copy, sizeof(copy), options);
    struct lk__lister *lister;

    if (status == LK_OK && wait_ms == 0)
        status = lk__fail(LK_EINVAL, "a list takes time: wait_ms is 0");
    if (status != LK_OK)
        return status;
    if (copy.limit == 0)
        copy.limit = LIMIT;
    lister = lk__alloc(sizeof(*lister));
    if (lister == NULL)
        return LK_ENOMEM;
    lister->options = copy;
    lister->probe.begin = begin;
    lister->probe.cleanup = cleanup;
    status = lister_fill(lister);
    if (status != LK_OK)
        lk__probe_release(&lister->probe);
    else
        *ret_lister = lister;
    return status;
}

static lk_status
lister_result(struct lk__lister *lister, lk_listing **ret_listing)
{
    char *missing = lk__probe_missing(&lister->probe);
    lk_status status =
        missing != NULL ? lk__names_finish(lister->names, missing) : LK_ENOMEM;

    if (status == LK_OK) {
        *ret_listing = &lister->names->listing;
        lister->names = NULL;
    }
    return status;
}

lk_status lk_list(lk_client *client, int64_t wait_ms,
                  const lk_list_options *options, lk_listing **ret_listing)
{
    struct lk__lister *lister;
    lk_status status;

    if (ret_listing == NULL)
        return lk__fail(LK_EINVAL, "ret_listing is NULL");
    status = lister_new(&lister, wait_ms, options);
    if (status != LK_OK)
        return status;
    status = lk__probe_run(&lister->probe, client, wait_ms);
    if (status == LK_OK)
        status = lister_result(lister, ret_listing);
    lk__probe_release(&lister->probe);
    return status;
}

static void deliver(lk__probe *probe)
{
    struct lk__lister *lister = lister_of(probe);
    lk_listing *listing = NULL;
    lk_status status = probe->call.status;

    if (status == LK_OK)
        status = lister_result(lister, &listing);
    lister->cb(status, listing, lister->data);
}

lk_status lk_list_async(lk_client *client, int64_t wait_ms,
                        const lk_list_options *options, lk_list_cb cb,
                        void *data)
{
    struct lk__lister *lister;
    lk_status status;

    if (cb == NULL)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    status = lister_new(&lister, wait_ms, options);
    if (status != LK_OK)
        return status;
    lister->probe.deliver = deliver;
    lister->cb = cb;
    lister->data = data;
    return lk__probe_run_async(&lister->probe, client, wait_ms);
}

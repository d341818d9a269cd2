/* SPDX-License-Identifier: MIT */

/* Commands on keys of any type, and the SCAN family. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/commands.h"

void sim_run_del(sim_call *call)
{
    int64_t removed = 0;

    for (int i = 1; i < call->argc; i++)
        removed += sim_key_remove(call, call->argv[i]);
    sim_reply_integer(call, removed);
}

void sim_run_exists(sim_call *call)
{
    int64_t count = 0;

    for (int i = 1; i < call->argc; i++)
        count += sim_key_find(call, call->argv[i]) != NULL;
    sim_reply_integer(call, count);
}

void sim_run_type(sim_call *call)
{
    const sim_value *value = sim_key_find(call, call->argv[1]);

    sim_reply_status(call, value == NULL ? "none" : sim_type_name(value->type));
}

static int64_t now_ms(const sim_call *call)
{
    return (int64_t)(call->server->now_us / 1000);
}

/* -2: no such key; -1: it stays. */
static int64_t ttl(const sim_call *call)
{
    const sim_value *value = sim_key_find(call, call->argv[1]);

    if (value == NULL)
        return -2;
    if (value->expires_ms == SIM_FOR_EVER)
        return -1;
    return value->expires_ms < now_ms(call) ? 0
                                            : value->expires_ms - now_ms(call);
}

void sim_run_pttl(sim_call *call)
{
    sim_reply_integer(call, ttl(call));
}

void sim_run_ttl(sim_call *call)
{
    int64_t ms = ttl(call);

    sim_reply_integer(call, ms < 0 ? ms : (ms + 500) / 1000);
}

void sim_run_persist(sim_call *call)
{
    sim_value *value = sim_key_find(call, call->argv[1]);
    bool had_end = value != NULL && value->expires_ms != SIM_FOR_EVER;

    if (had_end)
        value->expires_ms = SIM_FOR_EVER;
    sim_reply_integer(call, had_end);
}

/* ---- PEXPIRE and its like ----------------------------------------------- */

enum {
    ONLY_WITHOUT = 1, /* NX */
    ONLY_WITH = 2,    /* XX */
    ONLY_LATER = 4,   /* GT */
    ONLY_EARLIER = 8  /* LT */
};

static bool expire_options(sim_call *call, unsigned *ret_options)
{
    static const char *const words[] = {"NX", "XX", "GT", "LT"};
    unsigned options = 0;

    for (int i = 3; i < call->argc; i++) {
        unsigned word = 0;

        while (word < 4 && !sim_str_is(call->argv[i], words[word]))
            word++;
        if (word == 4) {
            sim_reply_error(call, "Unsupported option %.*s",
                            (int)call->argv[i].size, call->argv[i].bytes);
            return false;
        }
        options |= 1U << word;
    }
    *ret_options = options;
    if ((options & ONLY_WITHOUT) != 0 && options != ONLY_WITHOUT)
        sim_reply_error(call, "NX and XX, GT or LT options at the same time "
                              "are not compatible");
    else if ((options & ONLY_LATER) != 0 && (options & ONLY_EARLIER) != 0)
        sim_reply_error(call, "GT and LT options at the same time are not "
                              "compatible");
    else
        return true;
    return false;
}

static bool may_expire(const sim_value *value, unsigned options, int64_t when)
{
    int64_t old = value->expires_ms;

    if ((options & ONLY_WITHOUT) != 0 && old != SIM_FOR_EVER)
        return false;
    if ((options & ONLY_WITH) != 0 && old == SIM_FOR_EVER)
        return false;
    if ((options & ONLY_LATER) != 0 && (old == SIM_FOR_EVER || when <= old))
        return false;
    return (options & ONLY_EARLIER) == 0 || old == SIM_FOR_EVER || when < old;
}

/* Reads argument 2, in that unit, counted from base. */
static bool
when_read(sim_call *call, int64_t base, int64_t unit, int64_t *ret_when)
{
    int64_t when;

    if (!sim_arg_integer(call, 2, &when))
        return false;
    if (when <= INT64_MAX / unit && when >= INT64_MIN / unit &&
        when * unit <= INT64_MAX - base) {
        *ret_when = when * unit + base;
        return true;
    }
    sim_reply_error(call, "invalid expire time in '%s' command",
                    call->command->name);
    return false;
}

static void expire(sim_call *call, int64_t base, int64_t unit)
{
    unsigned options;
    int64_t when;
    sim_value *value;

    if (!expire_options(call, &options) || !when_read(call, base, unit, &when))
        return;
    value = sim_key_find(call, call->argv[1]);
    if (value == NULL || !may_expire(value, options, when)) {
        sim_reply_integer(call, 0);
        return;
    }
    if (when <= now_ms(call) && !call->server->is_replica)
        sim_key_remove(call, call->argv[1]);
    else
        value->expires_ms = when;
    sim_reply_integer(call, 1);
}

void sim_run_pexpire(sim_call *call)
{
    expire(call, now_ms(call), 1);
}

void sim_run_expire(sim_call *call)
{
    expire(call, now_ms(call), 1000);
}

void sim_run_pexpireat(sim_call *call)
{
    expire(call, 0, 1);
}

/* ---- several keys ------------------------------------------------------- */

void sim_run_rename(sim_call *call)
{
    sim_map *database = &call->server->databases[call->db];
    sim_value *value = sim_key_find(call, call->argv[1]);
    sim_entry *target;

    if (value == NULL) {
        sim_reply_error(call, "no such key");
        return;
    }
    if (!sim_str_equal(call->argv[1], call->argv[2])) {
        sim_key_remove(call, call->argv[2]);
        target = sim_map_add(database, call->argv[2]);
        target->pointer = value;
        sim_map_remove(database, sim_map_find(database, call->argv[1]));
        call->server->may_serve = true;
    }
    sim_reply_status(call, "OK");
}

void sim_run_dbsize(sim_call *call)
{
    sim_reply_integer(call, (int64_t)call->server->databases[call->db].count);
}

static bool flush_options(sim_call *call)
{
    if (call->argc == 1 ||
        (call->argc == 2 && (sim_str_is(call->argv[1], "SYNC") ||
                             sim_str_is(call->argv[1], "ASYNC"))))
        return true;
    sim_reply_syntax_error(call);
    return false;
}

void sim_run_flushdb(sim_call *call)
{
    if (!flush_options(call))
        return;
    sim_map_clear(&call->server->databases[call->db], sim_value_free);
    sim_reply_status(call, "OK");
}

void sim_run_flushall(sim_call *call)
{
    if (!flush_options(call))
        return;
    for (unsigned db = 0; db < SIM_DATABASES; db++)
        sim_map_clear(&call->server->databases[db], sim_value_free);
    sim_reply_status(call, "OK");
}

/* ---- the SCAN family ---------------------------------------------------- */

typedef struct scan {
    uint64_t cursor; /* the number of the last entry that was seen */
    int64_t count;
    const sim_str *pattern, *type; /* NULL: any */
    sim_buffer found;
    size_t found_count;
} scan;

static bool cursor_read(sim_call *call, int index, scan *s)
{
    char text[64];
    char *end;
    sim_str str = call->argv[index];

    if (str.size < sizeof(text) && (str.size == 0 || str.bytes[0] != ' ')) {
        if (str.size > 0)
            memcpy(text, str.bytes, str.size);
        text[str.size] = '\0';
        errno = 0;
        s->cursor = strtoull(text, &end, 10);
        if (*end == '\0' && errno != ERANGE)
            return true;
    }
    sim_reply_error(call, "invalid cursor");
    return false;
}

/* The options from index on. */
static bool scan_options(sim_call *call, int index, bool of_keys, scan *s)
{
    s->count = 10;
    for (int i = index; i < call->argc; i += 2) {
        const sim_str *value = &call->argv[i + 1];
        bool is_last = i + 1 == call->argc;

        if (sim_str_is(call->argv[i], "COUNT") && !is_last) {
            if (!sim_arg_integer(call, i + 1, &s->count))
                return false;
            is_last = s->count < 1;
        } else if (sim_str_is(call->argv[i], "MATCH") && !is_last) {
            s->pattern = value;
        } else if (of_keys && sim_str_is(call->argv[i], "TYPE") && !is_last) {
            s->type = value;
        } else {
            is_last = true;
        }
        if (is_last) {
            sim_reply_syntax_error(call);
            return false;
        }
    }
    return true;
}

static void scan_add(sim_call *call, scan *s, sim_str str)
{
    sim_buffer *reply = call->reply;

    call->reply = &s->found;
    sim_reply_bulk(call, str);
    call->reply = reply;
    s->found_count++;
}

static void reply_found(sim_call *call, scan *s)
{
    sim_reply_array(call, 2);
    sim_reply_number(call, (int64_t)s->cursor);
    sim_reply_array(call, s->found_count);
    sim_buffer_add(call->reply, (sim_str){s->found.bytes, s->found.size});
    sim_buffer_done(&s->found);
}

static bool is_wanted(const scan *s, const sim_entry *entry)
{
    return s->pattern == NULL ||
           sim_str_matches(sim_entry_key(entry), *s->pattern);
}

/* The first entry behind the cursor. */
static sim_entry *scan_from(const sim_map *map, uint64_t cursor)
{
    sim_entry *entry = map->first;

    while (cursor != 0 && entry != NULL && entry->number <= cursor)
        entry = entry->next;
    return entry;
}

void sim_run_scan(sim_call *call)
{
    scan s = {0};
    sim_entry *entry, *next;

    if (!cursor_read(call, 1, &s) || !scan_options(call, 2, true, &s))
        return;
    entry = scan_from(&call->server->databases[call->db], s.cursor);
    for (; entry != NULL && s.count > 0; entry = next, s.count--) {
        const sim_value *value;

        next = entry->next;
        s.cursor = entry->number;
        if (!is_wanted(&s, entry))
            continue;
        value = sim_key_find(call, sim_entry_key(entry));
        if (value != NULL &&
            (s.type == NULL || sim_str_is(*s.type, sim_type_name(value->type))))
            scan_add(call, &s, sim_entry_key(entry));
    }
    if (entry == NULL)
        s.cursor = 0;
    reply_found(call, &s);
}

static void scan_map(sim_call *call, sim_type type)
{
    scan s = {0};
    sim_value *value;
    const sim_map *map;
    const sim_entry *entry;

    if (!cursor_read(call, 2, &s) || !sim_key_get(call, type, &value))
        return;
    if (value == NULL)
        s.cursor = 0;
    if (value != NULL && !scan_options(call, 3, false, &s))
        return;
    map = value == NULL      ? NULL
          : type == SIM_ZSET ? &value->zset.scores
                             : &value->map;
    if (value != NULL && !value->is_table) {
        s.cursor = 0;
        s.count = INT64_MAX;
    }
    entry = map == NULL ? NULL : scan_from(map, s.cursor);
    for (; entry != NULL && s.count > 0; entry = entry->next, s.count--) {
        char score[SIM_NUMBER];

        s.cursor = entry->number;
        if (!is_wanted(&s, entry))
            continue;
        scan_add(call, &s, sim_entry_key(entry));
        if (type == SIM_HASH)
            scan_add(call, &s, sim_text_str(entry->pointer));
        if (type == SIM_ZSET)
            scan_add(call, &s,
                     (sim_str){score, sim_double_write(score, entry->score)});
    }
    if (entry == NULL)
        s.cursor = 0;
    reply_found(call, &s);
}

void sim_run_hscan(sim_call *call)
{
    scan_map(call, SIM_HASH);
}

void sim_run_sscan(sim_call *call)
{
    scan_map(call, SIM_SET);
}

void sim_run_zscan(sim_call *call)
{
    scan_map(call, SIM_ZSET);
}

void sim_run_keys(sim_call *call)
{
    scan s = {.pattern = &call->argv[1]};
    sim_entry *next;

    for (sim_entry *entry = call->server->databases[call->db].first;
         entry != NULL; entry = next) {
        next = entry->next;
        if (is_wanted(&s, entry) &&
            sim_key_find(call, sim_entry_key(entry)) != NULL)
            scan_add(call, &s, sim_entry_key(entry));
    }
    sim_reply_array(call, s.found_count);
    sim_buffer_add(call->reply, (sim_str){s.found.bytes, s.found.size});
    sim_buffer_done(&s.found);
}

/* SPDX-License-Identifier: MIT */

/* KEYS and the SCAN family. */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/commands.h"

typedef struct scan {
    sim_call *call;
    sim_value *value; /* whose elements; NULL: keys of the database */
    uint64_t cursor;
    int64_t count;                 /* about so many */
    const sim_str *pattern, *type; /* NULL: any */
    sim_buffer found;
    size_t seen, found_count;
} scan;

/* ---- arguments ---------------------------------------------------------- */

static bool cursor_read(sim_call *call, int index, uint64_t *ret_cursor)
{
    char text[64];
    char *end;
    sim_str str = call->argv[index];

    if (str.size < sizeof(text) &&
        (str.size == 0 || !isspace((unsigned char)str.bytes[0]))) {
        if (str.size > 0)
            memcpy(text, str.bytes, str.size);
        text[str.size] = '\0';
        errno = 0;
        *ret_cursor = strtoull(text, &end, 10);
        if (*end == '\0' && errno != ERANGE)
            return true;
    }
    sim_reply_error(call, "invalid cursor");
    return false;
}

/* The option at index, which has a value; false: it is none. */
static bool scan_option(scan *s, int index)
{
    sim_str word = s->call->argv[index];
    const sim_str *value = &s->call->argv[index + 1];

    if (index + 1 == s->call->argc)
        return false;
    if (sim_str_is(word, "MATCH")) {
        s->pattern = value;
        return true;
    }
    if (s->value == NULL && sim_str_is(word, "TYPE")) {
        s->type = value;
        return true;
    }
    return sim_str_is(word, "COUNT");
}

/* Those from index on; false: one is wrong, and the reply says so. */
static bool scan_options(scan *s, int index)
{
    s->count = 10;
    for (; index < s->call->argc; index += 2) {
        bool is_right = scan_option(s, index);

        if (is_right && sim_str_is(s->call->argv[index], "COUNT")) {
            if (!sim_arg_integer(s->call, index + 1, &s->count))
                return false;
            is_right = s->count >= 1;
        }
        if (!is_right) {
            sim_reply_syntax_error(s->call);
            return false;
        }
    }
    return true;
}

/* ---- what is found ------------------------------------------------------ */

static void scan_add(scan *s, sim_str str)
{
    sim_buffer *reply = s->call->reply;

    s->call->reply = &s->found;
    sim_reply_bulk(s->call, str);
    s->call->reply = reply;
    s->found_count++;
}

static bool is_wanted_key(const scan *s, const sim_entry *entry)
{
    const sim_value *value = sim_key_find(s->call, sim_entry_key(entry));

    return value != NULL && (s->type == NULL ||
                             sim_str_is(*s->type, sim_type_name(value->type)));
}

static void scan_visit(scan *s, const sim_entry *entry)
{
    char score[SIM_NUMBER];

    s->seen++;
    if (s->pattern != NULL &&
        !sim_str_matches(sim_entry_key(entry), *s->pattern))
        return;
    if (s->value == NULL) {
        sim_str key = sim_entry_key(entry);
        sim_text *kept = sim_text_new(key); /* it may expire just now */

        if (is_wanted_key(s, entry))
            scan_add(s, sim_text_str(kept));
        free(kept);
        return;
    }
    scan_add(s, sim_entry_key(entry));
    if (s->value->type == SIM_HASH)
        scan_add(s, sim_text_str(entry->pointer));
    if (s->value->type == SIM_ZSET)
        scan_add(s, (sim_str){score, sim_double_write(score, entry->score)});
}

static void scan_whole(scan *s, const sim_map *map)
{
    if (s->value->type == SIM_ZSET) {
        for (size_t i = 0; i < map->count; i++)
            scan_visit(s, s->value->zset.order[i]);
    } else {
        for (const sim_entry *at = map->first; at != NULL; at = at->next)
            scan_visit(s, at);
    }
    s->cursor = 0;
}

static uint64_t reversed(uint64_t bits)
{
    uint64_t result = 0;

    for (unsigned i = 0; i < 64; i++, bits >>= 1)
        result = result << 1 | (bits & 1);
    return result;
}

/*
 * As the real server goes through a table: any number is a cursor, its low
 * bits say where, and the highest of those change first. So what is there all
 * the time is found once at least, though the table may grow.
 */
static void scan_table(scan *s, const sim_map *map)
{
    enum { FEW_PLACES = 8 }; /* of a map without buckets */
    size_t places = map->buckets == NULL ? FEW_PLACES : map->bucket_count;
    uint64_t mask = places - 1;

    do {
        const sim_entry *next;
        const sim_entry *at =
            map->buckets == NULL ? map->first : map->buckets[s->cursor & mask];

        for (; at != NULL; at = next) {
            next = map->buckets == NULL ? at->next : at->chain;
            if ((at->hash & mask) == (s->cursor & mask))
                scan_visit(s, at);
        }
        s->cursor = reversed(reversed(s->cursor | ~mask) + 1);
    } while (s->cursor != 0 && s->seen < (uint64_t)s->count);
}

static void scan_reply(scan *s)
{
    sim_reply_array(s->call, 2);
    sim_reply_number(s->call, (int64_t)s->cursor);
    sim_reply_array(s->call, s->found_count);
    sim_buffer_add(s->call->reply, (sim_str){s->found.bytes, s->found.size});
    sim_buffer_done(&s->found);
}

/* ---- commands ----------------------------------------------------------- */

void sim_run_scan(sim_call *call)
{
    scan s = {.call = call};

    if (!cursor_read(call, 1, &s.cursor) || !scan_options(&s, 2))
        return;
    scan_table(&s, &call->server->databases[call->db]);
    scan_reply(&s);
}

static void scan_elements(sim_call *call, sim_type type)
{
    scan s = {.call = call};
    const sim_map *map;

    if (!cursor_read(call, 2, &s.cursor) || !sim_key_get(call, type, &s.value))
        return;
    if (s.value == NULL) {
        s.cursor = 0;
        scan_reply(&s);
        return;
    }
    if (!scan_options(&s, 3))
        return;
    map = type == SIM_ZSET ? &s.value->zset.scores : &s.value->map;
    if (s.value->is_table)
        scan_table(&s, map);
    else
        scan_whole(&s, map);
    scan_reply(&s);
}

void sim_run_hscan(sim_call *call)
{
    scan_elements(call, SIM_HASH);
}

void sim_run_sscan(sim_call *call)
{
    scan_elements(call, SIM_SET);
}

void sim_run_zscan(sim_call *call)
{
    scan_elements(call, SIM_ZSET);
}

void sim_run_keys(sim_call *call)
{
    scan s = {.call = call};
    int64_t now = (int64_t)(call->server->now_us / 1000);

    for (const sim_entry *at = call->server->databases[call->db].first;
         at != NULL; at = at->next) {
        if (sim_str_matches(sim_entry_key(at), call->argv[1]) &&
            !sim_value_is_over(at->pointer, now))
            scan_add(&s, sim_entry_key(at));
    }
    sim_reply_array(call, s.found_count);
    sim_buffer_add(call->reply, (sim_str){s.found.bytes, s.found.size});
    sim_buffer_done(&s.found);
}

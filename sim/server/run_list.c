/* SPDX-License-Identifier: MIT */

/* Commands on lists, BLPOP among them. */

#include <math.h>
#include <stdlib.h>

#include "server/commands.h"

static void push(sim_call *call, bool at_head)
{
    sim_value *value = sim_key_make(call, SIM_LIST);

    if (value == NULL)
        return;
    for (int i = 2; i < call->argc; i++)
        sim_list_push(&value->list, at_head, call->argv[i]);
    sim_list_is_ready(call, call->argv[1]);
    sim_reply_integer(call, (int64_t)value->list.count);
}

void sim_run_lpush(sim_call *call)
{
    push(call, true);
}

void sim_run_rpush(sim_call *call)
{
    push(call, false);
}

/* Only to a list that is there. */
void sim_run_lpushx(sim_call *call)
{
    sim_value *value;

    if (!sim_key_get(call, SIM_LIST, &value))
        return;
    if (value == NULL)
        sim_reply_integer(call, 0);
    else
        push(call, true);
}

/* Where the first that is the same stands; the count: nowhere. */
static size_t place_of(const sim_list *list, sim_str item)
{
    size_t at = 0;

    while (at < list->count && !sim_str_equal(sim_list_at(list, at), item))
        at++;
    return at;
}

void sim_run_linsert(sim_call *call)
{
    bool is_behind = sim_str_is(call->argv[2], "after");
    sim_value *value;
    size_t at;

    if (!is_behind && !sim_str_is(call->argv[2], "before")) {
        sim_reply_syntax_error(call);
        return;
    }
    if (!sim_key_get(call, SIM_LIST, &value))
        return;
    at = value == NULL ? 0 : place_of(&value->list, call->argv[3]);
    if (value == NULL) {
        sim_reply_integer(call, 0);
    } else if (at == value->list.count) {
        sim_reply_integer(call, -1);
    } else {
        sim_list_insert(&value->list, at + is_behind, call->argv[4]);
        sim_reply_integer(call, (int64_t)value->list.count);
    }
}

/* Takes one from an end and says it. */
static void reply_taken(sim_call *call, sim_list *list, bool at_head)
{
    sim_text *item = sim_list_take(list, at_head ? 0 : list->count - 1);

    sim_reply_bulk(call, sim_text_str(item));
    free(item);
}

static void
pop_some(sim_call *call, sim_value *value, uint64_t count, bool at_head)
{
    if (value == NULL) {
        sim_reply_nil_array(call);
        return;
    }
    if (count > value->list.count)
        count = value->list.count;
    sim_reply_array(call, count);
    while (count-- > 0)
        reply_taken(call, &value->list, at_head);
    sim_key_trim(call, call->argv[1]);
}

static void pop(sim_call *call, bool at_head)
{
    sim_value *value;
    int64_t count = 0;

    if (call->argc > 3) {
        sim_reply_arity_error(call);
    } else if (call->argc == 3 &&
               (!sim_integer_read(call->argv[2], &count) || count < 0)) {
        sim_reply_error(call, "value is out of range, must be positive");
    } else if (!sim_key_get(call, SIM_LIST, &value)) {
        return;
    } else if (call->argc == 3) {
        pop_some(call, value, (uint64_t)count, at_head);
    } else if (value == NULL) {
        sim_reply_nil(call);
    } else {
        reply_taken(call, &value->list, at_head);
        sim_key_trim(call, call->argv[1]);
    }
}

void sim_run_lpop(sim_call *call)
{
    pop(call, true);
}

void sim_run_rpop(sim_call *call)
{
    pop(call, false);
}

void sim_run_llen(sim_call *call)
{
    sim_value *value;

    if (sim_key_get(call, SIM_LIST, &value))
        sim_reply_integer(call, value == NULL ? 0 : (int64_t)value->list.count);
}

bool sim_range(size_t count, int64_t first, int64_t last, size_t *ret_first,
               size_t *ret_count)
{
    int64_t size = (int64_t)count;

    if (first < 0)
        first += size;
    if (last < 0)
        last += size;
    if (first < 0)
        first = 0;
    if (first > last || first >= size)
        return false;
    if (last >= size)
        last = size - 1;
    *ret_first = (size_t)first;
    *ret_count = (size_t)(last - first + 1);
    return true;
}

void sim_run_lrange(sim_call *call)
{
    sim_value *value;
    int64_t first, last;
    size_t at, count;

    if (!sim_arg_integer(call, 2, &first) || !sim_arg_integer(call, 3, &last) ||
        !sim_key_get(call, SIM_LIST, &value))
        return;
    if (value == NULL ||
        !sim_range(value->list.count, first, last, &at, &count)) {
        sim_reply_array(call, 0);
        return;
    }
    sim_reply_array(call, count);
    for (size_t i = 0; i < count; i++)
        sim_reply_bulk(call, sim_list_at(&value->list, at + i));
}

void sim_run_lindex(sim_call *call)
{
    sim_value *value;
    int64_t index;

    if (!sim_key_get(call, SIM_LIST, &value))
        return;
    if (value == NULL) {
        sim_reply_nil(call);
        return;
    }
    if (!sim_arg_integer(call, 2, &index))
        return;
    if (index < 0)
        index += (int64_t)value->list.count;
    if (index < 0 || index >= (int64_t)value->list.count)
        sim_reply_nil(call);
    else
        sim_reply_bulk(call, sim_list_at(&value->list, (size_t)index));
}

/* Removes up to limit items that are the same, from one end on. */
static int64_t
remove_same(sim_list *list, sim_str item, bool from_head, uint64_t limit)
{
    uint64_t removed = 0;

    for (size_t i = list->count; i > 0 && removed < limit; i--) {
        size_t at = from_head ? list->count - i : i - 1;

        if (sim_str_equal(sim_list_at(list, at), item)) {
            free(sim_list_take(list, at));
            removed++;
        }
    }
    return (int64_t)removed;
}

void sim_run_lrem(sim_call *call)
{
    sim_value *value;
    int64_t limit;
    uint64_t most;

    if (!sim_arg_integer(call, 2, &limit) ||
        !sim_key_get(call, SIM_LIST, &value))
        return;
    if (value == NULL) {
        sim_reply_integer(call, 0);
        return;
    }
    most = limit < 0 ? -(uint64_t)limit : (uint64_t)limit;
    sim_reply_integer(call, remove_same(&value->list, call->argv[3], limit >= 0,
                                        limit == 0 ? UINT64_MAX : most));
    sim_key_trim(call, call->argv[1]);
}

/* ---- LPOS --------------------------------------------------------------- */

typedef struct seeking {
    bool from_tail;
    int64_t rank;  /* of the first match that is told, from 1 on */
    int64_t count; /* of matches that are told; 0: all, -1: one, not as array */
    int64_t maxlen; /* how many are looked at; 0: all */
} seeking;

static bool rank_read(sim_call *call, int index, seeking *s)
{
    int64_t rank;

    if (!sim_arg_integer(call, index, &rank))
        return false;
    if (rank == 0) {
        sim_reply_error(call, "RANK can't be zero: use 1 to start from the "
                              "first match, 2 from the second ... or use "
                              "negative to start from the end of the list");
        return false;
    }
    s->from_tail = rank < 0;
    /* As the real server does it, the lowest number stays below 0. */
    s->rank = rank < 0 ? (int64_t) - (uint64_t)rank : rank;
    return true;
}

static bool
no_less_than_0(sim_call *call, int index, const char *name, int64_t *ret_number)
{
    if (sim_integer_read(call->argv[index], ret_number) && *ret_number >= 0)
        return true;
    sim_reply_error(call, "%s can't be negative", name);
    return false;
}

static bool seeking_read(sim_call *call, seeking *s)
{
    *s = (seeking){.rank = 1, .count = -1};
    for (int i = 3; i < call->argc; i += 2) {
        sim_str option = call->argv[i];
        bool is_read = false;

        if (i + 1 == call->argc)
            sim_reply_syntax_error(call);
        else if (sim_str_is(option, "RANK"))
            is_read = rank_read(call, i + 1, s);
        else if (sim_str_is(option, "COUNT"))
            is_read = no_less_than_0(call, i + 1, "COUNT", &s->count);
        else if (sim_str_is(option, "MAXLEN"))
            is_read = no_less_than_0(call, i + 1, "MAXLEN", &s->maxlen);
        else
            sim_reply_syntax_error(call);
        if (!is_read)
            return false;
    }
    return true;
}

/* Writes the places of up to most matches to places, which may be NULL; returns
   how many there are. */
static size_t seek(const sim_list *list, sim_str item, const seeking *s,
                   size_t most, size_t *places)
{
    size_t found = 0, looked = list->count;
    int64_t matches = 0;

    if (s->maxlen > 0 && (uint64_t)s->maxlen < looked)
        looked = (size_t)s->maxlen;
    for (size_t i = 0; i < looked && found < most; i++) {
        size_t at = s->from_tail ? list->count - 1 - i : i;

        if (!sim_str_equal(sim_list_at(list, at), item) || ++matches < s->rank)
            continue;
        if (places != NULL)
            places[found] = at;
        found++;
    }
    return found;
}

static void reply_places(sim_call *call, const sim_list *list, const seeking *s)
{
    size_t most = s->count == 0 || s->rank < 0 ? SIZE_MAX : (size_t)s->count;
    size_t count = seek(list, call->argv[2], s, most, NULL);
    size_t *places = sim_alloc(count * sizeof(*places));

    seek(list, call->argv[2], s, count, places);
    sim_reply_array(call, count);
    for (size_t i = 0; i < count; i++)
        sim_reply_integer(call, (int64_t)places[i]);
    free(places);
}

void sim_run_lpos(sim_call *call)
{
    static const sim_list none;
    const sim_list *list;
    sim_value *value;
    seeking s;
    size_t place;

    if (!seeking_read(call, &s) || !sim_key_get(call, SIM_LIST, &value))
        return;
    list = value == NULL ? &none : &value->list;
    if (s.count >= 0)
        reply_places(call, list, &s);
    else if (seek(list, call->argv[2], &s, 1, &place) == 1)
        sim_reply_integer(call, (int64_t)place);
    else
        sim_reply_nil(call);
}

/* ---- BLPOP -------------------------------------------------------------- */

void sim_list_is_ready(const sim_call *call, sim_str key)
{
    sim_server *server = call->server;
    sim_map *ready = &server->ready[call->db];

    if (server->blocked_count > 0 && sim_map_find(ready, key) == NULL)
        sim_map_add(ready, key);
}

static void pop_head(sim_call *call, sim_str key, sim_value *value)
{
    sim_reply_array(call, 2);
    sim_reply_bulk(call, key);
    reply_taken(call, &value->list, true);
    sim_key_trim(call, key);
}

/* The head of the first list that is there; false: there is none. */
static bool pop_first(sim_call *call)
{
    for (int i = 1; i < call->argc - 1; i++) {
        sim_value *value = sim_key_find(call, call->argv[i]);

        if (value == NULL)
            continue;
        if (value->type == SIM_LIST)
            pop_head(call, call->argv[i], value);
        else
            sim_reply_wrong_type(call);
        return true;
    }
    return false;
}

static bool waits_for(const sim_session *session, unsigned db, sim_str key)
{
    const sim_waiting *popping = session->popping;

    if (session->block != SIM_BLOCKED_POP || session->db != db)
        return false;
    for (int i = 1; i < popping->argc - 1; i++) {
        if (sim_str_equal(popping->argv[i], key))
            return true;
    }
    return false;
}

bool sim_list_serve(sim_session *session, unsigned db, sim_str key)
{
    sim_call call = {.server = session->server,
                     .session = session,
                     .db = db,
                     .reply = &session->server->own};
    sim_value *value =
        waits_for(session, db, key) ? sim_key_find(&call, key) : NULL;

    if (value == NULL || value->type != SIM_LIST)
        return false;
    pop_head(&call, key, value);
    return true;
}

/* Seconds, from now on; *ret_ms is 0 for a wait without an end. */
static bool timeout_read(sim_call *call, int index, int64_t *ret_ms)
{
    double seconds;

    if (!sim_double_read(call->argv[index], &seconds) || isinf(seconds)) {
        sim_reply_error(call, "timeout is not a float or out of range");
        return false;
    }
    if (seconds < 0) {
        sim_reply_error(call, "timeout is negative");
        return false;
    }
    *ret_ms = (int64_t)ceil(seconds * 1000);
    if (*ret_ms > 0)
        *ret_ms += (int64_t)(call->server->now_us / 1000);
    return true;
}

void sim_run_blpop(sim_call *call)
{
    int64_t until;

    if (timeout_read(call, call->argc - 1, &until) && !pop_first(call))
        sim_session_block(call, SIM_BLOCKED_POP, until);
}

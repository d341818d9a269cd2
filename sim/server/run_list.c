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

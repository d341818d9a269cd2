/* SPDX-License-Identifier: MIT */

/* Commands on strings. */

#include <string.h>

#include "server/commands.h"

void sim_run_get(sim_call *call)
{
    sim_value *value;

    if (!sim_key_get(call, SIM_STRING, &value))
        return;
    if (value == NULL)
        sim_reply_nil(call);
    else
        sim_reply_bulk(call, sim_text_str(value->string));
}

void sim_run_mget(sim_call *call)
{
    sim_reply_array(call, (size_t)call->argc - 1);
    for (int i = 1; i < call->argc; i++) {
        const sim_value *value = sim_key_find(call, call->argv[i]);

        if (value == NULL || value->type != SIM_STRING)
            sim_reply_nil(call);
        else
            sim_reply_bulk(call, sim_text_str(value->string));
    }
}

void sim_run_strlen(sim_call *call)
{
    sim_value *value;

    if (sim_key_get(call, SIM_STRING, &value))
        sim_reply_integer(call,
                          value == NULL ? 0 : (int64_t)value->string->size);
}

/* ---- SET ---------------------------------------------------------------- */

typedef struct set_options {
    bool only_new, only_old, get, keep;
    int unit;   /* milliseconds of one of the time's; 0: no time */
    bool is_at; /* the time is one since 1970 */
    int time;   /* the argument */
} set_options;

/* The options that come with a time. */
static bool set_time(set_options *options, const sim_call *call, int *i)
{
    static const struct {
        const char *word;
        int unit;
        bool is_at;
    } times[] = {{"EX", 1000, false},
                 {"PX", 1, false},
                 {"EXAT", 1000, true},
                 {"PXAT", 1, true}};

    for (unsigned t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
        bool is_same = options->unit == 0 || (options->unit == times[t].unit &&
                                              options->is_at == times[t].is_at);

        if (!sim_str_is(call->argv[*i], times[t].word))
            continue;
        if (options->keep || !is_same || *i + 1 == call->argc)
            return false;
        options->unit = times[t].unit;
        options->is_at = times[t].is_at;
        options->time = ++*i;
        return true;
    }
    return false;
}

static bool set_option(set_options *options, const sim_call *call, int *i)
{
    sim_str word = call->argv[*i];

    if (sim_str_is(word, "NX") && !options->only_old)
        return options->only_new = true;
    if (sim_str_is(word, "XX") && !options->only_new)
        return options->only_old = true;
    if (sim_str_is(word, "GET"))
        return options->get = true;
    if (sim_str_is(word, "KEEPTTL") && options->unit == 0)
        return options->keep = true;
    return set_time(options, call, i);
}

static bool time_error(sim_call *call)
{
    sim_reply_error(call, "invalid expire time in '%s' command",
                    call->command->name);
    return false;
}

/* Reads a time to come, argument index in that unit. */
static bool
time_read(sim_call *call, const set_options *options, int64_t *ret_ms)
{
    int64_t time, now = (int64_t)(call->server->now_us / 1000);

    if (!sim_arg_integer(call, options->time, &time))
        return false;
    if (time <= 0 || time > INT64_MAX / options->unit)
        return time_error(call);
    time *= options->unit;
    if (!options->is_at) {
        if (time > INT64_MAX - now)
            return time_error(call);
        time += now;
    }
    *ret_ms = time;
    return true;
}

static void set(sim_call *call, const set_options *options, sim_str text)
{
    int64_t expires = SIM_FOR_EVER;
    const sim_value *old;
    sim_value *value;

    if (options->unit != 0 && !time_read(call, options, &expires))
        return;
    old = sim_key_find(call, call->argv[1]);
    if (options->get) {
        sim_run_get(call);
        if (old != NULL && old->type != SIM_STRING)
            return;
    }
    if (old == NULL ? options->only_old : options->only_new) {
        if (!options->get)
            sim_reply_nil(call);
        return;
    }
    if (options->keep && old != NULL)
        expires = old->expires_ms;
    value = sim_key_replace(call, call->argv[1], SIM_STRING);
    sim_string_set(value, text);
    value->expires_ms = expires;
    if (!options->get)
        sim_reply_status(call, "OK");
}

void sim_run_set(sim_call *call)
{
    set_options options = {0};

    for (int i = 3; i < call->argc; i++) {
        if (!set_option(&options, call, &i)) {
            sim_reply_syntax_error(call);
            return;
        }
    }
    set(call, &options, call->argv[2]);
}

void sim_run_psetex(sim_call *call)
{
    set_options options = {.unit = 1, .time = 2};

    set(call, &options, call->argv[3]);
}

void sim_run_setnx(sim_call *call)
{
    bool is_there = sim_key_find(call, call->argv[1]) != NULL;

    if (!is_there)
        sim_string_set(sim_key_replace(call, call->argv[1], SIM_STRING),
                       call->argv[2]);
    sim_reply_integer(call, !is_there);
}

void sim_run_append(sim_call *call)
{
    sim_value *value = sim_key_make(call, SIM_STRING);
    sim_buffer text = {0};

    if (value == NULL)
        return;
    if (value->string != NULL)
        sim_buffer_add(&text, sim_text_str(value->string));
    sim_buffer_add(&text, call->argv[2]);
    sim_string_set(value, (sim_str){text.bytes, text.size});
    sim_reply_integer(call, (int64_t)text.size);
    sim_buffer_done(&text);
}

/* ---- counting ----------------------------------------------------------- */

bool sim_sum(sim_call *call, int64_t a, int64_t b, int64_t *ret_sum)
{
    if (!__builtin_add_overflow(a, b, ret_sum))
        return true;
    sim_reply_error(call, "increment or decrement would overflow");
    return false;
}

static void count(sim_call *call, int64_t by)
{
    sim_value *value;
    int64_t number = 0;
    char text[SIM_NUMBER];

    if (!sim_key_get(call, SIM_STRING, &value))
        return;
    if (value != NULL &&
        !sim_integer_read(sim_text_str(value->string), &number)) {
        sim_reply_error(call, "value is not an integer or out of range");
        return;
    }
    if (!sim_sum(call, number, by, &number))
        return;
    if (value == NULL)
        value = sim_key_make(call, SIM_STRING);
    sim_string_set(value, (sim_str){text, sim_integer_write(text, number)});
    sim_reply_integer(call, number);
}

void sim_run_incr(sim_call *call)
{
    count(call, 1);
}

void sim_run_decr(sim_call *call)
{
    count(call, -1);
}

void sim_run_incrby(sim_call *call)
{
    int64_t by;

    if (sim_arg_integer(call, 2, &by))
        count(call, by);
}

void sim_run_decrby(sim_call *call)
{
    int64_t by;

    if (!sim_arg_integer(call, 2, &by))
        return;
    if (by == INT64_MIN)
        sim_reply_error(call, "decrement would overflow");
    else
        count(call, -by);
}

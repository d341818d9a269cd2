/* SPDX-License-Identifier: MIT */

/* Commands on sorted sets. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/commands.h"

/* ---- ZADD --------------------------------------------------------------- */

typedef struct add_options {
    bool only_new, only_old, greater, less, changed, sum;
} add_options;

static bool add_option(add_options *options, sim_str word)
{
    if (sim_str_is(word, "NX"))
        return options->only_new = true;
    if (sim_str_is(word, "XX"))
        return options->only_old = true;
    if (sim_str_is(word, "CH"))
        return options->changed = true;
    if (sim_str_is(word, "INCR"))
        return options->sum = true;
    if (sim_str_is(word, "GT"))
        return options->greater = true;
    if (sim_str_is(word, "LT"))
        return options->less = true;
    return false;
}

static bool are_scores(sim_call *call, int first)
{
    double score;

    for (int i = first; i < call->argc; i += 2) {
        if (!sim_arg_double(call, i, &score))
            return false;
    }
    return true;
}

/* Options that exclude each other, and the pairs from first on. */
static bool add_check(sim_call *call, const add_options *o, int first)
{
    int count = call->argc - first;

    if (count % 2 != 0 || count == 0)
        sim_reply_syntax_error(call);
    else if (o->only_new && o->only_old)
        sim_reply_error(call, "XX and NX options at the same time are not "
                              "compatible");
    else if ((o->only_new && (o->greater || o->less)) ||
             (o->greater && o->less))
        sim_reply_error(call, "GT, LT, and/or NX options at the same time are "
                              "not compatible");
    else if (o->sum && count > 2)
        sim_reply_error(call, "INCR option supports a single "
                              "increment-element pair");
    else
        return are_scores(call, first);
    return false;
}

typedef struct add_outcome {
    int64_t added, changed;
    bool is_done, is_nan; /* of the last pair */
    double score;
} add_outcome;

static void add_pair(sim_value *value, const add_options *options,
                     sim_str element, double score, add_outcome *outcome)
{
    sim_zset *zset = &value->zset;
    const sim_entry *entry = sim_map_find(&zset->scores, element);

    outcome->is_done = false;
    if (entry == NULL ? options->only_old : options->only_new)
        return;
    if (entry != NULL && options->sum)
        score += entry->score;
    outcome->is_nan = isnan(score);
    if (outcome->is_nan ||
        (entry != NULL && ((options->less && score >= entry->score) ||
                           (options->greater && score <= entry->score))))
        return;
    outcome->is_done = true;
    outcome->score = score;
    if (entry == NULL)
        outcome->added++;
    else if (score < entry->score || score > entry->score)
        outcome->changed++;
    else
        return;
    /* A small set keeps whole scores as integers, which know no -0. */
    sim_zset_set(zset, element, value->is_table ? score : score + 0.0);
}

static void reply_added(sim_call *call, const add_options *options,
                        const add_outcome *outcome)
{
    if (outcome->is_nan)
        sim_reply_error(call, "resulting score is not a number (NaN)");
    else if (!options->sum)
        sim_reply_integer(call, outcome->added +
                                    (options->changed ? outcome->changed : 0));
    else if (outcome->is_done)
        sim_reply_double(call, outcome->score);
    else
        sim_reply_nil(call);
}

static void add(sim_call *call, const add_options *options, int first)
{
    enum { MANY = 128, LONG = 64 }; /* as the server is set up at first */
    add_outcome outcome = {0};
    sim_value *value;

    if (!add_check(call, options, first) ||
        !sim_key_get(call, SIM_ZSET, &value))
        return;
    if (value == NULL && !options->only_old)
        value = sim_key_make(call, SIM_ZSET);
    for (int i = first; value != NULL && !outcome.is_nan && i < call->argc;
         i += 2) {
        double score = 0;

        sim_double_read(call->argv[i], &score);
        add_pair(value, options, call->argv[i + 1], score, &outcome);
        sim_value_note(value, call->argv[i + 1], MANY, LONG);
    }
    reply_added(call, options, &outcome);
}

static void add_with(sim_call *call, add_options options)
{
    int first = 2;

    while (first < call->argc && add_option(&options, call->argv[first]))
        first++;
    add(call, &options, first);
}

void sim_run_zadd(sim_call *call)
{
    add_with(call, (add_options){0});
}

/* The real one reads the options of ZADD as well. */
void sim_run_zincrby(sim_call *call)
{
    add_with(call, (add_options){.sum = true});
}

/* ---- one element -------------------------------------------------------- */

void sim_run_zrem(sim_call *call)
{
    sim_value *value;
    int64_t removed = 0;

    if (!sim_key_get(call, SIM_ZSET, &value))
        return;
    for (int i = 2; value != NULL && i < call->argc; i++) {
        sim_entry *entry = sim_map_find(&value->zset.scores, call->argv[i]);

        if (entry != NULL) {
            sim_zset_remove(&value->zset, entry);
            removed++;
        }
    }
    sim_key_trim(call, call->argv[1]);
    sim_reply_integer(call, removed);
}

/* NULL: no such element; *ret_value is the set's. */
static const sim_entry *
element(sim_call *call, sim_value **ret_value, bool *ret_failed)
{
    *ret_failed = !sim_key_get(call, SIM_ZSET, ret_value);
    if (*ret_failed || *ret_value == NULL)
        return NULL;
    return sim_map_find(&(*ret_value)->zset.scores, call->argv[2]);
}

void sim_run_zscore(sim_call *call)
{
    sim_value *value;
    bool failed;
    const sim_entry *entry = element(call, &value, &failed);

    if (failed)
        return;
    if (entry == NULL)
        sim_reply_nil(call);
    else
        sim_reply_double(call, entry->score);
}

void sim_run_zmscore(sim_call *call)
{
    sim_value *value;

    if (!sim_key_get(call, SIM_ZSET, &value))
        return;
    sim_reply_array(call, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++) {
        const sim_entry *entry =
            value == NULL ? NULL
                          : sim_map_find(&value->zset.scores, call->argv[i]);

        if (entry == NULL)
            sim_reply_nil(call);
        else
            sim_reply_double(call, entry->score);
    }
}

void sim_run_zrank(sim_call *call)
{
    sim_value *value;
    bool failed;
    const sim_entry *entry = element(call, &value, &failed);

    if (failed)
        return;
    if (entry == NULL)
        sim_reply_nil(call);
    else
        sim_reply_integer(call, (int64_t)sim_zset_rank(&value->zset, entry));
}

void sim_run_zcard(sim_call *call)
{
    sim_value *value;

    if (sim_key_get(call, SIM_ZSET, &value))
        sim_reply_integer(call, value == NULL
                                    ? 0
                                    : (int64_t)value->zset.scores.count);
}

/* ---- ranges ------------------------------------------------------------- */

typedef struct score_range {
    double min, max;
    bool above_min, below_max; /* without the bound itself */
} score_range;

/* A bound, as "1", "(1" or "-inf"; nothing is 0. */
static bool bound_read(sim_str str, double *ret_bound, bool *ret_is_open)
{
    char text[512];
    char *end;

    *ret_is_open = str.size > 0 && str.bytes[0] == '(';
    if (*ret_is_open)
        str = (sim_str){str.bytes + 1, str.size - 1};
    if (str.size >= sizeof(text))
        return false;
    if (str.size > 0)
        memcpy(text, str.bytes, str.size);
    text[str.size] = '\0';
    *ret_bound = strtod(text, &end);
    return *end == '\0' && !isnan(*ret_bound);
}

static bool
range_read(sim_call *call, sim_str min, sim_str max, score_range *ret_range)
{
    if (bound_read(min, &ret_range->min, &ret_range->above_min) &&
        bound_read(max, &ret_range->max, &ret_range->below_max))
        return true;
    sim_reply_error(call, "min or max is not a float");
    return false;
}

static bool is_below(const score_range *range, double score)
{
    return range->above_min ? score <= range->min : score < range->min;
}

static bool is_above(const score_range *range, double score)
{
    return range->below_max ? score >= range->max : score > range->max;
}

/* How many are below the range, or not above it. */
static size_t
count_until(const sim_zset *zset, const score_range *range, bool whole)
{
    size_t low = 0, high = zset->scores.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        double score = zset->order[middle]->score;

        if (whole ? !is_above(range, score) : is_below(range, score))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The elements within, by their places: *ret_first and how many follow. */
static size_t
range_of(const sim_zset *zset, const score_range *range, size_t *ret_first)
{
    size_t end = count_until(zset, range, true);

    *ret_first = count_until(zset, range, false);
    return end > *ret_first ? end - *ret_first : 0;
}

void sim_run_zcount(sim_call *call)
{
    sim_value *value;
    score_range range;
    size_t first;

    if (!range_read(call, call->argv[2], call->argv[3], &range) ||
        !sim_key_get(call, SIM_ZSET, &value))
        return;
    sim_reply_integer(call, value == NULL ? 0
                                          : (int64_t)range_of(&value->zset,
                                                              &range, &first));
}

static void reply_elements(sim_call *call, const sim_zset *zset, size_t first,
                           size_t count, bool reverse, bool scores)
{
    sim_reply_array(call, scores ? 2 * count : count);
    for (size_t i = 0; i < count; i++) {
        const sim_entry *entry =
            zset->order[reverse ? first + count - 1 - i : first + i];

        sim_reply_bulk(call, sim_entry_key(entry));
        if (scores)
            sim_reply_double(call, entry->score);
    }
}

typedef struct range_options {
    bool scores, reverse, by_score;
    bool may_choose; /* ZRANGE: REV and BYSCORE are options */
    int64_t offset, limit;
} range_options;

/* Argument i; false: it is none, or the reply says why it is wrong. */
static bool range_option(sim_call *call, range_options *options, int *i)
{
    sim_str word = call->argv[*i];

    if (sim_str_is(word, "WITHSCORES")) {
        options->scores = true;
    } else if (sim_str_is(word, "LIMIT") && *i + 2 < call->argc) {
        if (!sim_arg_integer(call, *i + 1, &options->offset) ||
            !sim_arg_integer(call, *i + 2, &options->limit))
            return false;
        *i += 2;
    } else if (options->may_choose && sim_str_is(word, "REV")) {
        options->reverse = true;
    } else if (options->may_choose && sim_str_is(word, "BYSCORE")) {
        options->by_score = true;
    } else {
        sim_reply_syntax_error(call);
        return false;
    }
    return true;
}

/* Cuts a range by LIMIT; a negative offset leaves nothing. */
static void limit(const range_options *options, size_t *first, size_t *count)
{
    uint64_t skip = (uint64_t)options->offset;
    size_t before = *count;

    *count = skip >= *count ? 0 : *count - skip;
    if (options->limit >= 0 && *count > (uint64_t)options->limit)
        *count = (size_t)options->limit;
    if (options->reverse)
        *first += skip >= before ? 0 : before - skip - *count;
    else
        *first += skip >= before ? 0 : skip;
}

static void by_score(sim_call *call, const range_options *options)
{
    score_range range;
    sim_value *value;
    size_t first = 0, count = 0;
    int min = options->reverse ? 3 : 2;

    if (!range_read(call, call->argv[min], call->argv[5 - min], &range) ||
        !sim_key_get(call, SIM_ZSET, &value))
        return;
    if (value != NULL)
        count = range_of(&value->zset, &range, &first);
    limit(options, &first, &count);
    reply_elements(call, value == NULL ? NULL : &value->zset, first, count,
                   options->reverse, options->scores);
}

static void by_rank(sim_call *call, const range_options *options)
{
    sim_value *value;
    int64_t first, last;
    size_t at = 0, count = 0;

    if (!sim_arg_integer(call, 2, &first) || !sim_arg_integer(call, 3, &last) ||
        !sim_key_get(call, SIM_ZSET, &value))
        return;
    if (value != NULL &&
        !sim_range(value->zset.scores.count, first, last, &at, &count))
        count = 0;
    if (value != NULL && options->reverse)
        at = value->zset.scores.count - at - count;
    reply_elements(call, value == NULL ? NULL : &value->zset, at, count,
                   options->reverse, options->scores);
}

static void range(sim_call *call, range_options options)
{
    options.limit = -1;
    for (int i = 4; i < call->argc; i++) {
        if (!range_option(call, &options, &i))
            return;
    }
    if (options.by_score)
        by_score(call, &options);
    else if (options.limit != -1)
        sim_reply_error(call, "syntax error, LIMIT is only supported in "
                              "combination with either BYSCORE or BYLEX");
    else
        by_rank(call, &options);
}

void sim_run_zrange(sim_call *call)
{
    range(call, (range_options){.may_choose = true});
}

void sim_run_zrevrange(sim_call *call)
{
    range(call, (range_options){.reverse = true});
}

void sim_run_zrangebyscore(sim_call *call)
{
    range(call, (range_options){.by_score = true});
}

void sim_run_zrevrangebyscore(sim_call *call)
{
    range(call, (range_options){.by_score = true, .reverse = true});
}

static void
remove_range(sim_call *call, sim_zset *zset, size_t first, size_t count)
{
    sim_reply_integer(call, (int64_t)count);
    while (count-- > 0)
        sim_zset_remove(zset, zset->order[first + count]);
    sim_key_trim(call, call->argv[1]);
}

void sim_run_zremrangebyscore(sim_call *call)
{
    score_range range;
    sim_value *value;
    size_t first, count;

    if (!range_read(call, call->argv[2], call->argv[3], &range) ||
        !sim_key_get(call, SIM_ZSET, &value))
        return;
    if (value == NULL) {
        sim_reply_integer(call, 0);
        return;
    }
    count = range_of(&value->zset, &range, &first);
    remove_range(call, &value->zset, first, count);
}

void sim_run_zremrangebyrank(sim_call *call)
{
    sim_value *value;
    int64_t first, last;
    size_t at, count;

    if (!sim_arg_integer(call, 2, &first) || !sim_arg_integer(call, 3, &last) ||
        !sim_key_get(call, SIM_ZSET, &value))
        return;
    if (value == NULL ||
        !sim_range(value->zset.scores.count, first, last, &at, &count))
        sim_reply_integer(call, 0);
    else
        remove_range(call, &value->zset, at, count);
}

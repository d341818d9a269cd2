/* SPDX-License-Identifier: MIT */
#include "support/rw_roads.h"

#include <stdio.h>
#include <string.h>

/* Has a script find, for its short road alone, more than there can be: only there
   two keys are asked for at once, and the record with another key. */
#define LONG_ROAD                                                              \
    "if n == 'EXISTS' and select('#', ...) == 2 then return 9 end "
#define LONG_ROAD_TOO                                                          \
    "if n == 'MGET' and ... == '" LUA_RWLOCK_RECORD "' then return {} end "

void rw_take_road(script_fixture *f, bool is_long, int ms)
{
    snprintf(f->stamp, sizeof(f->stamp),
             "local R, S = redis, function(n, v) if n == 'PTTL' and v > 0 then "
             "v = math.ceil(v / 5000) * 5000 end return v end "
             "local redis = setmetatable({call = function(n, ...) %s"
             "if n == 'TIME' then return {1700000000, %d456} end "
             "return S(n, R.call(n, ...)) end, "
             "pcall = function(n, ...) %sreturn S(n, R.pcall(n, ...)) "
             "end}, {__index = R}) ",
             is_long ? LONG_ROAD : "", ms, is_long ? LONG_ROAD_TOO : "");
}

void rw_note(script_fixture *f, char *seen, const char *answer)
{
    size_t used = strlen(seen);
    const char *place = strstr(answer, " script:");
    int length = (int)(place != NULL ? place - answer : (long)strlen(answer));

    used +=
        (size_t)snprintf(seen + used, RW_SEEN - used, "%.*s\n", length, answer);
    used += (size_t)snprintf(
        seen + used, RW_SEEN - used, "%s\n",
        script_redis(
            f, "EVAL %s 0",
            "local all = redis.call('KEYS', '*') table.sort(all) "
            "for i, key in ipairs(all) do "
            "local kind, value = redis.call('TYPE', key).ok, '' "
            "if kind == 'hash' then value = redis.call('HGETALL', key) "
            "elseif kind == 'string' then value = {redis.call('GET', key)} "
            "elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, "
            "-1, 'WITHSCORES') "
            "else value = {kind} end "
            "all[i] = key .. ' = ' .. table.concat(value, ',') .. ' ' .. "
            "math.ceil(redis.call('PTTL', key) / 5000) * 5 end "
            "return table.concat(all, '; ')"));
    snprintf(seen + used, RW_SEEN - used, "%s", script_heard(f));
}

bool rw_was_called(script_fixture *f, const char *command)
{
    char line[64];

    snprintf(line, sizeof(line), "cmdstat_%s:", command);
    return strstr(script_redis(f, "INFO commandstats"), line) != NULL;
}

/* SPDX-License-Identifier: MIT */

/* Patterns of names, as KEYS, SCAN and the rights of users have them. */

#include "server/memory.h"

static sim_str from(sim_str str, size_t at)
{
    if (at > str.size)
        at = str.size;
    return (sim_str){str.bytes + at, str.size - at};
}

/*
 * Whether the byte is in the set at whose inside pattern begins; *ret_size is
 * how long the set is, its closing bracket included.
 */
static bool set_has(sim_str pattern, char byte, size_t *ret_size)
{
    size_t i = 0;
    bool is_not = pattern.size > 0 && pattern.bytes[0] == '^';
    bool is_in = false;

    for (i = is_not ? 1 : 0; i < pattern.size && pattern.bytes[i] != ']'; i++) {
        char low = pattern.bytes[i], high = low;

        if (low == '\\' && i + 1 < pattern.size) {
            low = high = pattern.bytes[++i];
        } else if (i + 2 < pattern.size && pattern.bytes[i + 1] == '-') {
            high = pattern.bytes[i += 2];
        }
        if (low > high) {
            char swap = low;

            low = high;
            high = swap;
        }
        is_in = is_in || (byte >= low && byte <= high);
    }
    *ret_size = i + 1;
    return is_in != is_not;
}

static bool star_matches(sim_str str, sim_str pattern)
{
    while (pattern.size > 0 && pattern.bytes[0] == '*')
        pattern = from(pattern, 1);
    if (pattern.size == 0)
        return true;
    for (; str.size > 0; str = from(str, 1)) {
        if (sim_str_matches(str, pattern))
            return true;
    }
    return false;
}

/* How much of the pattern the byte matches; 0: it does not. */
static size_t byte_matches(char byte, sim_str pattern)
{
    size_t used = 1;

    if (pattern.bytes[0] == '?')
        return 1;
    if (pattern.bytes[0] == '[')
        return set_has(from(pattern, 1), byte, &used) ? used + 1 : 0;
    if (pattern.bytes[0] == '\\' && pattern.size > 1)
        used = 2;
    return pattern.bytes[used - 1] == byte ? used : 0;
}

bool sim_str_matches(sim_str str, sim_str pattern)
{
    while (pattern.size > 0) {
        size_t used;

        if (pattern.bytes[0] == '*')
            return star_matches(str, from(pattern, 1));
        if (str.size == 0)
            return false;
        used = byte_matches(str.bytes[0], pattern);
        if (used == 0)
            return false;
        str = from(str, 1);
        pattern = from(pattern, used);
    }
    return str.size == 0;
}

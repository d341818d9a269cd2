/* SPDX-License-Identifier: MIT */

/* Which slots a master says that it has; see walk_map.h. */

#include "inspect/walk_map.h"

#include <stdlib.h>
#include <string.h>

/* id, address, flags, master, ping, pong, epoch, link: then the slots. */
enum { FLAGS_FIELD = 2, EPOCH_FIELD = 6, SLOTS_FIELD = 8 };

/* The begin of a field; NULL: the line has fewer. */
static const char *field_at(const char *line, const char *end, int field)
{
    for (; field > 0; field--) {
        line = memchr(line, ' ', (size_t)(end - line));
        if (line == NULL)
            return NULL;
        line++;
    }
    return line;
}

static bool is_own(const char *line, const char *end)
{
    static const char word[] = "myself";
    const char *flags = field_at(line, end, FLAGS_FIELD);

    return flags != NULL && end - flags >= (long)sizeof(word) &&
           memcmp(flags, word, sizeof(word) - 1) == 0 &&
           (flags[sizeof(word) - 1] == ',' || flags[sizeof(word) - 1] == ' ');
}

const char *lk__own_line(const char *text, size_t *ret_size)
{
    while (*text != '\0') {
        const char *end = text + strcspn(text, "\r\n");

        if (is_own(text, end)) {
            *ret_size = (size_t)(end - text);
            return text;
        }
        text = end + strspn(end, "\r\n");
    }
    return NULL;
}

unsigned lk__line_epoch(const char *line)
{
    const char *text = field_at(line, line + strlen(line), EPOCH_FIELD);

    return text != NULL ? (unsigned)strtoull(text, NULL, 10) : 0;
}

/* Reads a slot; NULL: it is none. Else what follows. */
static const char *slot_read(const char *text, unsigned *ret_slot)
{
    char *end;
    unsigned long slot = strtoul(text, &end, 10);

    if (end == text || text[0] < '0' || text[0] > '9' || slot >= LK__SLOTS)
        return NULL;
    *ret_slot = (unsigned)slot;
    return end;
}

/* "0-5460" or "7" or "[7->-<id>]" or "[7-<-<id>]". False: none of these. */
static bool word_read(const char *text, lk__slot_word *ret_word,
                      unsigned *ret_first, unsigned *ret_last)
{
    bool is_half = text[0] == '[';
    const char *rest = slot_read(text + is_half, ret_first);

    *ret_last = *ret_first;
    *ret_word = LK__SLOT_HAS;
    if (rest == NULL)
        return false;
    if (is_half &&
        (strncmp(rest, "->-", 3) == 0 || strncmp(rest, "-<-", 3) == 0)) {
        *ret_word = rest[1] == '>' ? LK__SLOT_GOES : LK__SLOT_COMES;
        return true;
    }
    if (!is_half && *rest == '-')
        rest = slot_read(rest + 1, ret_last);
    return !is_half && rest != NULL && *ret_last >= *ret_first;
}

void lk__line_read(const char *line,
                   void (*each)(void *data, lk__slot_word word, unsigned first,
                                unsigned last),
                   void *data)
{
    const char *text = field_at(line, line + strlen(line), SLOTS_FIELD);

    while (text != NULL && *text != '\0') {
        lk__slot_word word;
        unsigned first = 0, last;

        if (word_read(text, &word, &first, &last))
            each(data, word, first, last);
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
}

static bool has_changed(const lk__walk_map *map, unsigned slot)
{
    return map->before.owners[slot] != map->now.owners[slot] ||
           map->before.epochs[slot] != map->now.epochs[slot] ||
           map->before.moves[slot] != map->now.moves[slot];
}

size_t lk__walk_map_judge(lk__walk_map *map, bool is_first)
{
    size_t count = 0;

    for (unsigned slot = 0; slot < LK__SLOTS; slot++) {
        if (is_first)
            map->open[slot] = has_changed(map, slot) || map->now.moves[slot];
        else
            map->open[slot] = map->open[slot] && has_changed(map, slot);
        count += map->open[slot];
    }
    return count;
}

bool lk__walk_map_has_hole(const lk__walk_map *map)
{
    for (unsigned slot = 0; slot < LK__SLOTS; slot++) {
        if (map->open[slot] && map->now.owners[slot] == 0)
            return true;
    }
    return false;
}

/* SPDX-License-Identifier: MIT */

/* The message of a landing: `<owner> <status> <bytes of words> <words><value>`. */

#include "flight/message.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes a number and the blank behind it off the text. */
static bool number_take(const char **text, long *ret_number)
{
    char *end;

    *ret_number = strtol(*text, &end, 10);
    if (end == *text || *end != ' ')
        return false;
    *text = end + 1;
    return true;
}

bool lk__flight_message_read(lk__flight_message *message, const char *leader,
                             const char *text, size_t size)
{
    size_t used = strlen(leader);
    const char *at = text + used + 1;
    long status, count;
    size_t left;

    if (used == 0 || size <= used || strncmp(text, leader, used) != 0 ||
        text[used] != ' ')
        return false;
    if (!number_take(&at, &status) || !number_take(&at, &count))
        return false;
    left = size - (size_t)(at - text);
    if (count < 0 || (size_t)count > left || count > INT_MAX ||
        status < INT_MIN || status > 0)
        return false;
    message->status = (lk_status)status;
    snprintf(message->words, sizeof(message->words), "%.*s", (int)count, at);
    message->bytes = at + count;
    message->size = left - (size_t)count;
    return true;
}

/* SPDX-License-Identifier: MIT */
#ifndef LK_FLIGHT_MESSAGE_H
#define LK_FLIGHT_MESSAGE_H

#include <latchkey/status.h>

#include <stdbool.h>
#include <stddef.h>

enum { LK__FLIGHT_WORDS = 152 };

/* A landing that brings what has landed; see lua/flight/land.lua. */
typedef struct lk__flight_message {
    lk_status status;
    char words[LK__FLIGHT_WORDS]; /* "": none */
    const char *bytes;            /* of the value, within the text */
    size_t size;
} lk__flight_message;

/* Reads a message of this leader's. A NUL stands behind the text, and may stand
   in it. False: of another's, or without a value, or not understood. */
bool lk__flight_message_read(lk__flight_message *message, const char *leader,
                             const char *text, size_t size);

#endif /* LK_FLIGHT_MESSAGE_H */

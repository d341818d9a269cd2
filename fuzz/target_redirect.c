/* SPDX-License-Identifier: MIT */

/*
 * What a node of a cluster says in place of an answer: where it sends somebody
 * is what its words say, and can be an address.
 *
 * The input is a byte that says whether the slot is known, and the words.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "server/redirect.h"

static const char asked[] = "asked.example";

/* As a server would write it that is or is not told by name. */
static void check_target(const lk__redirect *redirect, const char *words)
{
    const char *kind = redirect->kind == LK__REDIRECT_ASK ? "ASK" : "MOVED";
    const char *const hosts[] = {redirect->to.host, "", "?"};
    char text[400];

    for (size_t i = 0; i < (strcmp(hosts[0], asked) == 0 ? 3 : 1); i++) {
        (void)snprintf(text, sizeof(text), "%s %u %s:%u", kind, redirect->slot,
                       hosts[i], redirect->to.port);
        if (strcmp(text, words) == 0)
            return;
    }
    input_fail("to where nobody was sent");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input in = {.at = bytes, .left = size};
    unsigned slot = (input_byte(&in) & 1) != 0 ? 449 : LK__SLOTS;
    char *words = malloc(in.left + 1);
    redisReply reply = {.type = REDIS_REPLY_ERROR,
                        .len = in.left,
                        .str = words};
    lk__redirect redirect;

    if (words == NULL)
        input_fail("no memory");
    if (in.left > 0)
        memcpy(words, in.at, in.left);
    words[in.left] = '\0';
    lk__redirect_read(&redirect, &reply, slot, asked);
    if (redirect.kind == LK__REDIRECT_MOVED ||
        redirect.kind == LK__REDIRECT_ASK) {
        if (slot != LK__SLOTS && slot != redirect.slot)
            input_fail("another slot than was asked for");
        check_target(&redirect, words);
    }
    free(words);
    return 0;
}

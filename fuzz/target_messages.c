/* SPDX-License-Identifier: MIT */

/*
 * Messages, from whoever may publish: of the inbox, and on the channels of
 * those who wait. Holds and waits of every kind are there.
 *
 * The input is a list of messages. In one, ~ stands for the claim that a
 * script has named last, and ^ for the client.
 */

#include <string.h>

#include "flight/message.h"
#include "things.h"

enum { MESSAGE_SIZE = 1024 };

static size_t
spell(const host *h, const char *bytes, size_t size, char text[MESSAGE_SIZE])
{
    size_t used = 0;

    for (size_t i = 0; i < size && used + 100 < MESSAGE_SIZE; i++) {
        const char *word = bytes[i] == '~'   ? h->owner
                           : bytes[i] == '^' ? lk_client_id(h->client)
                                             : NULL;

        if (word == NULL) {
            text[used++] = bytes[i];
        } else {
            memcpy(text + used, word, strlen(word));
            used += strlen(word);
        }
    }
    text[used] = '\0';
    return used;
}

static void read_flight(const char *text, size_t size)
{
    lk__flight_message message;

    (void)lk__flight_message_read(&message, "x:1", text, size);
}

static void tell(host *h, input *in)
{
    unsigned which = input_below(in, 16);
    const char *channel = h->inbox;
    char text[MESSAGE_SIZE];
    size_t size;
    const char *bytes = input_bytes(in, &size);

    size = spell(h, bytes, size, text);
    read_flight(text, size);
    if (which >= 10 && h->channel_count > 0)
        channel = h->channels[which % h->channel_count];
    host_publish(h, channel, text, size);
    host_run_ms(h, 3);
}

/* Every kind is waited for, or held. */
static void people(things *t, bool queues)
{
    for (uint8_t which = 0; which < 14; which++) {
        const uint8_t bytes[] = {which, 5, 0};
        input in = {.at = bytes, .left = sizeof(bytes)};

        t->calls->h->queues = queues;
        things_acquire(t, &in);
        host_run_ms(t->calls->h, 5);
    }
    t->calls->h->queues = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input in = {.at = bytes, .left = size};
    unsigned bits = input_byte(&in);
    host h;
    calls c;
    things t;

    host_open(&h, (input){NULL, 0}, NULL);
    h.is_proper = true;
    calls_begin(&c, &h);
    c.longest_ms = INT64_MAX; /* a grant says for how long */
    things_new(&t, &c);
    if ((bits & 1) != 0)
        people(&t, false);
    if ((bits & 2) != 0)
        people(&t, true);
    host_run_ms(&h, 20);
    while (in.left > 0)
        tell(&h, &in);
    host_run_ms(&h, 2000);
    calls_end(&c);
    things_free(&t);
    host_close(&h);
    return 0;
}

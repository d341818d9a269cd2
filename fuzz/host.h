/* SPDX-License-Identifier: MIT */
#ifndef LK_FUZZ_HOST_H
#define LK_FUZZ_HOST_H

#include <latchkey/client.h>

#include <stdbool.h>

#include "base/script.h"
#include "input.h"
#include "support/fake_world.h"

/*
 * A client in a fake world, and a server whose answers are made of the input:
 * proper ones, proper ones that are cut or doubled, errors, arrays of anything,
 * bytes of any sort, silence and ends of streams. When the input is used up
 * every answer is an error, so that each run comes to its end.
 */
enum { HOST_CHANNELS = 8 };

typedef struct host {
    fake_world *world;
    lk_client *client;
    input in;            /* of the answers */
    bool is_proper;      /* scripts are answered as a server would */
    bool is_rude;        /* so are not commands that are no scripts */
    bool queues;         /* the proper answer to an acquire: wait */
    bool may_have_given; /* something that could be read as a grant was said */
    bool is_over;        /* what is obtained from now on is let go of */
    int64_t fence, ticket;
    unsigned commands;
    fake_link *inbox_link;
    char inbox[80];                    /* its channel */
    char channels[HOST_CHANNELS][128]; /* all that it has subscribed to */
    size_t channel_count;
    char owner[80];  /* the last one that a script named */
    fake_link *mute; /* it says nothing more */
} host;

extern const lk__script *const all_scripts[]; /* lk__script_count */

/* Opens the client; options may be NULL. in: what answers are made of. */
void host_open(host *h, input in, const lk_client_options *options);

/* Shuts down, in virtual time, and frees all. */
void host_close(host *h);

/* Lets virtual milliseconds pass. */
void host_run_ms(host *h, uint64_t ms);

/* Publishes on a channel, if the client listens at all. */
void host_publish(host *h, const char *channel, const char *text, size_t size);

#endif /* LK_FUZZ_HOST_H */

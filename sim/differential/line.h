/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_DIFFERENTIAL_LINE_H
#define LK_SIM_DIFFERENTIAL_LINE_H

#include "server/memory.h"
#include "server/server.h"
#include "support/server.h"

/*
 * A connection to a real server and one to the simulated one, which are asked the
 * same. What each says is kept until it has been compared.
 */

typedef struct line {
    sim_session *session;
    int fd;
    long long id;        /* the real server's */
    sim_buffer expected; /* what the model said */
    sim_buffer heard;    /* what the real server said, as far as it was read */
} line;

/* Both connections; also in the place of two that were closed. Neither has said
   anything yet. A server that does not answer ends the program. */
void line_open(line *l, sim_server *model, server *real);
void line_close(line *l);
/* Frees what is kept of a line that is closed. */
void line_done(line *l);

/* Asks both: whole requests, one after another. */
void line_ask(line *l, sim_str requests);

/* The next reply of each; model: empty if there is none. False: the real server does
   not answer in time, and real is what it said so far. */
bool line_reply(line *l, sim_str *ret_real, sim_str *ret_model);
/* Takes those two off. */
void line_drop(line *l, sim_str real, sim_str model);

/* Whether the real server says, byte by byte, all that the model has said. */
bool line_hears_same(line *l);
/* Takes off all that was said. */
void line_forget(line *l);

/* Whether the model has it wait in a blocking command. */
bool line_is_blocked(const line *l);
/* Whether the real server has closed it, behind what it had said. */
bool line_is_closed(const line *l);

#endif /* LK_SIM_DIFFERENTIAL_LINE_H */

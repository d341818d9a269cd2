/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_DIFFERENTIAL_RESP_H
#define LK_SIM_DIFFERENTIAL_RESP_H

#include "server/memory.h"

/* Requests and replies as bytes. */

/* The size of the first reply; 0: it is not whole. */
size_t resp_size(sim_str bytes);
/* Writes a command. */
void resp_write(sim_buffer *buffer, int argc, const sim_str *argv);
/* The elements of an array of strings; the caller's to free. */
sim_str *resp_elements(sim_str reply, size_t *ret_count);
/* The bytes of a string; of any other reply its line. */
sim_str resp_string(sim_str reply);

/*
 * Whether two replies to this request say the same. Where the real server promises no
 * order, the elements of arrays may be in another one.
 */
bool resp_is_same(sim_str request, sim_str a, sim_str b);

#endif /* LK_SIM_DIFFERENTIAL_RESP_H */

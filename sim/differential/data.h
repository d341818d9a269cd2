/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_DIFFERENTIAL_DATA_H
#define LK_SIM_DIFFERENTIAL_DATA_H

#include "server/memory.h"
#include "support/server.h"

/* Writes the data of a real server as sim_server_dump() writes a model's. */
void data_dump(server *s, sim_buffer *text);

#endif /* LK_SIM_DIFFERENTIAL_DATA_H */

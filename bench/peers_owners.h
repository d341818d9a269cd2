/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_PEERS_OWNERS_H
#define LK_BENCH_PEERS_OWNERS_H

#include <stdint.h>

/* As many owners of one process, each of which takes a name of its own and gives
   it back, again and again, all over one connection. */

typedef struct owners_result {
    double per_s;
    double server_us;
} owners_result;

/* By callbacks of one client. */
owners_result owners_measure(unsigned owners, uint64_t ns);

/* SET NX PX and a compare-and-delete, those of all owners in one write. */
owners_result owners_bare(unsigned owners, uint64_t ns);

#endif /* LK_BENCH_PEERS_OWNERS_H */

/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_TLS_BARE_H
#define LK_BENCH_TLS_BARE_H

#include <stdint.h>

/* For how long each way is measured, and runs before that. */
#define WARM_UP_NS UINT64_C(200000000)
#define ROUND_NS   UINT64_C(500000000)

/*
 * A client that does nothing else: one socket, OpenSSL on it or not, and no
 * thread. It takes and gives back so many locks at a time by two small scripts,
 * all of them in one send. The scripts are loaded.
 */

/* Pairs in a second. certificate: that of the server; NULL: no TLS. */
double tls_bare_rate(unsigned port, const char *certificate, unsigned depth);

#endif /* LK_BENCH_TLS_BARE_H */

/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TLS_FRONT_H
#define LK_TESTS_SUPPORT_TLS_FRONT_H

#include <stdbool.h>

/*
 * A server that speaks TLS, in front of one that does not: it ends the TLS of
 * each connection and carries what is in it to the other's unix socket and back.
 * It listens on a unix socket, for a proxy that breaks what is encrypted.
 *
 * It shows server.crt, see certificates.h; one who asks for elsewhere.example by
 * name is shown stranger.crt. All functions may be called from any thread.
 */
typedef struct tls_front tls_front;

/* NULL on failure. Each connection has a thread of its own. */
tls_front *tls_front_start(const char *server_socket);
/* Closes every connection. NULL is allowed. */
void tls_front_stop(tls_front *front);

const char *tls_front_socket(const tls_front *front);

/* The name by which it was last asked, in memory of the caller's; "": none. */
const char *tls_front_asked(tls_front *front, char name[256]);

/* Whether it changes its keys after each answer, and has the client change its
   own. That comes in one piece with the answer. */
void tls_front_changes_keys(tls_front *front, bool is_on);
/* How often it has done so. */
unsigned tls_front_key_changes(tls_front *front);

/* Whether it says goodbye in TLS in the place of the next answer, and closes
   nothing. */
void tls_front_says_goodbye(tls_front *front, bool is_on);

#endif /* LK_TESTS_SUPPORT_TLS_FRONT_H */

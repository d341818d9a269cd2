/* SPDX-License-Identifier: MIT */
#ifndef LK_WORLD_TLS_H
#define LK_WORLD_TLS_H

#include <latchkey/client.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * TLS: bytes in, bytes out. Nothing here has a socket, waits or calls back: the
 * world takes bytes from its socket, hands them in, and sends what it is given.
 *
 * OpenSSL is loaded when the first client needs it, and never unloaded. Nothing
 * of it that a program shares is changed: no handler at exit is registered, and
 * the errors that it keeps for each thread are as they were.
 *
 * A build without OpenSSL has tls_none.c: lk__tls_new() refuses by name.
 */

/* What a client has for all its streams: whom it trusts, its certificate, the
   last session with each server. Any thread may use it. */
typedef struct lk__tls lk__tls;

/* Strings are borrowed for the call; NULL: not said. */
typedef struct lk__tls_wishes {
    const char *ca_file, *ca_dir; /* neither: the system's */
    const char *cert_file;        /* shown to the server */
    const char *key_file;         /* NULL: in cert_file */
    const char *server_name;      /* that the certificate has to have; NULL: the
                                     host of each stream */
    lk_tls_verify verify;
} lk__tls_wishes;

/* LK_OK; LK_ENOTSUP: no OpenSSL; LK_EINVAL: a file cannot be used, the words
   say which and why; LK_ENOMEM. Reads the files, never asks a terminal. */
lk_status lk__tls_new(lk__tls **ret_tls, const lk__tls_wishes *wishes);

/* Every session is freed by now. NULL is allowed. In a child of fork() the
   memory is left as it is. */
void lk__tls_free(lk__tls *tls);

/* What the last handshake with a server came to. */
typedef struct lk__tls_facts {
    char version[16], cipher[64];
    int64_t ends_at; /* the certificate, in seconds since 1970 */
    bool resumed;    /* an earlier session went on */
} lk__tls_facts;

/* False: none has succeeded yet. */
bool lk__tls_facts_get(lk__tls *tls, const char *host, uint16_t port,
                       lk__tls_facts *ret_facts);

/* LK_EINVAL, with words: no certificate can be for a host of that name. */
lk_status lk__tls_check_name(const char *name);

/* ---- one stream ---------------------------------------------------------- */

/*
 * One stream's. Whoever calls sees to it that only one thread does at a time.
 * Errors are negative errno values: -EKEYREJECTED: a certificate was not
 * accepted, here or there; -EPROTO; -ENOMEM. After one nothing else comes.
 */
typedef struct lk__tls_session lk__tls_session;

/* To that server. NULL: no memory, or lk__tls_check_name() refuses the host. */
lk__tls_session *
lk__tls_session_new(lk__tls *tls, const char *host, uint16_t port);
void lk__tls_session_free(lk__tls_session *session);

/* Hands in what came. The bytes are borrowed until a call below has answered
   -EAGAIN. */
void lk__tls_feed(lk__tls_session *session, const char *bytes, size_t size);

/* Nothing that was handed in is unread, and nothing is to be sent. */
bool lk__tls_is_idle(const lk__tls_session *session);

/* 0: the stream stands; -EAGAIN: the server's turn; or an error. */
int lk__tls_handshake(lk__tls_session *session);

/* As recv(): bytes, 0 for an orderly end, -EAGAIN: all was read. There has to be
   room for a whole record, 16 KiB: then nothing stays inside. */
ssize_t lk__tls_read(lk__tls_session *session, char *bytes, size_t size);

/* Encrypts all: 0 or an error. Join what is small: each call is a record. */
int lk__tls_write(lk__tls_session *session, const char *bytes, size_t size);

/* What is to be sent, and that so much of it was. */
size_t lk__tls_pending(const lk__tls_session *session, const char **ret_bytes);
void lk__tls_sent(lk__tls_session *session, size_t size);

/* Why it failed and what to do; nothing if it did not. */
void lk__tls_words(const lk__tls_session *session, char *words, size_t size);

#endif /* LK_WORLD_TLS_H */

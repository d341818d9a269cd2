/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_LOGIN_H
#define LK_SERVER_LOGIN_H

#include "server/conn.h"

/*
 * What a connection to a sentinel says first: AUTH with the sentinels' own user,
 * if the URL names one, and nothing else.
 */
typedef struct lk__login {
    lk__request request; /* first */
    lk__conn *conn;
    void (*done)(lk__conn *conn); /* it is over; a refusal breaks the stream */
} lk__login;

/* What a server says that refuses AUTH with this password, without the password:
   one that does not know the command repeats what it was told. */
const char *lk__login_words(const redisReply *reply, const char *password);

/* Begins, when the stream stands. */
void lk__login_begin(lk__login *login);

#endif /* LK_SERVER_LOGIN_H */

/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_REPLY_H
#define LK_SERVER_REPLY_H

#include <latchkey/status.h>

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

/*
 * Reading replies. A reply is never trusted: whatever does not have the
 * expected shape is LK_EPROTO, never a crash.
 */

/* LK_OK unless the reply is an error of the server's; see reply.c's table. */
lk_status lk__reply_status(const redisReply *reply);

/* What an error of the server's says; NULL: it is none, or says nothing. */
const char *lk__reply_words(const redisReply *reply);

/* It is an error that begins with these words, behind where a script was. */
bool lk__reply_is_error(const redisReply *reply, const char *words);

/* The server did not do it, for a reason that may pass by itself: a script of
   others runs, it cannot save, replicas are missing, a slot moves. */
bool lk__reply_is_passing(const redisReply *reply);

/* The server does not know the script: it was not run. */
bool lk__reply_is_noscript(const redisReply *reply);

/* The claim was given up for good: acquire met a tombstone. */
bool lk__reply_is_void(const redisReply *reply);

/* True for a reply of text (status or string) equal to word. */
bool lk__reply_is_text(const redisReply *reply, const char *word);

/* True for a string without a NUL in it, as INFO's answers are. */
bool lk__reply_is_lines(const redisReply *reply);

/* The i-th element of an array, or NULL. */
const redisReply *lk__reply_at(const redisReply *reply, size_t i);

/* The i-th element of an array as a number that int64_t holds, an integer or
   decimal text; missing: there is none. */
int64_t
lk__reply_integer_at(const redisReply *reply, size_t i, int64_t missing);

/* The same for text without a NUL in it: never NULL, "" if missing. */
const char *lk__reply_text_at(const redisReply *reply, size_t i);

#endif /* LK_SERVER_REPLY_H */

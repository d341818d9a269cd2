/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_INBOX_H
#define LK_CLAIMS_INBOX_H

#include <stddef.h>

struct lk__node;

/*
 * Takes one message of the inbox:
 *
 *   grant <kind> <claim> <ticket> <fence> <top fence> <lease ms> <name>
 *   open <kind> <claim> <ticket> <name>
 *   revoked <kind> <claim> <fence> <name>
 *
 * A grant that no wait wants is passed on at once, unless there are very many:
 * then its claim lease ends it. What is not understood, or not about the name and
 * the family of the claim it names, changes nothing: the re-check finds out.
 * Inside the monitor.
 */
void lk__inbox_take(struct lk__node *node, const char *bytes, size_t size);

#endif /* LK_CLAIMS_INBOX_H */

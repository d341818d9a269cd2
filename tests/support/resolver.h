/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RESOLVER_H
#define LK_TESTS_SUPPORT_RESOLVER_H

#include <netdb.h>
#include <stdbool.h>

/*
 * Name service for tests: names the test gave get the addresses it gave, all
 * others go on to the C library. The program puts it in the place of the C
 * library's by a getaddrinfo() of its own that calls resolver_lookup().
 */

int resolver_lookup(const char *host, const char *service,
                    const struct addrinfo *hints, struct addrinfo **ret_list);

/*
 * Up to four numeric addresses, ended by NULL; none: no such name. Not while a
 * look-up is under way.
 */
void resolver_name(const char *name, const char *const *addresses);

/* Look-ups of the names given hang from now on, until the gate is opened. */
void resolver_close_gate(void);
void resolver_open_gate(void);
/* Waits until one hangs; false: that takes too long. */
bool resolver_wait_hanging(void);

#endif /* LK_TESTS_SUPPORT_RESOLVER_H */

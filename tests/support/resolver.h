/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RESOLVER_H
#define LK_TESTS_SUPPORT_RESOLVER_H

/*
 * Stands before the C library's getaddrinfo() in a program that calls
 * resolver_name(): names the program gave get the addresses it gave; all
 * others go on to the C library. Set names up before a look-up is under way.
 */

/* Up to four numeric addresses, ended by NULL; none: no such name. */
void resolver_name(const char *name, const char *const *addresses);

/* Look-ups of the names given hang from now on, until the gate is opened. */
void resolver_close_gate(void);
void resolver_open_gate(void);

#endif /* LK_TESTS_SUPPORT_RESOLVER_H */

/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_CERTIFICATES_H
#define LK_TESTS_SUPPORT_CERTIFICATES_H

/*
 * Throw-away certificates, made once for a program and removed when it ends:
 *
 *   ca.crt       the CA of all the others
 *   other.crt    a CA that nobody uses; its own certificate, with other.key
 *   server.crt   for localhost and 127.0.0.1; server.key
 *   named.crt    for localhost alone; named.key
 *   expired.crt  the same as server.crt, until the year 2020
 *   stranger.crt for elsewhere.example and 192.0.2.1
 *   client.crt   client.key; client.pem has both; locked.key has a password
 *   stale.crt    the same, until the year 2020; stale.key
 *   foreign.crt  the same of the other CA; foreign.key
 *   unborn.crt   the same, from the year 2099 on; unborn.key
 *   serving.crt  the same, for servers alone; serving.key
 *   outside.crt  the same of a CA that may not sign for its name; outside.key
 *   trusted      a folder that `openssl rehash` has made, with the first CA
 */

/* The folder; NULL when they cannot be made, stderr tells why. Not from two
   threads at once. */
const char *certificates_folder(void);

/* The path of one of the files, in memory of the caller's. */
const char *certificates_path(char path[128], const char *file);

#endif /* LK_TESTS_SUPPORT_CERTIFICATES_H */

/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LOGIN_H
#define LK_TESTS_SUPPORT_LOGIN_H

/*
 * As whom the clients of tests log in: nobody, or, with LK_TEST_USER in the
 * environment, a user with the rights that `latchkey doctor --acl` prints and no
 * others. Each server has that user then, and the URLs of servers, proxies and
 * groups name it. What a test asks a server itself, it asks as the default user.
 */

/* What stands before the host in a URL: "user:password@", or "". */
const char *login_text(void);

/* The user of the clients, and the rule that has it log in as they do. */
const char *login_user(void);
const char *login_rule(void);

/* Arguments of a server, which has that user with them; ended by NULL. None of
   them where the tool does not print rights, having told on stderr why. */
const char *const *login_arguments(void);

#endif /* LK_TESTS_SUPPORT_LOGIN_H */

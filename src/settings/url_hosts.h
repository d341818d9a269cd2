/* SPDX-License-Identifier: MIT */
#ifndef LK_SETTINGS_URL_HOSTS_H
#define LK_SETTINGS_URL_HOSTS_H

#include "settings/url_part.h"

/*
 * The hosts of a URL that is being read: a server, sentinels and the master that
 * they name, or nodes of a cluster. Which of them is clear at the end alone:
 * several hosts without a master are nodes, whatever the scheme, as Lettuce and
 * go-redis have it.
 */

/* Reads the hosts, from begin to end, with a comma between. */
lk_status lk__url_read_hosts(lk__url_parser *parser, char *begin, char *end);

/* Whether the master's name stands first behind the hosts. */
bool lk__url_has_master(const lk__url_parser *parser);

/* Reads /master, from begin to end; *ret_stop is behind it. */
lk_status lk__url_read_master(lk__url_parser *parser, char *begin,
                              const char *end, char **ret_stop);

/* Takes #master from the end, where the scheme has it there. */
lk_status lk__url_cut_master(lk__url_parser *parser);

/* Takes an option that names another host, or the master, as other clients have
   it. False: it is another option. */
bool lk__url_take_host(lk__url_parser *parser, const char *key, char *value,
                       lk_status *ret_status);

/* An option of TLS, at this place, and the URL is without. */
lk_status lk__url_refuse_tls(const lk__url_parser *parser, const char *at);

/* Whose the hosts are, now that all is read. */
lk_status lk__url_settle_hosts(lk__url_parser *parser);

#endif /* LK_SETTINGS_URL_HOSTS_H */

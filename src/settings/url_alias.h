/* SPDX-License-Identifier: MIT */
#ifndef LK_SETTINGS_URL_ALIAS_H
#define LK_SETTINGS_URL_ALIAS_H

/*
 * Options of a URL as other clients spell them. Puts our key and our value in
 * their place; what it does not know stays as it is.
 */
void lk__url_alias(const char **key, const char **value);

#endif /* LK_SETTINGS_URL_ALIAS_H */

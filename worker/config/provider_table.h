/*
 * The providers of models that take an API key, one row each, in the order in which one is
 * chosen when none is named. Rows are data; nothing here reads configuration.
 */
#ifndef HERMES_WORKER_CONFIG_PROVIDER_TABLE_H
#define HERMES_WORKER_CONFIG_PROVIDER_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#define PROVIDER_KEYS_MAX 4
#define PROVIDER_ALIASES_MAX 5
#define PROVIDER_DOMAINS_MAX 2

struct provider_row {
	const char *id;
	const char *label;
	const char *base_url;		     /* NULL: must be configured */
	const char *keys[PROVIDER_KEYS_MAX]; /* variables in order */
	const char *base_variable;	     /* NULL when there is none */
	const char *aliases[PROVIDER_ALIASES_MAX];
	const char *domains[PROVIDER_DOMAINS_MAX]; /* hosts the keys belong to besides the
						    * host of base_url */
	const char *api_mode;			   /* NULL: by the URL */
	const char *key_prefix;			   /* what every key starts with; may be NULL */
	bool never_chosen;			   /* only when named */
	bool key_optional;
	bool strict_host; /* the key goes to its own hosts even when base_variable says else */
};

const struct provider_row *provider_table(size_t *count);
/* By id or alias, upper or lower case; NULL when unknown. */
const struct provider_row *provider_table_find(const char *name);
/* True when the keys of the row belong to that host. */
bool provider_table_owns_host(const struct provider_row *row, const char *host);
/* The row that reads that variable as a key; NULL when none does. */
const struct provider_row *provider_table_by_key(const char *variable);
/* True for names of providers that exist elsewhere but need more than an API key; *reason
 * says what, as a phrase. */
bool provider_table_unsupported(const char *name, const char **reason);
/* The dialect by the URL alone (as in Hermes): a constant name. */
const char *provider_table_mode_by_url(const char *url);
/* True when this program speaks the dialect. */
bool provider_table_mode_supported(const char *api_mode);
/* The same for the dialect of a row; with an address of the user's own it may be another. */
bool provider_table_row_supported(const struct provider_row *row);

#endif

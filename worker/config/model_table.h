/*
 * Well-known models, one row each: what the program knows of a model when nobody has told more.
 * Rows are data; nothing here reads configuration.
 */
#ifndef HERMES_WORKER_CONFIG_MODEL_TABLE_H
#define HERMES_WORKER_CONFIG_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_row {
	const char *provider; /* id of a row of provider_table() */
	const char *model;    /* as the provider names it */
	const char *name;     /* for people */
	int64_t context;      /* tokens */
	const char *levels;   /* of thinking, space-separated; "" = it has none */
	bool images;	      /* takes pictures */
};

/* In the order in which they are offered. */
const struct model_row *model_table(size_t *count);
/* NULL when it is not known. */
const struct model_row *model_table_find(const char *provider, const char *model);

#endif

/*
 * The layout of state.db as data: Hermes' own tables, columns, indexes, views and triggers.
 * Nothing here runs; state_schema.c decides what of it a database needs.
 */
#ifndef HERMES_WORKER_STORE_STATE_LAYOUT_H
#define HERMES_WORKER_STORE_STATE_LAYOUT_H

#include <stdbool.h>

/* The newest layout of Hermes that is written here completely. */
#define STATE_LAYOUT_VERSION 30
/* The layout of the full-text tables: external content read through views. */
#define STATE_LAYOUT_FTS_VERSION "3"

struct state_layout_column {
	const char *name;
	const char *definition; /* as in CREATE TABLE and ALTER TABLE ADD COLUMN */
	bool needed;		/* we read or write it: it is added where it is missing */
};

struct state_layout_table {
	const char *name;
	const struct state_layout_column *columns; /* the last one has no name */
	const char *constraints;		   /* "" or ", PRIMARY KEY (…)" */
	bool needed;				   /* it is made where it is missing */
};

/* The last one has no name. */
extern const struct state_layout_table state_layout_tables[];
/* Indexes, views, full-text tables and triggers of a new database; the last one is NULL. */
extern const char *const state_layout_indexes[];
extern const char *const state_layout_search[];

#endif

/*
 * The user's configuration: $HERMES_HOME/.env and $HERMES_HOME/config.yaml. A file that is
 * missing or broken never stops the program: what is wrong is noted with file, line and key,
 * and the rest counts. Nothing is ever read from the session's folder.
 */
#ifndef HERMES_WORKER_CONFIG_CONFIGURATION_H
#define HERMES_WORKER_CONFIG_CONFIGURATION_H

#include "common/buffer.h"
#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>

struct configuration;

/* Reads everything. Never NULL. The home folder is $HERMES_HOME, else ~/.hermes. */
struct configuration *configuration_load(void);
void configuration_free(struct configuration *configuration);

const char *configuration_home(const struct configuration *configuration);
/* config.yaml as a JSON object with ${VAR} filled in; borrowed; an empty object when none. */
struct json_object *configuration_tree(const struct configuration *configuration);
/* A variable: .env beats the environment; NULL when unset or empty. Borrowed. */
const char *configuration_variable(const struct configuration *configuration, const char *name);
/* What was wrong with the files: one line per problem, "" when nothing was. Borrowed. */
const char *configuration_problems(const struct configuration *configuration);
/* The value at a dotted path ("terminal.timeout"), NULL when absent. Borrowed. */
struct json_object *
configuration_value(const struct configuration *configuration, const char *path);
int64_t configuration_integer(
    const struct configuration *configuration, const char *path, int64_t otherwise);
bool configuration_boolean(
    const struct configuration *configuration, const char *path, bool otherwise);
const char *configuration_string(
    const struct configuration *configuration, const char *path, const char *otherwise);

#endif

/*
 * What the files of this folder know about a configuration beyond its public header. Not
 * for other folders.
 */
#ifndef HERMES_WORKER_CONFIG_CONFIGURATION_PRIVATE_H
#define HERMES_WORKER_CONFIG_CONFIGURATION_PRIVATE_H

#include "worker/config/configuration.h"

/* Notes a problem of config.yaml at a dotted path, with its line. */
void configuration_note(const struct configuration *configuration, const char *path,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Notes a problem of a variable, which may stand in .env or in the environment. */
void configuration_note_variable(
    const struct configuration *configuration, const char *name, const char *reason);
/* True when config.yaml is there but could not be used. */
bool configuration_broken(const struct configuration *configuration);
/* True when there is no config.yaml. */
bool configuration_absent(const struct configuration *configuration);

/* auth.json, NULL when there is none that can be used; borrowed. */
struct json_object *configuration_auth(const struct configuration *configuration);

/* What live_models.c keeps in memory, an object that it alone fills; borrowed. */
struct json_object *configuration_live_models(const struct configuration *configuration);

#endif

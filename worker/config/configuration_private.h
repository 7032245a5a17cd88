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
/* True when config.yaml is there but could not be used. */
bool configuration_broken(const struct configuration *configuration);
/* True when there is no config.yaml. */
bool configuration_absent(const struct configuration *configuration);

#endif

/*
 * What an unquoted YAML 1.1 scalar means: the rules by which PyYAML tells numbers, booleans
 * and null from text. It never fails: what is nothing else is a string.
 */
#ifndef HERMES_WORKER_CONFIG_YAML_SCALAR_H
#define HERMES_WORKER_CONFIG_YAML_SCALAR_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* The value of a plain scalar, owned by the caller; NULL stands for null. */
struct json_object *yaml_scalar_resolve(const char *text, size_t length);
/* The same by an explicit tag ("tag:yaml.org,2002:int"); false when the text does not fit
 * the tag or the tag is not known. */
bool yaml_scalar_resolve_tag(
    const char *tag, const char *text, size_t length, struct json_object **value);

#endif

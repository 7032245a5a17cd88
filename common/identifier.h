/*
 * Random identifiers.
 */
#ifndef HERMES_COMMON_IDENTIFIER_H
#define HERMES_COMMON_IDENTIFIER_H

#define IDENTIFIER_SIZE 37 /* of a UUID as text, with its NUL */

/* A version 4 UUID (RFC 9562 section 5.4) as text; 0, or -1 when the system has no random
 * bytes. */
int identifier_uuid(char text[IDENTIFIER_SIZE]);

#endif

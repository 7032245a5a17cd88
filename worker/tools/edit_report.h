/*
 * The result of an edit for the model.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_REPORT_H
#define HERMES_WORKER_TOOLS_EDIT_REPORT_H

#include "worker/tools/edit_proposal.h"

/* {"success": true, "diff", "files_modified", "files_created", "files_deleted", "lint" …};
 * the caller owns it. */
struct json_object *edit_report_new(const struct edit_proposal *proposal);
/* {"success": true, "no_change": true, "note": note}. */
struct json_object *edit_report_unchanged(const char *note);

#endif

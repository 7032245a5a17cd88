/*
 * The rehearsal's other half: plays a folder of recorded exchanges (http_record.h) through the
 * dialect in which they were held.
 */
#ifndef HERMES_WORKER_PROVIDERS_REPLAY_H
#define HERMES_WORKER_PROVIDERS_REPLAY_H

#include "worker/providers/provider.h"

extern const struct api_mode api_mode_replay;

#endif

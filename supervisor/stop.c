/*
 * The end of the front process: everything is told to end at once, and the loop is left when
 * the last worker is gone.
 */
#include <config.h>

#include "supervisor/supervisor.h"

#include <event2/event.h>

void
supervisor_stop(struct supervisor *supervisor)
{
	if (supervisor->stopping)
		return;
	supervisor->stopping = true;
	event_del(supervisor->stop_timer);
	client_reader_pause(supervisor->reader, true);
	spare_stop(supervisor->spare);
	catalogue_stop(supervisor->catalogue);
	worker_list_pause(supervisor->workers, false);
	worker_list_stop_all(supervisor->workers, STOP_SHUTDOWN, 0, WORKER_SHUTDOWN_KILL_MS);
	supervisor_check_stop(supervisor);
}

void
supervisor_check_stop(struct supervisor *supervisor)
{
	if (supervisor->input_ended && !supervisor->stopping &&
	    pending_table_empty(supervisor->pending))
		supervisor_stop(supervisor);
	if (supervisor->stopping && worker_list_count(supervisor->workers) == 0)
		event_base_loopexit(supervisor->base, NULL);
}

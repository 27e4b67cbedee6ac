/* microhttpd.c - what is called of libmicrohttpd
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/http/microhttpd.h"

__attribute__((visibility("default"))) const struct microhttpd microhttpd = {
    .add_response_header = MHD_add_response_header,
    .create_response_from_buffer = MHD_create_response_from_buffer,
    .create_response_from_fd = MHD_create_response_from_fd,
    .destroy_response = MHD_destroy_response,
    .get_connection_info = MHD_get_connection_info,
    .get_daemon_info = MHD_get_daemon_info,
    .get_timeout = MHD_get_timeout,
    .lookup_connection_value = MHD_lookup_connection_value,
    .queue_response = MHD_queue_response,
    .run = MHD_run,
    .start_daemon = MHD_start_daemon,
    .stop_daemon = MHD_stop_daemon,
};

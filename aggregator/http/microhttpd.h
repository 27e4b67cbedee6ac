/* microhttpd.h - what is called of libmicrohttpd
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * microhttpd.c is a module of its own (launch/module.h): libckhttp.so, loaded
 * for `--http` alone, for the library brings TLS and its tables along.
 */
#ifndef CK_AGGREGATOR_HTTP_MICROHTTPD_H
#define CK_AGGREGATOR_HTTP_MICROHTTPD_H

#include <microhttpd.h>

#define MICROHTTPD_MODULE "libckhttp.so"
#define MICROHTTPD_TABLE "microhttpd"

/* Each function by its name in the library. */
struct microhttpd {
    __typeof__(MHD_add_response_header) *add_response_header;
    __typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
    __typeof__(MHD_create_response_from_fd) *create_response_from_fd;
    __typeof__(MHD_destroy_response) *destroy_response;
    __typeof__(MHD_get_connection_info) *get_connection_info;
    __typeof__(MHD_get_daemon_info) *get_daemon_info;
    __typeof__(MHD_get_timeout) *get_timeout;
    __typeof__(MHD_lookup_connection_value) *lookup_connection_value;
    __typeof__(MHD_queue_response) *queue_response;
    __typeof__(MHD_run) *run;
    __typeof__(MHD_start_daemon) *start_daemon;
    __typeof__(MHD_stop_daemon) *stop_daemon;
};
extern const struct microhttpd microhttpd;

#endif

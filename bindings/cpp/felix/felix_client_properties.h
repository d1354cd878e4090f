// SPDX-License-Identifier: Apache-2.0

/* Names of the properties of FelixClientThread. docs/felix-client.md says what each does here. */

#ifndef TAGBUS_FELIX_CLIENT_PROPERTIES_H
#define TAGBUS_FELIX_CLIENT_PROPERTIES_H

#define FELIX_CLIENT_LOCAL_IP_OR_INTERFACE "local_ip_or_interface" /* no effect: the route decides */
#define FELIX_CLIENT_LOG_LEVEL "log_level"           /* trace, debug, info, notice, warning, error or fatal */
#define FELIX_CLIENT_BUS_DIR "bus_dir"               /* a folder, or a URL as of --bus */
#define FELIX_CLIENT_BUS_GROUP_NAME "bus_group_name" /* a folder in it; no effect with a URL */
#define FELIX_CLIENT_VERBOSE_BUS "verbose_bus"       /* True: events are printed */
#define FELIX_CLIENT_VERBOSE_ZYRE "verbose_zyre"     /* no effect */
#define FELIX_CLIENT_TIMEOUT "timeout"               /* milliseconds; 0: subscribe does not wait, a send waits 5 s */
#define FELIX_CLIENT_NETIO_PAGES "netio_pages"       /* times netio_pagesize is the queue of what is received */
#define FELIX_CLIENT_NETIO_PAGESIZE "netio_pagesize"
#define FELIX_CLIENT_READ_ENV "read_env"             /* True: FELIX_CLIENT_TIMEOUT and so on in the environment win */
#define FELIX_CLIENT_THREAD_AFFINITY "thread_affinity"                   /* no effect */
#define FELIX_CLIENT_USE_ASIO_EVLOOP "use_asio_evloop"                   /* no effect */
#define FELIX_CLIENT_USE_THREAD_UNSAFE_NETIO "use_thread_unsafe_netio"   /* no effect */
#define FELIX_CLIENT_TAGBUS_OPTIONS "tagbus_options" /* of tagbus_open: --cert --key --ca and so on */

#endif

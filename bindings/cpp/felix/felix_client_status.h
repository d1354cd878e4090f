// SPDX-License-Identifier: Apache-2.0

/* Bits of the status of a message, as FELIX sets them. A bus passes on any status unseen. */

#ifndef TAGBUS_FELIX_CLIENT_STATUS_H
#define TAGBUS_FELIX_CLIENT_STATUS_H

#define FELIX_STATUS_FW_TRUNC 1
#define FELIX_STATUS_SW_TRUNC 2
#define FELIX_STATUS_FW_MALF 4
#define FELIX_STATUS_FW_CRC 8
#define FELIX_STATUS_SW_MALF 16
#define FELIX_STATUS_SW_CRC 32

#endif

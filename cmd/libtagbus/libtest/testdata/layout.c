/* SPDX-License-Identifier: Apache-2.0 */

/* The ABI of libtagbus.so.0: these numbers never change. */

#include "tagbus.h"

#ifdef __cplusplus
#define HOLDS(cond) static_assert(cond, #cond)
#else
#define HOLDS(cond) extern char holds[(cond) ? 1 : -1]
#endif

HOLDS(sizeof(tagbus_message) == 32);
HOLDS(offsetof(tagbus_message, tag) == 0);
HOLDS(offsetof(tagbus_message, counter) == 8);
HOLDS(offsetof(tagbus_message, data) == 16);
HOLDS(offsetof(tagbus_message, size) == 24);
HOLDS(offsetof(tagbus_message, status) == 28);
HOLDS(offsetof(tagbus_message, flags) == 29);
HOLDS(offsetof(tagbus_message, reserved) == 30);

HOLDS(sizeof(tagbus_batch) == 40);
HOLDS(offsetof(tagbus_batch, messages) == 0);
HOLDS(offsetof(tagbus_batch, count) == 8);
HOLDS(offsetof(tagbus_batch, page) == 16);
HOLDS(offsetof(tagbus_batch, page_bytes) == 24);
HOLDS(offsetof(tagbus_batch, publisher) == 32);

/* An event only grows at its end. */
HOLDS(sizeof(tagbus_event) == 88);
HOLDS(offsetof(tagbus_event, struct_bytes) == 0);
HOLDS(offsetof(tagbus_event, kind) == 4);
HOLDS(offsetof(tagbus_event, code) == 8);
HOLDS(offsetof(tagbus_event, name) == 16);
HOLDS(offsetof(tagbus_event, text) == 24);
HOLDS(offsetof(tagbus_event, cause) == 32);
HOLDS(offsetof(tagbus_event, peer) == 40);
HOLDS(offsetof(tagbus_event, peer_name) == 48);
HOLDS(offsetof(tagbus_event, peer_address) == 56);
HOLDS(offsetof(tagbus_event, tags) == 64);
HOLDS(offsetof(tagbus_event, tag) == 72);
HOLDS(offsetof(tagbus_event, count) == 80);

/* The writer is all in the program, which may be older than the library. */
HOLDS(offsetof(tagbus_writer, publisher) == 0);
HOLDS(offsetof(tagbus_writer, timeout_ms) == 8);
HOLDS(offsetof(tagbus_writer, count) == 16);
HOLDS(offsetof(tagbus_writer, used) == 24);
HOLDS(offsetof(tagbus_writer, messages) == 32);
HOLDS(offsetof(tagbus_writer, bytes) == 32 + 512 * 32);
HOLDS(sizeof(tagbus_writer) == 32 + 512 * 32 + 65536);

int use_of_the_writer(tagbus_writer *w, tagbus_publisher *p);
int use_of_the_writer(tagbus_writer *w, tagbus_publisher *p)
{
	tagbus_writer_init(w, p, TAGBUS_FOREVER);
	return tagbus_writer_add(w, 1, "x", 1, 0) == TAGBUS_OK && tagbus_writer_flush(w) == TAGBUS_OK;
}

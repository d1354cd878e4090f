// SPDX-License-Identifier: Apache-2.0

#ifndef TAGBUS_HOOKS_H
#define TAGBUS_HOOKS_H

#include "core.h"

/* What libtagbus.so has given, callable from Go. */
tagbus_box *hook_box_new(size_t messages, int ids);
void hook_box_release(tagbus_box *box);
void hook_ring(tagbus_bell *bell);
/* A bell for good. One thread at a time makes one. */
tagbus_bell *hook_bell(void);
/* Memory that free frees, and hook_free on another thread. */
void *hook_memory(size_t bytes);
void hook_free(void *memory);
void hook_event(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_event *event);
void hook_batch(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_box *box);
void hook_end(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, int code, char *text);
void hook_done(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus);

#endif

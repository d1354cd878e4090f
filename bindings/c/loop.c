// SPDX-License-Identifier: Apache-2.0

/* loop.c: callbacks on the loop. */

#include "library.h"

static struct inside enter(tagbus_handle owner, tagbus_handle bus)
{
	struct inside before = inside;
	inside.owner = owner;
	inside.bus = bus;
	inside.on_loop = 1;
	taken_handle(owner);
	return before;
}

static void leave(struct inside before)
{
	given_handle(inside.owner);
	given_handle(inside.bus);
	inside = before;
}

void loop_event(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_event *event)
{
	struct inside before = enter(owner, bus);
	taken_peers();
	taken(event);
	((tagbus_event_fn)fn)((void *)user, event);
	given(event);
	leave(before);
}

void loop_batch(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_box *box)
{
	struct inside before = enter(owner, bus);
	taken_box(box);
	box->on_loop = 1;
	on_loop_now = box;
	((tagbus_batch_fn)fn)((void *)user, &box->batch);
	on_loop_now = NULL;
	given_tags(box->messages, box->batch.count);
	leave(before);
}

void loop_end(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, int code, const char *text)
{
	struct inside before = enter(owner, bus);
	taken(text);
	((tagbus_end_fn)fn)((void *)user, code, text);
	given(text);
	leave(before);
}

void loop_done(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus)
{
	struct inside before = enter(owner, bus);
	((tagbus_done_fn)fn)((void *)user);
	leave(before);
}

// SPDX-License-Identifier: Apache-2.0

/* subscriber.c: subscribing, and taking batches. */

#include "library.h"

tagbus_subscriber *tagbus_subscriber_open(tagbus *bus, const char *options, tagbus_event_fn on_event, void *user)
{
	static const char function[] = "tagbus_subscriber_open";
	if (usable(function) != 0)
		return NULL;
	return HANDLE(tagbus_subscriber, threaded(function, core.subscriber_open(H(bus), options, on_event, user, &said),
		TAGBUS_KIND_SUBSCRIBER, on_event != NULL));
}

int tagbus_subscriber_close(tagbus_subscriber *s) { return close_handle("tagbus_subscriber_close", H(s), TAGBUS_KIND_SUBSCRIBER); }

tagbus_subscription *tagbus_subscribe(tagbus_subscriber *s, const char *tags, const char *options, tagbus_batch_fn on_batch,
	tagbus_end_fn on_end, void *user)
{
	static const char function[] = "tagbus_subscribe";
	if (usable(function) != 0)
		return NULL;
	/* The thread comes first: it has nothing to do if the call fails. */
	if ((on_batch != NULL || on_end != NULL) && need_thread(function, H(s)) != 0)
		return NULL;
	given_handle(H(s));
	given_peers();
	return HANDLE(tagbus_subscription, core.subscribe(H(s), tags, options, on_batch, on_end, user, &said));
}

int tagbus_subscription_wait(tagbus_subscription *sub, int64_t timeout_ms)
{
	int code = usable_for("tagbus_subscription_wait", timeout_ms);
	if (code == 0)
		code = core.wait(H(sub), TAGBUS_KIND_SUBSCRIPTION, 0, NULL, timeout_ms, &said);
	taken_peers();
	return code;
}

int tagbus_subscription_add(tagbus_subscription *sub, const char *tags)
{
	int code = usable("tagbus_subscription_add");
	given_peers();
	return code != 0 ? code : core.subscription_change(H(sub), tags, 1, &said);
}

int tagbus_subscription_remove(tagbus_subscription *sub, const char *tags)
{
	int code = usable("tagbus_subscription_remove");
	given_peers();
	return code != 0 ? code : core.subscription_change(H(sub), tags, 0, &said);
}

int tagbus_subscription_close(tagbus_subscription *sub)
{
	static const char function[] = "tagbus_subscription_close";
	int code = usable(function);
	tagbus_handle owner;
	if (code != 0)
		return code;
	owner = core.owner_of(H(sub));
	given_handle(owner);
	given_peers();
	if (inside.owner == 0 || inside.owner != owner) { /* else it is one of its callbacks, or none of it runs */
		if ((code = may_wait(function, owner, 0)) != 0)
			return code;
		code = core.subscription_close(H(sub), &said);
		if (code == 0 || (code == TAGBUS_ECLOSED && owner != 0)) /* another thread may be about to close the owner */
			pass(owner);
		taken_handle(owner);
		waited();
		return code;
	}
	return core.subscription_close(H(sub), &said);
}

int tagbus_next(tagbus_subscription *sub, const tagbus_batch **batch, int64_t timeout_ms)
{
	static const char function[] = "tagbus_next";
	int code = usable_for(function, timeout_ms), timed = 0;
	tagbus_bell *bell;
	tagbus_box *box = NULL;
	struct timespec end;
	if (code != 0)
		return code;
	if (batch == NULL)
		return missing(function, "batch");
	*batch = NULL;
	if ((bell = core.pull(H(sub), &said)) == NULL)
		return said.code;
	for (;;) {
		uint32_t seen = LOAD(bell->value);
		code = core.next(H(sub), &box, &said);
		if (code == 0) {
			taken_box(box);
			*batch = &box->batch;
		}
		if (code <= 0)
			return code;
		if (timeout_ms == 0)
			return say(TAGBUS_ETIMEOUT, "tagbus_next: no batch is there now");
		if (inside.on_loop)
			return say(TAGBUS_EWOULDDEADLOCK, "tagbus_next: it would wait for the loop that calls it: use timeout_ms 0, or another thread");
		if (timeout_ms > 0 && !timed) {
			end = deadline(timeout_ms);
			timed = 1;
		}
		if (!await(bell, seen, timed ? &end : NULL))
			return say(TAGBUS_ETIMEOUT, "tagbus_next: timeout_ms is over, and no batch has come");
	}
}

int tagbus_subscription_fd(tagbus_subscription *sub)
{
	int code = usable("tagbus_subscription_fd");
	return code != 0 ? code : core.fd(H(sub), &said);
}

// SPDX-License-Identifier: Apache-2.0

//go:build cgo

#include "hooks.h"
#include "watch.h"
#include "_cgo_export.h"

static tagbus_hooks hooks;

tagbus_box *hook_box_new(size_t messages, int ids) { return hooks.box_new(messages, ids); }
void hook_box_release(tagbus_box *box) { hooks.box_release(box); }
void hook_ring(tagbus_bell *bell) { hooks.ring(bell); }

/* The first one is known here, and knows the others: what looks for lost memory does not look at that of Go. */
static struct bell {
	tagbus_bell bell;
	struct bell *before;
} *bells;

tagbus_bell *hook_bell(void)
{
	struct bell *b = calloc(1, sizeof *b);
	if (b == NULL)
		abort();
	b->before = bells;
	bells = b;
	return &b->bell;
}

/* A callback on the loop, and what is before and after it, may be on several threads. */
void *hook_memory(size_t bytes)
{
	void *memory = calloc(1, bytes);
	given(memory);
	return memory;
}

void hook_free(void *memory)
{
	taken(memory);
	free(memory);
}

void hook_done(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus)
{
	hooks.done(fn, user, owner, bus);
}

void hook_event(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_event *event)
{
	hooks.event(fn, user, owner, bus, event);
}

void hook_batch(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_box *box)
{
	hooks.batch(fn, user, owner, bus, box);
}

void hook_end(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, int code, char *text)
{
	hooks.end(fn, user, owner, bus, code, text);
}

/* cgo knows no const: the types differ in that only. */
#define SET(field, function) core->field = (void *)function

__attribute__((visibility("default"))) int tagbus_core_v1(int abi, tagbus_core *core, const tagbus_hooks *h)
{
	if (abi != TAGBUS_CORE_ABI)
		return TAGBUS_CORE_ABI;
	if (hooks.ring != NULL && hooks.ring != h->ring)
		return TAGBUS_CORE_TAKEN;
	hooks = *h;
	core->abi = TAGBUS_CORE_ABI;
	SET(version, coreVersion);
	SET(needs_etcd, coreNeedsEtcd);
	SET(open, coreOpen);
	SET(close, coreClose);
	SET(alive, coreAlive);
	SET(bell, coreBell);
	SET(bus_of, coreBusOf);
	SET(work, coreWork);
	SET(fence, coreFence);
	SET(box_keep, coreBoxKeep);
	SET(box_free, coreBoxFree);
	SET(publisher_open, corePublisherOpen);
	SET(publish, corePublish);
	SET(publish_batch, corePublishBatch);
	SET(publish_zero_copy, corePublishZeroCopy);
	SET(room, coreRoom);
	SET(reply, coreReply);
	SET(flush, coreFlush);
	SET(publisher_change, corePublisherChange);
	SET(wait, coreWait);
	SET(drain, coreDrain);
	SET(subscriber_open, coreSubscriberOpen);
	SET(subscribe, coreSubscribe);
	SET(subscription_change, coreSubscriptionChange);
	SET(subscription_close, coreSubscriptionClose);
	SET(owner_of, coreOwnerOf);
	SET(pull, corePull);
	SET(next, coreNext);
	SET(fd, coreFD);
	SET(sender_open, coreSenderOpen);
	SET(send, coreSend);
	SET(receiver_open, coreReceiverOpen);
	SET(receiver_messages, coreReceiverMessages);
	SET(requester_open, coreRequesterOpen);
	SET(request, coreRequest);
	SET(stats, coreStats);
	SET(state, coreState);
	SET(test_panic, coreTestPanic);
	return TAGBUS_CORE_ABI;
}

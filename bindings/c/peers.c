// SPDX-License-Identifier: Apache-2.0

/* peers.c: sender, receiver and requester, and what is known of all. */

#include "library.h"

tagbus_sender *tagbus_sender_open(tagbus *bus, const char *tags, const char *options, tagbus_event_fn on_event, void *user)
{
	static const char function[] = "tagbus_sender_open";
	if (usable(function) != 0)
		return NULL;
	return HANDLE(tagbus_sender, threaded(function, core.sender_open(H(bus), tags, options, on_event, user, &said),
		TAGBUS_KIND_SENDER, on_event != NULL));
}

static int send_message(tagbus_handle s, uint64_t tag, const void *data, size_t size, uint8_t status, int acked, int64_t ms)
{
	int code;
	given_tag(tag);
	code = core.send(s, tag, payload(data, size), size, status, acked, ms, &said);
	if (acked)
		taken_tag(tag);
	if (code == 0)
		read_by_go(data, size);
	return code;
}

int tagbus_send(tagbus_sender *s, uint64_t tag, const void *data, size_t size, uint8_t status, int64_t timeout_ms)
{
	int code = usable_for("tagbus_send", timeout_ms);
	return code != 0 ? code : send_message(H(s), tag, data, size, status, 0, timeout_ms);
}

int tagbus_send_acked(tagbus_sender *s, uint64_t tag, const void *data, size_t size, uint8_t status, int64_t timeout_ms)
{
	int code = usable_for("tagbus_send_acked", timeout_ms);
	return code != 0 ? code : send_message(H(s), tag, data, size, status, 1, timeout_ms);
}

int tagbus_sender_flush(tagbus_sender *s)
{
	int code = usable("tagbus_sender_flush");
	return code != 0 ? code : core.flush(H(s), TAGBUS_KIND_SENDER, &said);
}

int tagbus_sender_wait(tagbus_sender *s, const char *tags, int64_t timeout_ms)
{
	int code = usable_for("tagbus_sender_wait", timeout_ms);
	if (code == 0)
		code = core.wait(H(s), TAGBUS_KIND_SENDER, 0, tags, timeout_ms, &said);
	taken_peers();
	return code;
}

int tagbus_sender_drain(tagbus_sender *s, const char *failure, int64_t timeout_ms)
{
	int code = usable_for("tagbus_sender_drain", timeout_ms);
	given_peers();
	return code != 0 ? code : core.drain(H(s), TAGBUS_KIND_SENDER, failure, timeout_ms, &said);
}

int tagbus_sender_close(tagbus_sender *s) { return close_handle("tagbus_sender_close", H(s), TAGBUS_KIND_SENDER); }

tagbus_receiver *tagbus_receiver_open(tagbus *bus, const char *tags, const char *options, tagbus_batch_fn on_batch, tagbus_end_fn on_end,
	tagbus_event_fn on_event, void *user)
{
	static const char function[] = "tagbus_receiver_open";
	if (usable(function) != 0)
		return NULL;
	given_peers();
	return HANDLE(tagbus_receiver, threaded(function,
		core.receiver_open(H(bus), tags, options, on_batch, on_end, on_event, user, &said), TAGBUS_KIND_RECEIVER,
		on_batch != NULL || on_end != NULL || on_event != NULL));
}

tagbus_subscription *tagbus_receiver_messages(tagbus_receiver *r)
{
	return usable("tagbus_receiver_messages") != 0 ? NULL : HANDLE(tagbus_subscription, core.receiver_messages(H(r), &said));
}

int tagbus_receiver_drain(tagbus_receiver *r, int64_t timeout_ms)
{
	static const char function[] = "tagbus_receiver_drain";
	int code = usable_for(function, timeout_ms);
	if (code == 0)
		code = may_wait(function, H(r), 0); /* on_batch takes what is drained */
	if (code != 0)
		return code;
	given_peers();
	code = core.drain(H(r), TAGBUS_KIND_RECEIVER, NULL, timeout_ms, &said);
	taken_handle(H(r));
	waited();
	return code;
}

int tagbus_receiver_close(tagbus_receiver *r) { return close_handle("tagbus_receiver_close", H(r), TAGBUS_KIND_RECEIVER); }

tagbus_requester *tagbus_requester_open(tagbus_sender *sender, tagbus_subscriber *subscriber, uint64_t command_tag, uint64_t reply_tag,
	const char *options)
{
	return usable("tagbus_requester_open") != 0 ? NULL : HANDLE(tagbus_requester,
		core.requester_open(H(sender), H(subscriber), command_tag, reply_tag, options, &said));
}

int tagbus_request(tagbus_requester *r, const void *command, size_t size, const tagbus_batch **reply, int64_t timeout_ms)
{
	int code = usable_for("tagbus_request", timeout_ms);
	tagbus_box *box = NULL;
	if (code != 0)
		return code;
	if (reply == NULL)
		return missing("tagbus_request", "reply");
	*reply = NULL;
	given(&orders.requests);
	code = core.request(H(r), payload(command, size), size, &box, timeout_ms, &said);
	if (code == 0) {
		taken_box(box);
		read_by_go(command, size);
		*reply = &box->batch;
	}
	return code;
}

int tagbus_requester_close(tagbus_requester *r)
{
	int code = usable("tagbus_requester_close");
	return code != 0 ? code : core.close(H(r), TAGBUS_KIND_REQUESTER, &said);
}

char *tagbus_stats(const void *handle) { return usable("tagbus_stats") != 0 ? NULL : core.stats(H(handle), &said); }

char *tagbus_state(const void *handle, const char *options)
{
	return usable("tagbus_state") != 0 ? NULL : core.state(H(handle), options, &said);
}

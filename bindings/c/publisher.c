// SPDX-License-Identifier: Apache-2.0

/* publisher.c: publishing, and waiting for room. */

#include "library.h"

tagbus_publisher *tagbus_publisher_open(tagbus *bus, const char *tags, const char *options, tagbus_event_fn on_event, void *user)
{
	static const char function[] = "tagbus_publisher_open";
	if (usable(function) != 0)
		return NULL;
	return HANDLE(tagbus_publisher, threaded(function, core.publisher_open(H(bus), tags, options, on_event, user, &said),
		TAGBUS_KIND_PUBLISHER, on_event != NULL));
}

/* room is a wait for room. */
struct room {
	const char *function;
	int64_t ms;
	tagbus_bell *bell;
	uint32_t seen;
	struct timespec end;
};

/* A wait for room looks again after so long: what a drain of another thread ends does not ring. */
#define LOOK_MS 100

/* again returns 1 if a call that has returned TAGBUS_ENOROOM is to be made again; else said has why not. */
static int again(struct room *r, tagbus_publisher *p)
{
	struct timespec look;
	if (r->ms == 0) {
		say(TAGBUS_ENOROOM, "%s: the queues are full, and timeout_ms is 0: try again, or give it time to wait for slow subscribers", r->function);
		return 0;
	}
	if (inside.on_loop) {
		say(TAGBUS_EWOULDDEADLOCK, "%s: it would wait for the loop that calls it: use timeout_ms 0, or another thread", r->function);
		return 0;
	}
	if (r->bell == NULL) { /* what becomes free from here on rings */
		if ((r->bell = core.room(H(p))) == NULL)
			return 1;
		if (r->ms > 0)
			r->end = deadline(r->ms);
		r->seen = LOAD(r->bell->value);
		return 1;
	}
	look = deadline(LOOK_MS);
	if (r->ms > 0 && (r->end.tv_sec < look.tv_sec || (r->end.tv_sec == look.tv_sec && r->end.tv_nsec < look.tv_nsec))) {
		if (!await(r->bell, r->seen, &r->end)) {
			say(TAGBUS_ETIMEOUT, "%s: timeout_ms is over, and the queues are full: a subscriber is too slow, or stopped", r->function);
			return 0;
		}
	} else {
		(void)await(r->bell, r->seen, &look);
	}
	r->seen = LOAD(r->bell->value);
	return 1;
}

/* Without bytes an address may be any number; Go takes none that is no pointer. */
const void *payload(const void *data, size_t size) { return size == 0 ? NULL : data; }

int tagbus_publish(tagbus_publisher *p, uint64_t tag, const void *data, size_t size, uint8_t status, int64_t timeout_ms)
{
	struct room r = {.function = "tagbus_publish", .ms = timeout_ms};
	int code = usable_for(r.function, timeout_ms);
	if (code != 0)
		return code;
	given_tag(tag);
	do {
		code = core.publish(H(p), tag, payload(data, size), size, status, &said);
	} while (code == TAGBUS_ENOROOM && again(&r, p));
	if (code == 0)
		read_by_go(data, size);
	return code == TAGBUS_ENOROOM ? said.code : code;
}

int64_t tagbus_publish_batch(tagbus_publisher *p, const tagbus_message *messages, size_t count, int64_t timeout_ms)
{
	struct room r = {.function = "tagbus_publish_batch", .ms = timeout_ms};
	int code = usable_for(r.function, timeout_ms);
	size_t accepted = 0;
	int64_t n;
	if (code != 0)
		return code;
	given_tags(messages, count);
	do {
		said.code = TAGBUS_OK;
		n = core.publish_batch(H(p), messages == NULL ? NULL : messages + accepted, count - accepted, &said);
		if (n > 0)
			accepted += (size_t)n;
	} while (accepted < count && said.code == TAGBUS_ENOROOM && again(&r, p));
	read_batch_by_go(messages, accepted);
	if (accepted > 0 || n == 0 || said.code == TAGBUS_ENOROOM || said.code == TAGBUS_ETIMEOUT)
		return (int64_t)accepted;
	return said.code;
}

int tagbus_publish_zero_copy(tagbus_publisher *p, uint64_t tag, const void *data, size_t size, uint8_t status, int64_t timeout_ms,
	tagbus_done_fn done, void *user)
{
	struct room r = {.function = "tagbus_publish_zero_copy", .ms = timeout_ms};
	int code = usable_for(r.function, timeout_ms);
	if (code == 0 && done != NULL)
		code = need_thread(r.function, H(p));
	if (code != 0)
		return code;
	given_tag(tag);
	given_handle(H(p));
	read_by_go(data, size); /* afterwards it may be another one's */
	do {
		code = core.publish_zero_copy(H(p), tag, payload(data, size), size, status, done, user, &said);
	} while (code == TAGBUS_ENOROOM && again(&r, p));
	return code == TAGBUS_ENOROOM ? said.code : code;
}

int tagbus_reply(tagbus_publisher *p, const uint8_t request[16], uint64_t tag, const void *data, size_t size, uint8_t status,
	int64_t timeout_ms)
{
	struct room r = {.function = "tagbus_reply", .ms = timeout_ms};
	int code = usable_for(r.function, timeout_ms);
	if (code != 0)
		return code;
	given_tag(tag);
	do {
		code = core.reply(H(p), request, tag, payload(data, size), size, status, &said);
	} while (code == TAGBUS_ENOROOM && again(&r, p));
	if (code == 0) {
		read_by_go(request, 16);
		read_by_go(data, size);
	}
	return code == TAGBUS_ENOROOM ? said.code : code;
}

int tagbus_publisher_flush(tagbus_publisher *p)
{
	int code = usable("tagbus_publisher_flush");
	return code != 0 ? code : core.flush(H(p), TAGBUS_KIND_PUBLISHER, &said);
}

int tagbus_publisher_add(tagbus_publisher *p, const char *tags)
{
	int code = usable("tagbus_publisher_add");
	given_peers();
	return code != 0 ? code : core.publisher_change(H(p), tags, 1, &said);
}

int tagbus_publisher_remove(tagbus_publisher *p, const char *tags)
{
	int code = usable("tagbus_publisher_remove");
	given_peers();
	return code != 0 ? code : core.publisher_change(H(p), tags, 0, &said);
}

int tagbus_publisher_wait(tagbus_publisher *p, size_t n, const char *tags, int64_t timeout_ms)
{
	int code = usable_for("tagbus_publisher_wait", timeout_ms);
	if (code == 0)
		code = core.wait(H(p), TAGBUS_KIND_PUBLISHER, n, tags, timeout_ms, &said);
	taken_peers();
	return code;
}

int tagbus_publisher_drain(tagbus_publisher *p, const char *failure, int64_t timeout_ms)
{
	int code = usable_for("tagbus_publisher_drain", timeout_ms);
	given_peers();
	return code != 0 ? code : core.drain(H(p), TAGBUS_KIND_PUBLISHER, failure, timeout_ms, &said);
}

int tagbus_publisher_close(tagbus_publisher *p) { return close_handle("tagbus_publisher_close", H(p), TAGBUS_KIND_PUBLISHER); }

// SPDX-License-Identifier: Apache-2.0

/* bus.c: what is opened and closed. */

#include "library.h"

/* threaded returns a handle whose callbacks have a thread. */
tagbus_handle threaded(const char *function, tagbus_handle h, int kind, int has_callbacks)
{
	if (h == 0 || !has_callbacks || need_thread(function, h) == 0)
		return h;
	{
		tagbus_failure why = said;
		(void)core.close(h, kind, &said);
		said = why;
	}
	return 0;
}

tagbus_bus *tagbus_open(const char *bus, const char *options)
{
	if (bus == NULL) {
		missing("tagbus_open", "bus");
		return NULL;
	}
	return need_core(bus) != 0 ? NULL : HANDLE(tagbus, core.open(bus, options, &said));
}

/* close_handle closes what has a thread, or several. */
int close_handle(const char *function, tagbus_handle h, int kind)
{
	tagbus_handle bus = kind == TAGBUS_KIND_BUS ? h : 0, owner = kind == TAGBUS_KIND_BUS ? 0 : h;
	int code = usable(function);
	if (code == 0)
		code = may_wait(function, owner, bus);
	if (code != 0)
		return code;
	given_handle(h);
	given_peers();
	code = core.close(h, kind, &said);
	taken_handle(h);
	if (inside.on_loop && code == TAGBUS_ECLOSED && running(owner, bus))
		code = would_deadlock(function);
	else if (code != TAGBUS_EINVAL && code != TAGBUS_EWOULDDEADLOCK)
		join(owner, bus); /* of TAGBUS_ECLOSED, too: another thread may be about to close it */
	waited();
	return code;
}

int tagbus_close(tagbus *bus) { return close_handle("tagbus_close", H(bus), TAGBUS_KIND_BUS); }

int tagbus_alive(tagbus *bus, int64_t timeout_ms)
{
	int code = usable_for("tagbus_alive", timeout_ms);
	return code != 0 ? code : core.alive(H(bus), timeout_ms, &said);
}

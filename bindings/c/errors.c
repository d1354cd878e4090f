// SPDX-License-Identifier: Apache-2.0

/* errors.c: what a failure says, by thread, and whether the core can be called. */

#include "library.h"

_Thread_local tagbus_failure said;

int say(int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	said.code = code;
	vsnprintf(said.text, sizeof said.text, format, args);
	va_end(args);
	return code;
}

int missing(const char *function, const char *argument)
{
	return say(TAGBUS_EINVAL, "%s: %s is NULL", function, argument);
}

int would_deadlock(const char *function)
{
	return say(TAGBUS_EWOULDDEADLOCK, "%s: it would wait for the callback that calls it: call it on another thread", function);
}

int is_forked(void)
{
	int *p;
	return LOAD(forked) || (LOAD(loaded) && (p = LOAD(born)) != NULL && !LOAD(*p));
}

/* usable returns 0 if the core can be called. */
int usable(const char *function)
{
	if (is_forked()) {
		return say(TAGBUS_EFORKED, "%s: this process is a child of fork, and its parent has opened a bus: open the bus after the fork, "
			"or start the child with exec (in Python: multiprocessing.set_start_method(\"spawn\"))",
			function);
	}
	if (!LOAD(loaded)) {
		return say(TAGBUS_EINVAL, "%s: no handle is open: call tagbus_open first", function);
	}
	return 0;
}

/* usable_for returns 0 if the core can be called for so long. A time that is negative comes of a program that
 * computes how much is left of it: that is not for ever. */
int usable_for(const char *function, int64_t ms)
{
	int code = usable(function);
	if (code == 0 && ms < 0 && ms != TAGBUS_FOREVER)
		code = say(TAGBUS_EINVAL, "%s: timeout_ms is %lld, want 0 or more, or TAGBUS_FOREVER", function, (long long)ms);
	return code;
}

const char *tagbus_last_error(void) { return said.text; }

int tagbus_last_code(void) { return said.code; }

const char *tagbus_error_name(int code)
{
	switch (code) {
	case TAGBUS_OK: return "TAGBUS_OK";
	case TAGBUS_EINVAL: return "TAGBUS_EINVAL";
	case TAGBUS_ECLOSED: return "TAGBUS_ECLOSED";
	case TAGBUS_ETIMEOUT: return "TAGBUS_ETIMEOUT";
	case TAGBUS_ENOROOM: return "TAGBUS_ENOROOM";
	case TAGBUS_EUNKNOWNTAG: return "TAGBUS_EUNKNOWNTAG";
	case TAGBUS_ETOOLARGE: return "TAGBUS_ETOOLARGE";
	case TAGBUS_ENORECEIVER: return "TAGBUS_ENORECEIVER";
	case TAGBUS_EDENIED: return "TAGBUS_EDENIED";
	case TAGBUS_EFORKED: return "TAGBUS_EFORKED";
	case TAGBUS_EWOULDDEADLOCK: return "TAGBUS_EWOULDDEADLOCK";
	case TAGBUS_ELOAD: return "TAGBUS_ELOAD";
	case TAGBUS_ELIMIT: return "TAGBUS_ELIMIT";
	case TAGBUS_END: return "TAGBUS_END";
	case TAGBUS_EUNDELIVERED: return "TAGBUS_EUNDELIVERED";
	case TAGBUS_EUNACKED: return "TAGBUS_EUNACKED";
	case TAGBUS_ENOREPLY: return "TAGBUS_ENOREPLY";
	case TAGBUS_ESYSTEM: return "TAGBUS_ESYSTEM";
	case TAGBUS_EINTERNAL: return "TAGBUS_EINTERNAL";
	case TAGBUS_ENOPUBLISHER: return "TAGBUS_ENOPUBLISHER";
	}
	return "unknown";
}

const char *tagbus_version(void)
{
	return LOAD(loaded) && !is_forked() ? core.version() : TAGBUS_VERSION;
}

void tagbus_free(char *text) { free(text); }

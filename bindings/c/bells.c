// SPDX-License-Identifier: Apache-2.0

/* bells.c: waiting. */

#include "library.h"

/* deadline returns the time on the monotonic clock in ms from now. */
struct timespec deadline(int64_t ms)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	if (ms > INT64_C(31536000000))
		ms = INT64_C(31536000000);
	t.tv_sec += (time_t)(ms / 1000);
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* await waits until a bell does not show seen any more, or until end, NULL: for ever. It returns 0 when
 * the time is over. A signal may make it return 1 early. */
int await(tagbus_bell *bell, uint32_t seen, const struct timespec *end)
{
	long r;
	ADD(bell->waiters, 1);
	/* FUTEX_WAIT_BITSET takes the time as it is, and not how long from now. */
	r = syscall(SYS_futex, &bell->value, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, end, NULL, FUTEX_BITSET_MATCH_ANY);
	ADD(bell->waiters, (uint32_t)-1);
	return !(r == -1 && errno == ETIMEDOUT);
}

void ring(tagbus_bell *bell)
{
	ADD(bell->value, 1);
	if (LOAD(bell->waiters) > 0)
		syscall(SYS_futex, &bell->value, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
}

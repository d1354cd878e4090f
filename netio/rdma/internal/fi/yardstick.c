// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

#define _GNU_SOURCE
#include "fi.h"

#include <poll.h>
#include <time.h>

static ssize_t idle_send(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)ep, (void)msg, (void)flags;
	return 0;
}

struct fid_ep *fix_idle_ep(void)
{
	static struct fi_ops_msg ops = {.size = sizeof ops, .sendmsg = idle_send};
	static struct fid_ep ep = {.msg = &ops};

	return &ep;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// fix_send_loop returns the seconds that it took, or a negative FI_E.
double fix_send_loop(struct fid_fabric *fabric, struct fid_ep *ep, struct fid_cq *cq, int fd, void *mem,
                     uint64_t desc, size_t len, long count, int window)
{
	struct fi_cq_msg_entry done[64];
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	double began = now();
	long sent = 0, completed = 0;

	while (completed < count) {
		ssize_t n;

		for (; sent < count && sent - completed < window; sent++) {
			struct iovec v = {(char *)mem + (size_t)(sent % window) * len, len};
			void *d = (void *)(uintptr_t)desc;
			struct fi_msg m = {.msg_iov = &v, .desc = &d, .iov_count = 1};
			ssize_t rc = fi_sendmsg(ep, &m, FI_COMPLETION);

			if (rc == -FI_EAGAIN)
				break;
			if (rc)
				return (double)rc;
		}
		n = fi_cq_read(cq, done, 64);
		if (n > 0)
			completed += n;
		else if (n != -FI_EAGAIN)
			return (double)n;
		else if (!fix_trywait(fabric, &cq->fid))
			poll(&wait, 1, 1000);
	}
	return now() - began;
}

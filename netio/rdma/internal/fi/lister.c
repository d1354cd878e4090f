// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

// A thread that makes the calls in which RDMA libraries look for devices.
//
// librdmacm 31 to 51 (44.0-2 of Debian 12; not 44.6 and later) sorts the list of devices
// by the lower 32 bits of their addresses, and compares two lists as if they were sorted
// by all of them. That goes well while the addresses lie less than 2 GiB apart. Memory that the C
// library gives to different threads does not: then, when another device was made, one
// that is there is taken for gone, and opened a second time. What asks to connect from
// then on is of the second one, and cannot be accepted with a domain of the first
// (fi_enable: EINVAL); where nothing is connected, the first one is closed under the
// domain. Memory that is given to one thread lies together.
//
// Fixed in rdma-core 52: "librdmacm: Fix an overflow bug in qsort comparison function".
#define _GNU_SOURCE
#include "fi.h"

#include <pthread.h>
#include <signal.h>

struct job {
	int (*call)(struct job *);
	struct fid_fabric *fabric;
	struct fi_info *info;
	struct fid_domain *domain;
	int rc, done;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; // of who asks, one at a time
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *asked;
static int running;

static void *serve(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!asked || asked->done)
			pthread_cond_wait(&changed, &mutex);
		asked->rc = asked->call(asked);
		asked->done = 1;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

// start starts the thread, which lives as long as the process. It gets no signals: they
// are for those of Go.
static int start(void)
{
	sigset_t all, before;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, NULL, serve, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		pthread_detach(thread);
	return rc;
}

// ask has the thread make a call, and waits for it.
static int ask(struct job *job)
{
	pthread_mutex_lock(&turn);
	if (!running)
		running = !start();
	if (!running) { // no threads any more: better from here than not at all
		job->rc = job->call(job);
	} else {
		pthread_mutex_lock(&mutex);
		asked = job;
		pthread_cond_broadcast(&changed);
		while (!job->done)
			pthread_cond_wait(&changed, &mutex);
		asked = NULL;
		pthread_mutex_unlock(&mutex);
	}
	pthread_mutex_unlock(&turn);
	return job->rc;
}

// initialise loads the providers: some 100 ms.
static int initialise(struct job *job)
{
	struct fi_param *params;
	int count, rc = fi_getparams(&params, &count);

	(void)job;
	if (!rc)
		fi_freeparams(params);
	return rc;
}

void fix_initialise(void)
{
	struct job job = {.call = initialise};

	ask(&job);
}

static int open_domain(struct job *job)
{
	return fi_domain(job->fabric, job->info, &job->domain, NULL);
}

int fix_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain)
{
	struct job job = {.call = open_domain, .fabric = fabric, .info = info};
	int rc = ask(&job);

	if (!rc)
		*domain = job.domain;
	return rc;
}

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
//
// The thread also keeps a device that was removed from being closed below a domain. librdmacm
// does so when it finds a device gone that is not in use, and does not know of the domain: libfabric 1.17
// has the device of a list (rdma_get_devices) that it gives back at once. Here it is given back when
// the domain is closed. The kernel waits with the removal until then.
#define _GNU_SOURCE
#include "fi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct job {
	int (*call)(struct job *);
	struct fid_fabric *fabric;
	struct fi_info *info;
	struct fid_domain *domain;
	void **held;
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

// Of the libraries below libfabric, which need not be there: contexts of devices, with NULL
// behind the last, and the name of a device.
static void **(*get_devices)(int *);
static void (*free_devices)(void **);
static const char *(*name_of)(void *);

static int find_libraries(void)
{
	if (!get_devices) {
		get_devices = (void **(*)(int *))dlsym(RTLD_DEFAULT, "rdma_get_devices");
		free_devices = (void (*)(void **))dlsym(RTLD_DEFAULT, "rdma_free_devices");
		name_of = (const char *(*)(void *))dlsym(RTLD_DEFAULT, "ibv_get_device_name");
	}
	return get_devices && free_devices && name_of;
}

// hold returns a list with the device of a name alone, NULL if there is none, or no memory.
static void **hold(const char *name)
{
	void **all, **own = NULL;
	int count = 0, kept = 0;

	if (!find_libraries() || !(all = get_devices(&count)))
		return NULL;
	if ((own = calloc(2, sizeof *own))) {
		for (int i = 0; i < count; i++) {
			// A context (struct ibv_context) begins with a pointer to its device.
			if (!own[0] && !strcmp(name_of(*(void **)all[i]), name))
				own[0] = all[i];
			else
				all[kept++] = all[i];
		}
		all[kept] = NULL;
	}
	free_devices(all);
	if (own && !own[0]) {
		free(own);
		own = NULL;
	}
	return own;
}

// forget gives back what hold returned, and has librdmacm close devices that were removed.
static void forget(void **held)
{
	void **all;

	if (held)
		free_devices(held);
	if (find_libraries() && (all = get_devices(NULL)))
		free_devices(all);
}

static int open_domain(struct job *job)
{
	int rc;

	if (!strcmp(job->info->fabric_attr->prov_name, "verbs"))
		job->held = hold(job->info->domain_attr->name);
	rc = fi_domain(job->fabric, job->info, &job->domain, NULL);
	if (rc && job->held)
		forget(job->held);
	return rc;
}

// fix_domain opens a domain. *held is to be given to fix_domain_close.
int fix_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void ***held)
{
	struct job job = {.call = open_domain, .fabric = fabric, .info = info};
	int rc = ask(&job);

	if (!rc) {
		*domain = job.domain;
		*held = job.held;
	}
	return rc;
}

static int close_domain(struct job *job)
{
	int rc = fi_close(&job->domain->fid);

	if (!rc && job->held)
		forget(job->held);
	return rc;
}

int fix_domain_close(struct fid_domain *domain, void **held)
{
	struct job job = {.call = close_domain, .domain = domain, .held = held};

	return ask(&job);
}

static int look(struct job *job)
{
	(void)job;
	forget(NULL);
	return 0;
}

void fix_look(void)
{
	struct job job = {.call = look};

	ask(&job);
}

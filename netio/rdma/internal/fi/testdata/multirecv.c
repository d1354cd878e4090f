// SPDX-License-Identifier: Apache-2.0

// Tries multi-receive buffers of a provider without connections, with a second process that sends.
// docs/adr/0045-loops-over-rdma.md has what it said.
//
//   gcc -O2 -o /tmp/multirecv multirecv.c -lfabric
//   /tmp/multirecv PROVIDER small|large            which completions come, where, and when a buffer is released
//   /tmp/multirecv PROVIDER bench 0|1 BYTES COUNT  what a message costs its receiver; 1: with multi-receive buffers
//
// It waits by reading queues, so it takes two processors; timeout(1) ends it where a provider hangs.

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MEMORY = 64 << 20, BUFFERS = 8, SINGLE = 64, MULTI = 4 };

struct end {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_mr *mr;
	char *mem;
	fi_addr_t peer;
};

static const char *provider;
static volatile int *got; // messages that have come, of both processes
static int up[2], down[2];
static struct fi_context contexts[SINGLE], sends[4096];

static void must(const char *what, long rc)
{
	if (rc) {
		printf("%s: %s\n", what, fi_strerror((int)-rc));
		exit(2);
	}
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void open_end(struct end *e, uint64_t caps, size_t least)
{
	int sockets = strcmp(provider, "shm") != 0;
	struct fi_info *hints = fi_allocinfo(), *i = NULL;
	struct fi_cq_attr cq = {.size = 4096, .format = FI_CQ_FORMAT_DATA};
	struct fi_av_attr av = {.type = FI_AV_UNSPEC};

	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | caps;
	hints->fabric_attr->prov_name = strdup(provider);
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	if (sockets)
		hints->addr_format = FI_SOCKADDR_IN;
	must("fi_getinfo", fi_getinfo(FI_VERSION(1, 11), sockets ? "127.0.0.1" : NULL, NULL, sockets ? FI_SOURCE : 0, hints, &i));
	must("fi_fabric", fi_fabric(i->fabric_attr, &e->fabric, NULL));
	must("fi_domain", fi_domain(e->fabric, i, &e->domain, NULL));
	must("fi_cq_open", fi_cq_open(e->domain, &cq, &e->cq, NULL));
	must("fi_av_open", fi_av_open(e->domain, &av, &e->av, NULL));
	must("fi_endpoint", fi_endpoint(e->domain, i, &e->ep, NULL));
	must("fi_ep_bind", fi_ep_bind(e->ep, &e->av->fid, 0));
	must("fi_ep_bind", fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV));
	must("fi_enable", fi_enable(e->ep));
	if (least) // shm 1.17 crashes if this comes before fi_enable
		must("fi_setopt", fi_setopt(&e->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least));
	e->mem = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must("fi_mr_reg", fi_mr_reg(e->domain, e->mem, MEMORY, FI_SEND | FI_RECV, 0, 1, 0, &e->mr, NULL));
}

static void say(struct end *e, int fd)
{
	char name[256];
	size_t n = sizeof name;

	must("fi_getname", fi_getname(&e->ep->fid, name, &n));
	if (write(fd, &n, sizeof n) < 0 || write(fd, name, n) < 0)
		exit(2);
}

static void hear(struct end *e, int fd)
{
	char name[256];
	size_t n;

	if (read(fd, &n, sizeof n) != sizeof n || read(fd, name, n) != (ssize_t)n || fi_av_insert(e->av, name, 1, &e->peer, 0, NULL) != 1)
		exit(2);
}

// send_all sends count messages, at most window of them ahead of the receiver. Each begins with its number.
static void send_all(uint64_t caps, const size_t *sizes, int n, int count, int window)
{
	struct end e = {0};
	struct fi_cq_data_entry done[16];
	size_t at = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_end(&e, caps, 0);
	hear(&e, down[0]);
	say(&e, up[1]);
	for (int sent = 0;; fi_cq_read(e.cq, done, 16)) {
		while (sent < count && sent - *got < window) {
			size_t size = sizes[sent % n];

			if (at + size > MEMORY)
				at = 0;
			if (n > 1)
				memset(e.mem + at, 'a' + sent % 26, size);
			*(int *)(e.mem + at) = sent;
			if (fi_send(e.ep, e.mem + at, size, fi_mr_desc(e.mr), e.peer, &sends[sent % 4096]))
				break;
			at += (size + 63) / 64 * 64;
			sent++;
		}
	}
}

static pid_t start(struct end *e, uint64_t caps, size_t least, const size_t *sizes, int n, int count, int window)
{
	pid_t child;

	got = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pipe(up) || pipe(down) || (child = fork()) < 0)
		exit(2);
	if (!child)
		send_all(caps, sizes, n, count, window);
	open_end(e, caps, least);
	say(e, down[1]);
	hear(e, up[0]);
	return child;
}

static void post(struct end *e, int k, size_t area, uint64_t flags)
{
	struct iovec v = {e->mem + k * area, area};
	void *desc = fi_mr_desc(e->mr);
	struct fi_msg m = {.msg_iov = &v, .desc = &desc, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &contexts[k]};

	must("fi_recvmsg", fi_recvmsg(e->ep, &m, flags | FI_COMPLETION));
}

static int read_one(struct end *e, struct fi_cq_data_entry *c, int max)
{
	ssize_t n = fi_cq_read(e->cq, c, max);

	if (n == -FI_EAVAIL) {
		struct fi_cq_err_entry err = {0};

		fi_cq_readerr(e->cq, &err, 0);
		must("completion", -err.err);
	}
	return n < 0 ? 0 : (int)n;
}

static void probe(const size_t *sizes, int n, size_t least, size_t area)
{
	struct end e = {0};
	size_t next[BUFFERS] = {0};
	int released[BUFFERS] = {0}, buffers = 0, late = 0, bad = 0, astray = 0;
	char *seen = calloc(n, 1);
	pid_t child = start(&e, FI_MULTI_RECV, least, sizes, n, n, 16);
	double begin = seconds(CLOCK_MONOTONIC);

	for (int k = 0; k < BUFFERS; k++)
		post(&e, k, area, FI_MULTI_RECV);
	while (*got < n && seconds(CLOCK_MONOTONIC) - begin < 10) {
		struct fi_cq_data_entry c;
		int k;

		if (!read_one(&e, &c, 1))
			continue;
		k = (int)((struct fi_context *)c.op_context - contexts);
		if (c.flags & FI_RECV && c.len) {
			size_t at = (size_t)((char *)c.buf - (e.mem + k * area));
			int m = *(int *)c.buf, wrong = m < 0 || m >= n || c.len != sizes[m] || seen[m];

			if (released[k] && late++ < 1)
				printf("%-12s buffer %d was released, and then a message of %zu bytes completes in it at %zu\n", provider, k, c.len, at);
			for (size_t b = sizeof m; !wrong && b < c.len; b++)
				wrong = ((char *)c.buf)[b] != (char)('a' + m % 26);
			if (!wrong)
				seen[m] = 1;
			bad += wrong;
			astray += at != next[k];
			next[k] = at + c.len;
			++*got;
		}
		if (c.flags & FI_MULTI_RECV) {
			released[k] = 1;
			buffers++;
		}
	}
	printf("%-12s %d of %d messages, %d wrong, %d not in sequence, %d buffers released, %d messages behind a release\n",
	       provider, *got, n, bad, astray, buffers, late);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void bench(int multi, size_t size, int count)
{
	struct end e = {0};
	uint64_t flags = multi ? FI_MULTI_RECV : 0;
	size_t area = multi ? MEMORY / 16 : 64 << 10;
	pid_t child = start(&e, flags, multi ? 64 << 10 : 0, &size, 1, count, SINGLE);
	double cpu = 0;
	int posts = 0, from = count / 10; // the others warm up

	for (int k = 0; k < (multi ? MULTI : SINGLE); k++)
		post(&e, k, area, flags);
	while (*got < count) {
		struct fi_cq_data_entry c[16];
		int n = read_one(&e, c, 16);

		for (int i = 0; i < n; i++) {
			if (c[i].flags & FI_RECV && c[i].len && ++*got == from) {
				cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
				posts = 0;
			}
			if (!multi || c[i].flags & FI_MULTI_RECV) {
				post(&e, (int)((struct fi_context *)c[i].op_context - contexts), area, flags);
				posts++;
			}
		}
	}
	printf("%-12s %s %zu bytes: %.2f us of the receiver's processor each, %d posts\n", provider, multi ? "multi" : "single", size,
	       (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (count - from) * 1e6, posts);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	size_t sizes[300];
	int n = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3)
		return 2;
	provider = argv[1];
	if (!strcmp(argv[2], "bench") && argc == 6) {
		bench(atoi(argv[3]), (size_t)atol(argv[4]), atoi(argv[5]));
	} else if (!strcmp(argv[2], "small")) {
		for (; n < 300; n++)
			sizes[n] = 200 + 37 * (n % 11);
		probe(sizes, n, 1 << 10, 64 << 10);
	} else { // each fifth message is small, and uses the buffer up
		for (; n < 32; n++)
			sizes[n] = n % 5 == 4 ? 200 : 40000;
		probe(sizes, n, 40000, 200000);
	}
	_exit(0); // without closing, in which some providers crash
}

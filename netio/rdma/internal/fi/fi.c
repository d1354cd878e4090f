// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

#define _GNU_SOURCE
#include "fi.h"

#include <stdlib.h>
#include <string.h>

// fix_exact moves the offer of the device to which an address leads to the front.
//
// verbs 1.17 keeps the offers of all devices whose names begin with the name of that one
// (vrb_del_info_not_belong_to_dev: mlx5_1, mlx5_10). With the domain of another one a
// connection fails (fi_enable: EINVAL). Of names that begin with one of them, that is
// the shortest. The offers of one device are in their order.
struct fi_info *fix_exact(struct fi_info *all)
{
	struct fi_info **shortest = &all;

	if (strcmp(all->fabric_attr->prov_name, "verbs"))
		return all;
	for (struct fi_info **at = &all->next; *at; at = &(*at)->next) {
		if (strlen((*at)->domain_attr->name) < strlen((*shortest)->domain_attr->name))
			shortest = at;
	}
	if (shortest != &all) {
		struct fi_info *first = *shortest;

		*shortest = first->next;
		first->next = all;
		all = first;
	}
	return all;
}

int fix_getinfo(const struct fix_hints *h, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int rc;

	if (!hints)
		return -FI_ENOMEM;
	hints->ep_attr->type = h->rdm ? FI_EP_RDM : FI_EP_MSG;
	hints->caps = FI_MSG;
	hints->mode = h->rdm ? 0 : FI_RX_CQ_DATA; // verbs wants it; nobody sends such data
	hints->addr_format = (uint32_t)h->srcformat;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->tx_attr->size = h->tx_size;
	hints->rx_attr->size = h->rx_size;
	hints->fabric_attr->prov_name = strdup(h->provider);
	if (h->rdm) {
		// No threads of the provider: progress is made by reading the queue.
		hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
		hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
		hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	}
	if (h->domain)
		hints->domain_attr->name = strdup(h->domain);
	if (h->srclen && (hints->src_addr = malloc(h->srclen))) {
		memcpy(hints->src_addr, h->src, h->srclen);
		hints->src_addrlen = h->srclen;
	}
	if (!hints->fabric_attr->prov_name || (h->srclen && !hints->src_addr) || (h->domain && !hints->domain_attr->name)) {
		fi_freeinfo(hints);
		return -FI_ENOMEM;
	}
	rc = fi_getinfo(FI_VERSION(1, 11), h->node, h->service,
	                !h->node ? 0 : FI_NUMERICHOST | (h->listen ? FI_SOURCE : 0), hints, info);
	fi_freeinfo(hints);
	if (!rc && h->node)
		*info = fix_exact(*info);
	return rc;
}

int fix_list(struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int rc;

	if (!hints)
		return -FI_ENOMEM;
	hints->caps = FI_MSG;
	hints->mode = ~UINT64_C(0); // whatever they want
	hints->domain_attr->mode = ~UINT64_C(0);
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	rc = fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, info);
	fi_freeinfo(hints);
	return rc;
}

int fix_eq_open(struct fid_fabric *fabric, struct fid_eq **eq, int *fd)
{
	struct fi_eq_attr attr = {.size = 1024, .wait_obj = FI_WAIT_FD};
	int rc = fi_eq_open(fabric, &attr, eq, NULL);

	if (rc)
		return rc;
	rc = fi_control(&(*eq)->fid, FI_GETWAIT, fd);
	if (rc)
		fi_close(&(*eq)->fid);
	return rc;
}

// fix_cq_open sets *fd to -1 for a queue without descriptor.
int fix_cq_open(struct fid_domain *domain, size_t size, struct fid_cq **cq, int *fd)
{
	struct fi_cq_attr attr = {.size = size, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
	int rc = fi_cq_open(domain, &attr, cq, NULL);

	if (!rc) {
		rc = fi_control(&(*cq)->fid, FI_GETWAIT, fd);
		if (rc)
			fi_close(&(*cq)->fid);
	}
	if (rc == -FI_ENOSYS) { // efa, shm
		attr.wait_obj = FI_WAIT_NONE;
		*fd = -1;
		rc = fi_cq_open(domain, &attr, cq, NULL);
	}
	return rc;
}

int fix_srx_open(struct fid_domain *domain, const struct fi_info *info, size_t size, struct fid_ep **srx)
{
	struct fi_rx_attr attr = *info->rx_attr;

	attr.size = size;
	attr.op_flags = 0;
	return fi_srx_context(domain, &attr, srx, NULL);
}

int fix_endpoint(struct fid_domain *domain, struct fi_info *info, uint64_t context, int shared, struct fid_ep **ep)
{
	info->ep_attr->rx_ctx_cnt = shared ? FI_SHARED_CONTEXT : 1;
	return fi_endpoint(domain, info, ep, (void *)(uintptr_t)context);
}

int fix_av_open(struct fid_domain *domain, struct fid_av **av)
{
	struct fi_av_attr attr = {.type = FI_AV_UNSPEC};

	return fi_av_open(domain, &attr, av, NULL);
}

int fix_mr_reg(struct fid_domain *domain, const void *mem, size_t len, struct fid_mr **mr, uint64_t *desc)
{
	// Providers without FI_MR_PROV_KEY want a key that no other region of the
	// domain has.
	static uint64_t key = 1;
	int rc = fi_mr_reg(domain, mem, len, FI_SEND | FI_RECV, 0,
	                   __atomic_fetch_add(&key, 1, __ATOMIC_RELAXED), 0, mr, NULL);

	if (!rc)
		*desc = (uint64_t)(uintptr_t)fi_mr_desc(*mr);
	return rc;
}

int fix_trywait(struct fid_fabric *fabric, struct fid *fid)
{
	return fi_trywait(fabric, &fid, 1);
}

int fix_close(void *fid)
{
	return fi_close((struct fid *)fid);
}

// read_error fetches what stands in the way of the next event.
static void read_error(struct fid_eq *eq, struct fix_event *e)
{
	struct fi_eq_err_entry entry = {.err_data = e->data, .err_data_size = sizeof e->data};
	ssize_t n = fi_eq_readerr(eq, &entry, 0);

	if (n < 0) {
		e->err = (int32_t)-n;
		return;
	}
	e->err = entry.err;
	e->prov_errno = entry.prov_errno;
	if (entry.fid)
		e->context = (uint64_t)(uintptr_t)entry.fid->context;
	if (entry.err_data == e->data)
		e->len = entry.err_data_size < sizeof e->data ? (uint32_t)entry.err_data_size : sizeof e->data;
}

// fix_eq_read returns how many events were read; max means that there may be
// more.
int fix_eq_read(struct fid_eq *eq, struct fix_event *out, int max)
{
	union {
		struct fi_eq_cm_entry cm;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + FIX_CM_DATA];
	} u;
	int i;

	for (i = 0; i < max; i++) {
		struct fix_event *e = &out[i];
		uint32_t type = 0;
		ssize_t n = fi_eq_read(eq, &type, &u, sizeof u, 0);

		if (n == -FI_EAGAIN)
			break;
		memset(e, 0, offsetof(struct fix_event, data));
		if (n == -FI_EAVAIL) {
			read_error(eq, e);
			continue;
		}
		if (n < 0) { // some drivers return the error itself
			e->err = (int32_t)-n;
			continue;
		}
		e->type = type;
		if (type == FI_CONNREQ) // its fid is the listening one, which may be closed
			e->info = u.cm.info;
		else
			e->context = (uint64_t)(uintptr_t)u.cm.fid->context;
		if ((size_t)n > sizeof u.cm) {
			e->len = (uint32_t)((size_t)n - sizeof u.cm);
			memcpy(e->data, u.cm.data, e->len);
		}
	}
	return i;
}

static ssize_t post(const struct fix_op *op)
{
	struct iovec vectors[FIX_PIECES];
	void *descs[FIX_PIECES];
	struct fi_msg msg = {
		.msg_iov = vectors,
		// Of an empty message verbs would look at the first all the same.
		.desc = op->count ? descs : NULL,
		.iov_count = op->count,
		.addr = op->addr,
		.context = (void *)(uintptr_t)op->context,
	};
	struct fid_ep *ep = (struct fid_ep *)(uintptr_t)op->ep;

	for (int i = 0; i < op->count; i++) {
		vectors[i].iov_base = (void *)(uintptr_t)op->pieces[i].base;
		vectors[i].iov_len = op->pieces[i].len;
		descs[i] = (void *)(uintptr_t)op->pieces[i].desc;
	}
	return op->kind == FIX_SEND ? fi_sendmsg(ep, &msg, op->flags) : fi_recvmsg(ep, &msg, op->flags);
}

// post_all posts every request, but none behind one that the same endpoint has
// refused, to the same address: they would overtake it.
static void post_all(struct fix_op *ops, uint32_t nops)
{
	for (uint32_t i = 0; i < nops; i++) {
		struct fix_op *op = &ops[i];

		op->rc = 0;
		for (uint32_t j = i; j-- > 0 && ops[j].ep == op->ep;) {
			if (ops[j].kind == op->kind && ops[j].addr == op->addr) { // the last one tells for all before it
				op->rc = ops[j].rc;
				break;
			}
		}
		if (!op->rc)
			op->rc = (int32_t)post(op);
	}
}

// read_failed turns the error that stands first in cq into a completion.
static int read_failed(struct fid_cq *cq, struct fi_cq_msg_entry *out)
{
	struct fi_cq_err_entry e = {0};

	if (fi_cq_readerr(cq, &e, 0) != 1)
		return 0;
	out->op_context = e.op_context;
	out->flags = FIX_FAILED | e.flags;
	out->len = (size_t)(uint32_t)e.prov_errno << 32 | (uint32_t)e.err;
	return 1;
}

// drain reads up to max completions, and leaves the queue armed if there are no
// more: then its descriptor tells of the next one.
static void drain(struct fix_drain *d, struct fi_cq_msg_entry *out, uint32_t max)
{
	struct fid_cq *cq = (struct fid_cq *)(uintptr_t)d->cq;

	d->count = 0;
	d->state = FIX_MORE;
	while (d->count < max) {
		ssize_t n = fi_cq_read(cq, out + d->count, max - d->count);

		if (n == -FI_EAVAIL) {
			d->count += read_failed(cq, out + d->count);
			continue;
		}
		if (n < 0 && n != -FI_EAGAIN) {
			d->state = (int32_t)n;
			return;
		}
		if (n > 0)
			d->count += (uint32_t)n;
		if (d->count == max)
			return;
		// It says so, too, when there is something to read.
		if (d->fabric && !fix_trywait((struct fid_fabric *)(uintptr_t)d->fabric, &cq->fid)) {
			d->state = FIX_ARMED;
			return;
		}
		if (n <= 0) // what it is that keeps it from waiting comes later
			return;
	}
}

// fix_turn posts, then drains each queue, but at most each completions of one.
// Those of a queue stand in out behind those of the queue before. A queue for
// which there is no room says FIX_MORE.
uint32_t fix_turn(struct fix_op *ops, uint32_t nops, struct fix_drain *drains, uint32_t ndrains,
                  struct fi_cq_msg_entry *out, uint32_t max, uint32_t each)
{
	uint32_t total = 0;

	post_all(ops, nops);
	for (uint32_t i = 0; i < ndrains; i++) {
		uint32_t room = max - total;

		drain(&drains[i], out + total, room < each ? room : each);
		total += drains[i].count;
	}
	return total;
}

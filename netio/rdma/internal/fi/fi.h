// SPDX-License-Identifier: Apache-2.0

// The C side of package fi. Names begin with fix_, so that none is libfabric's.
#ifndef TAGBUS_FI_H
#define TAGBUS_FI_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

enum { FIX_PIECES = 4, FIX_CM_DATA = 256 };

// What libfabric is asked for.
struct fix_hints {
	const char *provider, *node, *service;
	uint64_t listen; // node and service are those of this side
	uint64_t rdm;    // FI_EP_RDM instead of FI_EP_MSG
	const char *domain; // NULL: any
	const void *src; // address of this side, in the provider's form
	uint64_t srclen, srcformat;
	uint64_t tx_size, rx_size;
};

// One piece of memory of a work request. Go's Piece has the same layout.
struct fix_piece {
	uint64_t base, len, desc;
};

// A work request. Go's Op has the same layout.
struct fix_op {
	uint64_t ep; // struct fid_ep *: an endpoint or a shared receive context
	uint64_t addr; // fi_addr_t: where to, without connections
	uint64_t context;
	uint64_t flags;
	uint16_t kind, count;
	int32_t rc; // of the post: 0 or a negative FI_E
	struct fix_piece pieces[FIX_PIECES];
};

// A completion queue to drain. Go's Drain has the same layout.
struct fix_drain {
	uint64_t fabric, cq; // without fabric the queue cannot be waited for
	uint32_t count; // completions that came from it
	int32_t state;  // FIX_ARMED, FIX_MORE or a negative FI_E
};

enum { FIX_SEND = 0, FIX_RECV = 1 };
enum { FIX_ARMED = 0, FIX_MORE = 1 };

// Of a completion with this flag, len is the provider's error number << 32 | err.
#define FIX_FAILED (UINT64_C(1) << 63)

// A connection event. Go's Event is made of it.
struct fix_event {
	uint64_t context; // of the endpoint; 0 with FI_CONNREQ
	struct fi_info *info;
	uint32_t type; // 0 with an error
	int32_t err, prov_errno;
	uint32_t len; // of data
	uint8_t data[FIX_CM_DATA];
};

int fix_getinfo(const struct fix_hints *h, struct fi_info **info);
struct fi_info *fix_exact(struct fi_info *all);
int fix_list(struct fi_info **info);
void fix_initialise(void);
int fix_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void ***held);
int fix_domain_close(struct fid_domain *domain, void **held);
void fix_look(void);
int fix_eq_open(struct fid_fabric *fabric, struct fid_eq **eq, int *fd);
int fix_cq_open(struct fid_domain *domain, size_t size, struct fid_cq **cq, int *fd);
int fix_srx_open(struct fid_domain *domain, const struct fi_info *info, size_t size, struct fid_ep **srx);
int fix_endpoint(struct fid_domain *domain, struct fi_info *info, uint64_t context, int shared, struct fid_ep **ep);
int fix_av_open(struct fid_domain *domain, struct fid_av **av);
int fix_mr_reg(struct fid_domain *domain, const void *mem, size_t len, struct fid_mr **mr, uint64_t *desc);
int fix_trywait(struct fid_fabric *fabric, struct fid *fid);
int fix_eq_read(struct fid_eq *eq, struct fix_event *out, int max);
uint32_t fix_turn(struct fix_op *ops, uint32_t nops, struct fix_drain *drains, uint32_t ndrains,
                  struct fi_cq_msg_entry *out, uint32_t max, uint32_t each);
int fix_close(void *fid);
struct fid_ep *fix_idle_ep(void);
double fix_send_loop(struct fid_fabric *fabric, struct fid_ep *ep, struct fid_cq *cq, int fd, void *mem,
                     uint64_t desc, size_t len, long count, int window);

#endif

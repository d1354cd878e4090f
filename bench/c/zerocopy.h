// SPDX-License-Identifier: Apache-2.0

// Blocks that the kernel sends from where they are: MSG_ZEROCOPY. A block is
// written again only when the kernel has said that it needs it no longer, and so
// several of them take turns. To one subscriber.
#pragma once
#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <sys/socket.h>

// OUTSTANDING bounds the sends that the kernel has not answered: it takes memory for
// each (net.core.optmem_max).
enum { BLOCKS = 64, BLOCKS_BYTES = 1 << 20, OUTSTANDING = 64 };

typedef struct {
    int fd, blocks, turn;
    size_t size;
    uint8_t *block[BLOCKS];
    int users[BLOCKS];         // sends of each block that the kernel has not answered
    int block_of[OUTSTANDING]; // by the number of the send
    uint32_t sends, answered, copied;
} lender;

// new_lender has 1 MiB of blocks, which stay in the cache, but at least 3, as
// tagbus-zerocopy has.
static lender *new_lender(int fd, size_t size) {
    lender *l = calloc(1, sizeof *l);
    int one = 1;
    if (!l || setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one)) fail("SO_ZEROCOPY");
    l->fd = fd;
    l->size = size;
    l->blocks = (int)(BLOCKS_BYTES / size);
    if (l->blocks < 3) l->blocks = 3;
    if (l->blocks > BLOCKS) l->blocks = BLOCKS;
    for (int i = 0; i < l->blocks; i++) fill(l->block[i] = allocate(size), size);
    return l;
}

// answer takes one answer off the socket's error queue: sends from ee_info to ee_data
// are done. It returns false if there is none.
static bool answer(lender *l) {
    char room[CMSG_SPACE(sizeof(struct sock_extended_err) + sizeof(struct sockaddr_in))];
    struct msghdr m = {.msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(l->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
        if (errno != EAGAIN && errno != EINTR) fail("recvmsg");
        return false;
    }
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
        const struct sock_extended_err *e = (void *)CMSG_DATA(c);
        if (e->ee_errno != 0 || e->ee_origin != SO_EE_ORIGIN_ZEROCOPY) {
            fprintf(stderr, "error queue: origin %d, error %d\n", e->ee_origin, e->ee_errno);
            exit(1);
        }
        uint32_t n = e->ee_data - e->ee_info + 1;
        for (uint32_t i = 0; i < n; i++) l->users[l->block_of[(e->ee_info + i) % OUTSTANDING]]--;
        l->answered += n;
        if (e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED) l->copied += n;
    }
    return true;
}

// await_answer waits for answers, and takes all that there are.
static void await_answer(lender *l) {
    struct pollfd p = {.fd = l->fd}; // the error queue counts as POLLERR
    if (l->answered == l->sends) fail("send"); // there is nothing to wait for
    if (poll(&p, 1, -1) < 0 && errno != EINTR) fail("poll");
    while (answer(l)) {}
}

// next_block returns a block that is not being read.
static uint8_t *next_block(lender *l) {
    l->turn = (l->turn + 1) % l->blocks;
    while (l->users[l->turn] > 0) await_answer(l);
    return l->block[l->turn];
}

// lend sends the block of next_block. Each call of the system that takes some of it
// has one answer.
static void lend(lender *l) {
    for (size_t sent = 0; sent < l->size;) {
        while (l->sends - l->answered == OUTSTANDING) await_answer(l);
        ssize_t n = send(l->fd, l->block[l->turn] + sent, l->size - sent, MSG_ZEROCOPY | MSG_NOSIGNAL);
        if (n < 0 && errno == ENOBUFS) await_answer(l);
        if (n < 0 && errno != ENOBUFS && errno != EINTR && errno != EAGAIN) fail("send");
        if (n <= 0) continue;
        l->block_of[l->sends++ % OUTSTANDING] = l->turn;
        l->users[l->turn]++;
        sent += (size_t)n;
    }
}

// lent waits until the kernel needs no block any more, and says how often it has
// copied one all the same, as it does on the loopback device.
static void lent(lender *l) {
    while (l->answered != l->sends) await_answer(l);
    snprintf(extra, sizeof extra, ",\"extra\":{\"share_of_sends_that_the_kernel_copied_all_the_same\":%.3f}",
             l->sends ? (double)l->copied / l->sends : 0);
}

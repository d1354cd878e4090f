// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

// What libfabric 1.17 opens would be inherited by every process that a program
// starts, and would keep connections open there. Go starts processes at any
// time, from any thread, so a descriptor must be close-on-exec from the moment at
// which there is one.
//
// These functions stand in front of those of the C library for libfabric and the
// other libraries of the process: the dynamic linker looks into the program
// first, and the static one exports what the libraries ask for. They differ in
// the flag only. Go itself does not call the C library for these.
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

int socket(int domain, int type, int protocol)
{
	return syscall(SYS_socket, domain, type | SOCK_CLOEXEC, protocol);
}

int socketpair(int domain, int type, int protocol, int sv[2])
{
	return syscall(SYS_socketpair, domain, type | SOCK_CLOEXEC, protocol, sv);
}

int accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return accept4(fd, addr, len, SOCK_CLOEXEC);
}

int epoll_create(int size)
{
	(void)size; // it says nothing any more
	return epoll_create1(EPOLL_CLOEXEC);
}

int epoll_create1(int flags)
{
	return syscall(SYS_epoll_create1, flags | EPOLL_CLOEXEC);
}

int eventfd(unsigned int count, int flags)
{
	return syscall(SYS_eventfd2, count, flags | EFD_CLOEXEC);
}

int pipe(int fds[2])
{
	return syscall(SYS_pipe2, fds, O_CLOEXEC);
}

// SPDX-License-Identifier: Apache-2.0

// Package away answers: what does a program do while the file system of its files does not answer?
//
// It has a file system in memory, over the protocol of /dev/fuse (linux/fuse.h, version 7.31): a
// folder without folders in it. Its server can go away, and come back, as that of NFS: no call into the file
// system returns meanwhile. It needs Linux, and root.
package away

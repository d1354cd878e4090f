// SPDX-License-Identifier: Apache-2.0

// Package away is a file system that does not answer, for tests of programs with files there.
//
// It has a file system in memory, over the protocol of /dev/fuse (linux/fuse.h, version 7.31): a
// folder without folders in it. Its server can go away, and come back, as that of NFS: no call into the file
// system returns meanwhile. It needs Linux, and root.
package away

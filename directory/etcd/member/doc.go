// SPDX-License-Identifier: Apache-2.0

// Package member runs a member of a directory on etcd within a program, for sites that
// have no etcd. The program tagbus-directory is made of it.
//
// Members are etcd's own servers (go.etcd.io/etcd/server/v3/embed). The first one is a
// directory by itself. Each further one joins by the address of any member: it is added
// as a learner, copies what there is, and becomes a voter once it has caught up, so that a
// member that never gets up takes no vote from the others. What a member has agreed on is
// in its folder, with its settings: started again with the folder, it needs nothing else.
//
// A directory works while more than half of its members do. Three members survive the
// loss of one, five that of two; two survive none.
//
// # What etcd does not survive
//
// A disk that is full or fails ends the process, as it ends that of etcd: Config.Fatal is
// called, and then the process exits with status 1. The others go on without it.
package member

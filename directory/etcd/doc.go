// SPDX-License-Identifier: Apache-2.0

// Package etcd is a directory on the servers of etcd, for sites that a folder cannot
// serve: many hosts, or none with a file system in common. It registers the schemes
// etcd and etcds, so a program has it that imports it:
//
//	import _ "tagbus/directory/etcd"
//
//	etcd://host1:2379,host2,[2001:db8::1]/name?user=NAME&password-file=FILE
//	etcds://host1,host2,host3/name?ca=FILE&cert=FILE&key=FILE
//
// The name is that of the bus: several may share the servers. It is a module of its own,
// so that programs without it need nothing of etcd.
//
// # Keys
//
//	/tagbus/NAME/e/INSTANCE   an entry, as package codec writes it, with the lease of its process
//	/tagbus/NAME/withdrawn    written whenever entries are withdrawn; empty
//	/tagbus/NAME/begun        a random mark of the data, written once
//	/tagbus/NAME/x/...        the same three of the clients: of subscribers and senders
//
// What watchers of publishers and receivers read ends in front of x/, so that clients cost
// them nothing. Programs of earlier releases are sent the changes of clients too, and pass
// them over.
//
// A withdrawn entry is deleted in one transaction with a change of the second key, so
// that watchers tell it from one that was deleted because its lease ended. By the third
// one they tell servers that come back from servers that begin again.
//
// # Liveness
//
// A process has one lease for all that it announces. Its time to live is Config.Expiry. Another
// one, of ten times that, is for its entries as a client.
// When the process ends or loses its way to the servers, they delete what it announced,
// and after a short grace watchers are told Gone with directory.ErrExpired.
//
// # Servers that are away
//
// Open does not wait for them, and Announce does not for long: the entry is announced
// when they are back, and the Registration has a problem meanwhile. Watchers are told a
// Problem and no Gone, however long it takes. Connections between publishers and
// subscribers do not depend on the servers. Servers that come back with other data, or
// none, get all entries again, and what is missing has Expiry to appear before it is Gone.
package etcd

// SPDX-License-Identifier: Apache-2.0

// Package identity tells which peer a certificate belongs to, and whether it counts.
//
// A Principal is what a peer is called: the names in its certificate. A Store has what a process
// needs to show its own certificate and to check those of others, reads it from files, and reads
// the files again when they change. Server and Client make configurations of crypto/tls of it.
//
//	store, err := identity.Open(identity.Config{
//		Certificate: "/etc/tagbus/felix-07.pem", Key: "/etc/tagbus/felix-07.key",
//		CA: "/etc/tagbus/ca.pem",
//	})
//	config, err := store.Server() // and store.Client() for the side that dials
//
// # What counts
//
// Both sides show a certificate, and each checks that of the other when the handshake ends:
//
//   - a chain leads from it to a CA of the file, by way of the intermediates that the peer sent;
//   - each certificate of the chain is valid now;
//   - it is meant for this side of TLS, if it says what it is meant for (extended key usage);
//   - no list of revoked certificates (CRL) of its issuers names it;
//   - it has names, and few of them (PrincipalOf).
//
// The address that was dialled is not compared with the names: a process listens on several
// addresses, and what it may do follows from its names alone. So a chain that counts says which
// peer it is, and never that the peer may do anything: that is the question of package acl.
//
// # Renewal
//
// The files are looked at every few seconds, and at once on Reload. What cannot be used, such as
// a key that belongs to another certificate, is kept out, and what was read before stays: see
// Config.OnReload. Connections that stand keep their keys; Store.Check says which of them must
// end, because a certificate expired or was revoked, or its CA has left the file.
package identity

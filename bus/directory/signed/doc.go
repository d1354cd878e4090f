// SPDX-License-Identifier: Apache-2.0

// Package signed signs the entries of a directory, and verifies which process has announced one.
//
// A folder and the servers of etcd believe each process that may write there. Wrap puts
// signatures in front of one: what is announced through it is signed with the key and the
// certificates of the process (package identity), and what others have announced is shown
// only if it is signed, fresh, and allowed by the policy (package acl).
//
//	d := signed.Wrap(folder, signed.Config{Identity: store, Access: policy})
//
// # What is shown
//
// An entry is shown if
//
//   - it has a proof, which is of the entry as it is: each field except Mirror and Ways is signed, so
//     that a copy in another directory (tagbus mirror) counts as the original does;
//   - the certificates in the proof count now (identity.Store.Verify);
//   - the proof is fresh: it was made within the last MaxAge by the clock of the reader, and
//     none of the same signer and instance that was made later has been seen;
//   - the policy lets the signer publish the tags, or receive them if it is a receiver. If it
//     lets it have some of them, the entry is shown with these.
//
// Entry.Signer says which principal has signed what is shown, and Proof is empty. The bus
// compares the Signer with the peer that answers at the address. Each other entry is not
// shown, or Gone, and a Problem names it, its signer and what is missing, once: a *RefusedError.
//
// When certificates or the policy change all entries are looked at again, and each minute
// those whose time may be over.
//
// # Replay
//
// Announcers sign again each hour. So the file of a process that has ended may be put back for
// MaxAge at most, and not in front of a reader that has watched it before: it remembers the
// newest proof of each signer and instance. The clocks of announcers and readers may differ by
// MaxSkew. The entry of an announcer whose clock is further ahead is refused until its time
// has come, and that of one whose clock is more than two hours late comes and goes. An announcer
// whose clock is set right signs again within a minute.
//
// # Proof, version 1
//
//	bytes  field
//	1      version: 1
//	1      algorithm: 1 ECDSA with SHA-256, 2 RSA-PSS with SHA-256 and a salt as long, 3 Ed25519
//	8      time of signing, nanoseconds since 1970, which is its number too; highest byte first
//	1      how many certificates follow, 1 to 8: that of the signer, and intermediates
//	       of each 2 bytes length, highest byte first, and the certificate, DER
//	2      length of the signature, highest byte first
//	       the signature; nothing follows
//
// What is signed is the text "tagbus directory entry, version 1" with a zero byte behind it, and the
// SHA-256 hash of: the proof up to the length of the signature; then, each with its length in front
// as a uvarint: instance, name, host, process id (decimal), role, backend, number of addresses
// (decimal), each address as text, the tags (tags.Set.AppendBinary), page bytes and largest
// message (decimal), Since in nanoseconds since 1970 (decimal, 0 if unknown), and the address
// of Monitor as text, empty if there is none. So no storage changes what is signed.
//
// The Ways have a signature of their own, Entry.WaysProof, with the same key and algorithm: programs that do
// not know them verify the entry without them, and dial the last way. What is signed is the text
// "tagbus directory ways, version 1" with a zero byte behind it, and the SHA-256 hash of, each with its length
// in front as a uvarint: the whole proof, and of each of the ways its backend, number of addresses (decimal)
// and each address as text. An entry whose ways have no signature that fits is shown without them, and a Problem
// says so (ErrWays). One without ways is in order: connections then go the last way, where TLS proves the identity.
package signed

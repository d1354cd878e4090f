// SPDX-License-Identifier: Apache-2.0

// Package acl reads policies: which peer may do what with which tags.
//
// A Policy is a list of rules, which only allow. What no rule allows is refused, so the order of
// the rules does not matter, and a rule that is missing never lets a peer in. A Store reads a
// policy from a file, and reads it again when it changes.
//
// # File
//
// A policy is a JSON object with one field:
//
//	{"rules": [
//		{"who": "uri:spiffe://cern.ch/daq/felix-*", "publish": "0x1000-0x1fff"},
//		{"who": "uri:spiffe://cern.ch/dcs/*",       "subscribe": "0x1000-0x10ff", "send": "0x2000"},
//		{"who": "*",                                "describe": "*"}
//	]}
//
// A rule has who it is for, and for one or more actions the tags, as tags.ParseSet reads them:
//
//	publish      publish these tags
//	subscribe    get their messages from a publisher
//	send         send their messages to a receiver, which has announced them
//	receive      announce them as a receiver, and get what is sent
//	describe     ask for the state of the instances that serve them
//
// Fields that are not known, fields given twice, and rules that allow nothing are refused: each
// may be a mistake, and the file stays out as a whole (PolicyError).
//
// # Who
//
// A rule is for a peer if its pattern matches one of the peer's names, as a whole (package
// identity):
//
//   - uri:…, dns:… and cn:… match names of that kind. Within the rest * stands for any number of
//     characters, none included, except "/", and ** for any number of any characters. All other
//     characters stand for themselves; dns: is compared in lower case.
//   - * alone is for each peer with a certificate that counts, whatever its name.
//   - anonymous is for peers that have shown no certificate, as all do over plain TCP.
//
// So uri:spiffe://cern.ch/daq/felix-* is not for spiffe://cern.ch/daq/felix-07/admin, and no
// pattern except anonymous is for a peer without a certificate.
//
// # Cost
//
// A policy is asked when a peer subscribes, announces or asks for state, never per message.
// Policy.Allowed returns one set of tags, computed at the first question of peers to which the
// same rules apply.
package acl

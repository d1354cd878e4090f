// SPDX-License-Identifier: Apache-2.0

// Package tags names messages.
//
// A [Tag] is the 64-bit number under which messages are published, laid out as a
// FELIX id. A [Set] is any number of tags, written as exact tags, inclusive ranges and
// value/mask patterns; publishers announce sets and subscribers ask for them.
//
// # Layout of a Tag
//
//	63      60 59        52 51         36 35 34       22 21      16 15 14       8 7       0
//	┌─────────┬────────────┬─────────────┬──┬───────────┬──────────┬──┬──────────┬─────────┐
//	│ version │  detector  │  connector  │V │   link    │  e-link  │D │ protocol │ stream  │
//	│    4    │     8      │     16      │1 │    13     │    6     │1 │    7     │    8    │
//	└─────────┴────────────┴─────────────┴──┴───────────┴──────────┴──┴──────────┴─────────┘
//	V = virtual (1: not a physical e-link), D = direction (0: to host, 1: to detector)
//
// Every 64-bit number is a legal tag: the layout says how to read one, and 1, 2
// and 3 are as good as any for a test. [FormatVersion] is what real ids carry.
//
// # Text
//
// [Parse] and [ParseSet] document the two text syntaxes, [Set.AppendBinary] the
// binary format that crosses the network. Values print in one canonical form,
// which the parsers read back to an equal value.
//
// The package imports the standard library only. All its types are values that
// any number of goroutines may use at once; nothing in it blocks.
package tags

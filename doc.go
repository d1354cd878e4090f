// SPDX-License-Identifier: Apache-2.0

// Package tagbus is the root of the tagbus module and holds only this text.
//
// tagbus is a brokerless publish/subscribe bus for detector readout. Publishers
// publish messages by numeric 64-bit tag; subscribers ask for tags, find the
// publisher through a directory, dial it directly and receive.
//
// A program that uses the bus imports:
//
//   - tagbus/node: puts an event loop, a backend and a directory together;
//   - tagbus/bus: publish and subscribe;
//   - tagbus/tags: names and sets of streams.
//
// Below them, each with one question to answer:
//
//   - tagbus/bus/directory: where does a tag live?
//   - tagbus/bus/metrics: what does Prometheus see?
//   - tagbus/subscription: which subscriber wants which tag?
//   - tagbus/netio: what may a backend be asked, and what does it report?
//   - tagbus/netio/tcp: how do pages cross a socket?
//   - tagbus/netio/reactor: whose turn is it?
//
// Which package may import which is a table in internal/checks/dag_test.go.
package tagbus

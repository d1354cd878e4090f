// SPDX-License-Identifier: Apache-2.0

// Package state describes what one publisher, subscriber, sender or receiver knows of
// itself and of its peers.
//
// A [State] is what tools show. It is asked for in four ways, with one answer:
//
//   - in the program, by the methods State of package bus;
//   - over the bus, by package bus/observer: any listed publisher or receiver answers on the
//     port on which it listens;
//   - by HTTP, from programs that serve it, as the commands do with --metrics;
//   - on the command line, by tagbus.
//
// Its JSON form is stable: fields are added, and none is renamed or gets another meaning
// without another [Version]. [Schema] describes it, and a test holds both together. Names
// are those of the metrics of bus/metrics, without the part that names the role. Times are
// RFC 3339. Counters grow from the beginning of the instance, and rates follow from two
// answers, by their Time.
//
// Names and other texts of peers are unchecked: show them as text.
package state

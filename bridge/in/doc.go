// SPDX-License-Identifier: Apache-2.0

// Package in publishes what is in a durable log on a bus, under the tags that it had, for example at another site.
//
//	report, err := in.Run(ctx, node, log, in.Config{Query: durable.Query{Tags: tags.Of(0x1000)}})
//
// The messages of all publishers come from one, in the order of the log, which is that of each publisher and tag. They
// keep their tags, statuses and data. Counters and times are those of the new publisher, and there are no ids of
// requests, as with tagbus replay. What is missing in the log is missing on the bus, and the Report counts it.
package in

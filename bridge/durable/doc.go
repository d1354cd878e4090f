// SPDX-License-Identifier: Apache-2.0

// Package durable is the contract between a bridge and the engine of a log, such as NATS JetStream.
//
// A log has records under keys. A key is a publisher's instance and a tag. The records of one key have
// an order, and each has a Position. What the bytes of a record mean is the business of package
// record.
//
// # Appending
//
// Append names the record behind which the new one belongs. An engine appends it only if that is still
// the last of its key, so a record that is appended again after an error of which the outcome is not
// known cannot be there twice. A bridge appends one record of a key at a time, and records of
// many keys at once.
//
// # Outages
//
// A Log tries nothing again. It reports what became of each Append within its own time limit, also
// while the engine is away. The bridge tries again, and decides how often.
package durable

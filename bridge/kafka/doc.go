// SPDX-License-Identifier: Apache-2.0

// Package kafka keeps the log of a bridge in a topic of Kafka, or of another broker that speaks its protocol.
package kafka

// SPDX-License-Identifier: Apache-2.0

// Package mutual is what the handshakes of TLS of the backends have in common: which ones are
// computed, and when (Desk, Ration); how a goroutine computes one beside the loop (Waiter); what a
// configuration may say (Config); and what has become of it (Side).
//
// The handshakes are of TLS 1.3, with certificates on both sides.
package mutual

// SPDX-License-Identifier: Apache-2.0

// Package recording writes and reads recordings: files with the messages of a bus, and with
// what was lost of them.
package recording

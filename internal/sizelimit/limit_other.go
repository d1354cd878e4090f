// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package sizelimit

// limitOfProcess returns the error where processes have no such limit.
func limitOfProcess() *Error { return &Error{} }

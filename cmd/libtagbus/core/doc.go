// SPDX-License-Identifier: Apache-2.0

// Package core makes package objects callable from C. It is the cgo part of libtagbus-core.so, and
// is empty without cgo. A program that imports it for -buildmode=c-shared exports one symbol of its
// own, tagbus_core_v1, which fills a table of functions for libtagbus.so (bindings/c/core.h).
//
// Each function catches panics: none goes through the stack of C. What C keeps is memory of the
// transport, or pinned.
package core

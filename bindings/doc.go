// SPDX-License-Identifier: Apache-2.0

// Package bindings has only tests: of the headers for C++, of the examples of all languages against
// each other, and of what docs/guarantees.md promises, from C and Python against Go. The languages are in its folders.
package bindings

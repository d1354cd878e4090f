// SPDX-License-Identifier: Apache-2.0

// Package bindings has only tests: of the headers for C++, and of the examples of all languages against
// each other. The languages are in its folders.
package bindings

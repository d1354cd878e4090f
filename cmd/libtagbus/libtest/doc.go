// SPDX-License-Identifier: Apache-2.0

// Package libtest has only tests: of the C library as a program in C has it. They build it as make lib
// does, which takes a C compiler.
package libtest

// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package syserror

var own numbers

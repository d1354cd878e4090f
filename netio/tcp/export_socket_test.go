// SPDX-License-Identifier: Apache-2.0

package tcp

// Begin is connect without the system.
var Begin = begin

// SPDX-License-Identifier: Apache-2.0

package load

var OpenLoop = openLoop

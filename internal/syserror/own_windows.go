// SPDX-License-Identifier: Apache-2.0

package syserror

var own = windows

// SPDX-License-Identifier: Apache-2.0

package tcp

import "errors"

// ErrCallbackPanicked is the cause, in a *netio.OpError, with which an endpoint
// closes when a callback of its Handler panicked. The event loop reports the
// panic itself.
var ErrCallbackPanicked = errors.New("tcp: a callback of the handler panicked")

// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"sync/atomic"

	"tagbus/bus/internal/wire"
	"tagbus/netio"
)

// parter makes a backend one that delivers messages in parts.
type parter struct {
	cut            int // where; 0: behind the header of a page
	taken, refused atomic.Int32
}

func (k *parter) opener(open netio.Opener) netio.Opener {
	if k == nil {
		return open
	}
	return func(h netio.Handler) (netio.Backend, error) {
		parts, ok := h.(netio.PartsHandler)
		if !ok {
			return open(h)
		}
		return open(&partsHandler{parts, k})
	}
}

type partsHandler struct {
	netio.PartsHandler
	k *parter
}

// OnData implements netio.Handler.
func (h *partsHandler) OnData(ep netio.Endpoint, data []byte) {
	n := h.k.cut
	if n == 0 {
		n = wire.HeaderBytes
	}
	if len(data) > n {
		head := bytes.Clone(data[:n])
		if h.OnDataParts(ep, head, data[n:]) {
			clear(head) // it was valid until then
			h.k.taken.Add(1)
			return
		}
		h.k.refused.Add(1)
	}
	h.PartsHandler.OnData(ep, data)
}

// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tagbus/internal/sanitize"
)

// What one connection may write: at once, and from then on each second, bytes. etcd keeps each
// change until its history is compacted, which is after an hour: an entry that changes a thousand
// times a second would fill the database, and then nothing could be announced any more.
const (
	budgetBytes  = 32 << 20
	budgetSecond = 64 << 10

	changeBytes = 256     // that a change costs besides its key and value, about
	leaseBytes  = 4 << 10 // that a lease costs, which has a key and memory of all members
)

// Budget is what a connection may write yet. The zero value is a full one.
//
// Threads: any.
type Budget struct {
	mutex sync.Mutex
	spent float64
	at    time.Time // of spent
}

// Spend takes bytes of the budget, and reports whether it had as many.
func (b *Budget) Spend(bytes int, now time.Time) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.spent = max(0, b.spent-now.Sub(b.at).Seconds()*budgetSecond)
	b.at = now
	if b.spent+float64(bytes) > budgetBytes {
		return false
	}
	b.spent += float64(bytes)
	return true
}

// propose returns nil if so many bytes may be written for a caller. All members write a request to
// their disks that may change something, also if it changes nothing then.
func (g *Guard) propose(caller Caller, method string, bytes int) error {
	if !g.announces(caller, anything) {
		return g.refuse(caller, method, noRule)
	}
	if caller.Spend(bytes, time.Now()) {
		return nil
	}
	return status.Error(codes.ResourceExhausted, Prefix+sanitize.Line(caller.String()+" changes its entries too often: at most 64 KiB a second are written for a connection once it has written 32 MiB"))
}

// changes returns how many steps of a transaction are no reads, as etcd sees it; 0: nothing of it is
// written.
func changes(r *etcdserverpb.TxnRequest, depth int) (n int) {
	if depth == maxDepth {
		return 0 // it is refused
	}
	for _, steps := range [][]*etcdserverpb.RequestOp{r.GetSuccess(), r.GetFailure()} {
		for _, op := range steps {
			if op.GetRequestRange() == nil {
				n += 1 + changes(op.GetRequestTxn(), depth+1)
			}
		}
	}
	return n
}

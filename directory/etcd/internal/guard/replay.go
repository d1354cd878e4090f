// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/status"

	"tagbus/directory/etcd/internal/held"
)

// MaxReplay is how much of the history a client gets told, bytes. etcd reads all of it at once, and keeps it for
// each stream until that takes it. A client that was away for longer looks at the entries again.
const MaxReplay = 32 << 20

// settled is how long etcd takes at most to read the history for a watch, on a member that has much to do.
const settled = 5 * time.Second

// replays are the watches of one stream to which etcd tells its history.
//
// Threads: any.
type replays struct {
	mutex   sync.Mutex
	sending bool           // events
	held    []*held.Answer // the oldest first
}

// replay lets a client watch from a revision on, once there is room for what etcd reads for it.
//
//   - answered: the revision is too old, as it is after a compaction, and the client is told that.
func (w *watched) replay(create *etcdserverpb.WatchCreateRequest) (answered bool, err error) {
	if w.guard.History == nil || create.StartRevision <= 0 || w.at == nil {
		return false, nil
	}
	bytes, revision := w.guard.History(create.StartRevision)
	if create.PrevKv {
		bytes *= 2
	}
	switch {
	case bytes == 0:
		return false, nil
	case bytes <= MaxReplay:
		answer, err := w.guard.room(w.Context(), w.caller, w.at, bytes)
		if answer != nil {
			w.replays.begin(answer)
		}
		return false, err
	case w.caller.Rank() == Administrator:
		return false, nil
	}
	w.sending.Lock()
	defer w.sending.Unlock()
	return true, w.counted.SendMsg(&etcdserverpb.WatchResponse{
		Header: &etcdserverpb.ResponseHeader{Revision: revision}, WatchId: noWatch, Created: true, Canceled: true,
		CompactRevision: revision, CancelReason: status.Convert(rpctypes.ErrGRPCCompacted).Message(),
	})
}

// noWatch is the number of a watch that is none.
const noWatch = -1

// begin notes that etcd reads its history for a watch.
func (r *replays) begin(answer *held.Answer) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.held = append(r.held, answer)
	r.settle(answer)
}

// settle ends soon that there is room for a watch, unless events are being sent: none may have been for it.
func (r *replays) settle(answer *held.Answer) {
	time.AfterFunc(settled, func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		switch i := slices.Index(r.held, answer); {
		case i < 0:
		case r.sending:
			r.settle(answer)
		default:
			r.held = slices.Delete(r.held, i, i+1)
			answer.Release()
		}
	})
}

// sends notes whether events are being sent, or wait for that.
func (r *replays) sends(now bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.sending = now
}

// next returns what was held for the watch that is the next one; nil: there is none.
//
//   - more: its events go on, and it stays the next one.
func (r *replays) next(more bool) *held.Answer {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.held) == 0 {
		return nil
	}
	answer := r.held[0]
	if !more {
		r.held = r.held[1:]
	}
	return answer
}

// end ends all of them, with their stream.
func (r *replays) end() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, answer := range r.held {
		answer.Release()
	}
	r.held = nil
}

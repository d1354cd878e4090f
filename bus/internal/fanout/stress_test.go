package fanout

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/wire"
	"tagbus/bus/internal/wire/wiretest"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

type stressLoop struct {
	netio.Loop
	mu   sync.Mutex
	fs   []func()
	wake chan struct{}
	end  bool
}

func (l *stressLoop) Post(f func()) bool {
	l.mu.Lock()
	l.fs = append(l.fs, f)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

func (l *stressLoop) run(stop chan struct{}) {
	for {
		l.mu.Lock()
		fs := l.fs
		l.fs = nil
		l.mu.Unlock()
		for _, f := range fs {
			f()
		}
		if len(fs) == 0 {
			select {
			case <-l.wake:
			case <-stop:
				return
			}
		}
	}
}

func (l *stressLoop) do(f func()) {
	done := make(chan struct{})
	l.Post(func() { f(); close(done) })
	<-done
}

type stressTimer struct {
	netio.Timer
	t *time.Timer
}

func (t stressTimer) StartOnce(d time.Duration) error { t.t.Reset(d); return nil }
func (t stressTimer) Close() error                    { t.t.Stop(); return nil }
func (l *stressLoop) NewTimer(f func()) (netio.Timer, error) {
	t := time.AfterFunc(time.Hour, func() { l.Post(f) })
	return stressTimer{t: t}, nil
}

type stressEndpoint struct {
	netio.Endpoint
	t     *testing.T
	loop  *stressLoop
	box   *Outbox
	mu    sync.Mutex
	dead  bool
	slow  atomic.Bool
	sent  []modelSend
	last  map[tags.Tag]uint64
	going bool
	lossy bool
}

func (e *stressEndpoint) Capabilities() netio.Capabilities {
	return netio.Capabilities{AnyMemory: true, Direct: true}
}

func (e *stressEndpoint) read(m []byte) {
	if m[0] != wire.Kind {
		return
	}
	rs, err := wiretest.Read(m)
	if err != nil {
		e.t.Error(err)
	}
	for _, r := range rs {
		n := binary.LittleEndian.Uint64([]byte(r.Data))
		for i, c := range []byte(r.Data[8:]) {
			if c != byte(int(n)+i*7) {
				e.t.Errorf("tag %v seq %d damaged at %d", r.Tag, n, i)
				break
			}
		}
		if was := e.last[r.Tag]; was != 0 && n != was+1 && !(e.lossy && n > was) {
			e.t.Errorf("tag %v: %d behind %d", r.Tag, n, was)
		}
		e.last[r.Tag] = n
	}
}

func (e *stressEndpoint) SendDirect(key netio.Key, header []byte, data ...[]byte) (bool, error) {
	e.mu.Lock()
	if e.dead {
		e.mu.Unlock()
		return false, netio.ErrClosed
	}
	if len(e.sent) == 0 && rand.IntN(4) > 0 && !e.slow.Load() {
		e.read(slices.Concat(append([][]byte{header}, data...)...))
		e.mu.Unlock()
		return true, nil
	}
	e.mu.Unlock()
	return false, e.Send(key, header, data...)
}

func (e *stressEndpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dead {
		return netio.ErrClosed
	}
	if len(e.sent) > 0 && rand.IntN(16) == 0 {
		return netio.ErrNoResources
	}
	e.sent = append(e.sent, modelSend{key: key, header: slices.Clone(header), pieces: slices.Clone(data)})
	if !e.going {
		e.going = true
		e.loop.Post(e.complete)
	}
	return nil
}

func (e *stressEndpoint) complete() {
	e.mu.Lock()
	if e.dead {
		e.mu.Unlock()
		return
	}
	if len(e.sent) == 0 {
		e.going = false
		e.mu.Unlock()
		e.box.Ready()
		return
	}
	x := e.sent[0]
	e.sent = e.sent[1:]
	e.read(slices.Concat(append([][]byte{x.header}, x.pieces...)...))
	e.mu.Unlock()
	e.box.Completed(x.key)
	e.box.Ready()
	if e.slow.Load() {
		time.AfterFunc(100*time.Microsecond, func() { e.loop.Post(e.complete) })
	} else {
		e.loop.Post(e.complete)
	}
}

// Goroutines publish in all ways, while connections come, stall, and end. Nothing is lost,
// damaged, reordered, counted wrongly, or left under construction.
func TestStress(t *testing.T) {
	const pageBytes, buffers, nTags, boxes = 1024, 48, 6, 4
	pool, err := netio.NewPool(buffers, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	loop := &stressLoop{wake: make(chan struct{}, 1)}
	stop := make(chan struct{})
	served, _ := tags.Range(1, nTags)
	var fan Fanout
	fan.Init(Config{
		Served: served, Pool: pool, PageBytes: pageBytes, QueueBytes: 8 * pageBytes, MaxMessageBytes: 3000, MaxStreams: 2,
		First: func(tags.Tag) {}, Call: func(f func()) { f() },
		LossError: func(subscription.Cause) error { return ErrLost },
	})
	clock := new(alarm.Clock)
	if err := alarm.Open(clock, loop.NewTimer); err != nil {
		t.Fatal(err)
	}
	if err := fan.Start(loop, clock); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { loop.run(stop) })
	subscribe := func(i int) *stressEndpoint { // loop
		box := new(Outbox)
		ep := &stressEndpoint{t: t, loop: loop, box: box, last: map[tags.Tag]uint64{}}
		kind := subscription.Policy{}
		if i == 3 {
			kind.Kind, ep.lossy = subscription.DropOldest, true
		} else if i == 2 {
			kind.Kind, ep.lossy = subscription.Latest, true
		}
		box.Init(&fan, ep, func(err error) { t.Error(err) })
		var set tags.Set
		for tag := 1; tag <= nTags; tag++ {
			if i == 0 || rand.IntN(2) == 0 {
				set = set.Union(tags.Of(tags.Tag(tag)))
			}
		}
		if set.IsEmpty() {
			set = served
		}
		g := box.Subscribe([]Wish{{Request: &subscription.Subscribe{ID: 1, Lane: 1}, Set: set}}, Terms{
			Check:    func(w *Wish) (refusal, fault error) { w.Policy = kind; return nil, nil },
			Steps:    func(*Wish) int { return 1 },
			Account:  func(w *Wish) *ledger.Lane { return account(1, w) },
			HandOver: func([]tags.Set) []tags.Set { return nil },
			Entered:  func() {},
		})
		for done := false; !done; {
			_, done = g.Run(5)
			runtime.Gosched()
		}
		return ep
	}
	leave := func(ep *stressEndpoint) { // loop
		if rand.IntN(2) == 0 {
			_, _, job := ep.box.Unsubscribe(1)
			for done := false; !done; {
				_, done = job(5)
			}
		}
		ep.mu.Lock()
		ep.dead = true
		ep.mu.Unlock()
		ep.box.Kill()
		job := ep.box.Leave()
		for done := false; !done; {
			_, done = job(5)
		}
		fan.Mu.Lock()
		ep.box.CloseAccounts(false)
		ep.box.Free()
		fan.Mu.Unlock()
	}
	eps := make([]*stressEndpoint, boxes)
	loop.do(func() {
		for i := range eps {
			eps[i] = subscribe(i)
		}
	})
	var lent, back atomic.Int64
	var counts [nTags + 1]uint64
	until := time.Now().Add(time.Second)
	var pubs sync.WaitGroup
	for tag := tags.Tag(1); tag <= nTags; tag++ {
		pubs.Go(func() {
			way := fan.Way(tag)
			seq := uint64(0)
			for time.Now().Before(until) {
				var size int
				switch rand.IntN(10) {
				case 0:
					size = rand.IntN(2900)
				default:
					size = rand.IntN(60)
				}
				for burst := rand.IntN(20); burst >= 0; burst-- {
					data := make([]byte, 8, 8+size)
					binary.LittleEndian.PutUint64(data, seq+1)
					for i := range size {
						data = append(data, byte(int(seq+1)+i*7))
					}
					var err error
					switch rand.IntN(4) {
					case 0:
						if !way.Publish(data) {
							err = fan.Publish(tag, 0, data, nil)
						}
					case 1:
						run, ok := fan.BeginRun(tag)
						if !ok {
							err = fan.Publish(tag, 0, data, nil)
						} else {
							var more bool
							more, err = run.Publish(tag, uint8(rand.IntN(2)), data)
							if err == nil && !more {
								t.Error("no more")
							}
							run.End(rand.IntN(2) == 0)
						}
					case 2:
						var isLent bool
						if isLent, err = fan.PublishLent(tag, 0, data, func() { back.Add(1) }); !isLent {
							err = fan.Publish(tag, 0, data, nil)
						} else if err == nil {
							lent.Add(1)
						}
					default:
						err = fan.Publish(tag, uint8(rand.IntN(2)), data, nil)
					}
					if errors.Is(err, ErrNoRoom) {
						runtime.Gosched()
						break
					} else if err != nil {
						t.Error(err)
						return
					}
					seq++
				}
				switch rand.IntN(6) {
				case 0:
					fan.Flush()
				case 1:
					time.Sleep(time.Duration(rand.IntN(600)) * time.Microsecond)
				}
			}
			counts[tag] = seq
		})
	}
	pubs.Go(func() {
		for time.Now().Before(until) {
			time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond)
			i := rand.IntN(boxes)
			switch rand.IntN(2) {
			case 0:
				eps[i].slow.Store(!eps[i].slow.Load())
			default:
				if i > 0 {
					loop.do(func() { leave(eps[i]); eps[i] = subscribe(i) })
				}
			}
		}
	})
	pubs.Wait()
	for _, e := range eps {
		e.slow.Store(false)
	}
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	deadline := time.Now().Add(2 * time.Second)
	for {
		idle := true
		loop.do(func() {
			for _, s := range *fan.streams.Load() {
				s.mu.Lock()
				idle = idle && !s.pending()
				s.mu.Unlock()
			}
			for _, e := range eps {
				for _, n := range e.box.Lanes {
					idle = idle && n.pinned.Load() == 0
				}
			}
		})
		if idle {
			break
		}
		if time.Now().After(deadline) {
			t.Error("stuck")
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	loop.do(func() {
		for tag := 1; tag <= nTags; tag++ {
			if got := eps[0].last[tags.Tag(tag)]; got != counts[tag] {
				t.Errorf("tag %d: got %d of %d", tag, got, counts[tag])
			}
		}
		if n := fan.lossyPinned.Load(); n != 0 || pool.Free() != buffers || lent.Load() != back.Load() {
			t.Errorf("lossy %d, free %d of %d, lent %d back %d", n, pool.Free(), buffers, lent.Load(), back.Load())
		}
		fan.Mu.Lock()
		st := fan.Stats()
		fan.Mu.Unlock()
		if st.Messages != total {
			t.Errorf("counted %d of %d", st.Messages, total)
		}
		t.Logf("%d messages, refusals %d, lent %d", total, st.Refusals, lent.Load())
	})
	close(stop)
	wg.Wait()
}

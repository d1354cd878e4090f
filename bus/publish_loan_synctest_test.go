// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// lender is a publisher with pages of 4 KiB and a pool of some of them.
func lender(b *bed, pages int) *publisher {
	return b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: 8192, QueueBytes: 16384, PoolBytes: pages * 4096}})
}

// mustLend returns a loan with a payload in it.
func mustLend(t *testing.T, p *publisher, data []byte) bus.Loan {
	t.Helper()
	l, err := p.Loan(1, len(data))
	must(t, err)
	if copy(l.Data(), data) != len(data) {
		t.Fatalf("got a loan of %d bytes, want %d", len(l.Data()), len(data))
	}
	return l
}

// What is put into a loan arrives, in its place among other messages, however large it is and
// whatever policies there are.
func TestLoan_Publish(t *testing.T) {
	for _, policy := range []bus.Policy{{}, {Kind: bus.DropOldest}, {Kind: bus.Latest}} {
		t.Run(policy.Kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := lender(b, 64)
				s := b.subscriber(bus.SubscriberConfig{})
				var got [][]byte
				_, err := s.SubscribeWith(tags.Of(1), func(m bus.Message) { got = append(got, bytes.Clone(m.Data)) }, bus.SubscriptionConfig{Policy: policy})
				must(t, err)
				must(t, p.WaitSubscribers(t.Context(), 1, tags.Of(1)))
				var want [][]byte
				for i, size := range []int{0, 1, 511, 512, 2000, 4096, 3000} {
					want = append(want, bytes.Repeat([]byte{byte(2 * i)}, size), []byte{byte(2*i + 1)})
					l := mustLend(t, p, want[2*i])
					must(t, l.Publish(0))
					time.Sleep(time.Second)
					must(t, p.Publish(1, want[2*i+1]))
					time.Sleep(time.Second)
				}
				synctest.Wait()
				if len(got) != len(want) {
					t.Fatalf("got %d messages, want %d", len(got), len(want))
				}
				for i := range want {
					if !bytes.Equal(got[i], want[i]) {
						t.Errorf("message %d: got %d bytes, want %d of %d", i, len(got[i]), len(want[i]), i)
					}
				}
				st, err := p.State(t.Context(), allPeers)
				must(t, err)
				if free, all := st.Sending.PoolFreePages, st.Sending.PoolPages; free < all-2 { // a stream and the next loan go on in one
					t.Errorf("in the end %d of %d pages are free", free, all)
				}
			})
		})
	}
}

// Half of the pool is lent, and no more, and a caller that waits gets what comes back.
func TestLoan_theirNumberIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := lender(b, 16)
		var loans []bus.Loan
		for {
			l, err := p.Loan(1, 4096)
			if err != nil {
				if !errors.Is(err, bus.ErrNoResources) {
					t.Errorf("got %v, want ErrNoResources", err)
				}
				break
			}
			loans = append(loans, l)
		}
		if len(loans) != 8 {
			t.Errorf("got %d loans, want half of 16 pages", len(loans))
		}
		go func() {
			time.Sleep(time.Second)
			loans[0].Abort()
		}()
		l, err := p.LoanContext(t.Context(), 1, 4096)
		must(t, err)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.LoanContext(short, 1, 4096); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that it was late", err)
		}
		go func() {
			time.Sleep(time.Second)
			loans[1].Abort()
		}()
		none, err := p.LoanContext(t.Context(), 1, -1) // as Loan takes it: of no bytes
		must(t, err)
		if len(none.Data()) != 0 {
			t.Errorf("got %d bytes of a negative size, want none", len(none.Data()))
		}
		none.Abort()
		l.Abort()
		for _, l := range loans {
			l.Abort()
		}
	})
}

// A caller that waits for memory does not wait for a publisher that ends.
func TestLoan_aWaitEndsWithThePublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := lender(b, 16)
		var loans []bus.Loan
		for range 8 {
			loans = append(loans, mustLend(t, p, make([]byte, 4096)))
		}
		ended := make(chan error, 1)
		go func() {
			_, err := p.LoanContext(t.Context(), 1, 4096)
			ended <- err
		}()
		synctest.Wait()
		must(t, p.Close())
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, bus.ErrClosed) {
				t.Errorf("got %v, want ErrClosed", err)
			}
		default:
			t.Error("it still waits")
		}
		for _, l := range loans {
			l.Abort()
		}
	})
}

func TestLoan_itEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := lender(b, 16)
		l := mustLend(t, p, make([]byte, 1000))
		same := l
		l.Truncate(600)
		if n := len(l.Data()); n != 600 {
			t.Errorf("Truncate: got %d bytes, want 600", n)
		}
		must(t, l.Publish(0))
		next := mustLend(t, p, make([]byte, 1000)) // in the same place
		for name, over := range map[string]*bus.Loan{"published": &l, "its copy": &same, "the zero value": {}} {
			if over.Data() != nil {
				t.Errorf("%s: got memory, want none", name)
			}
			over.Abort()
			if err := over.Publish(0); !errors.Is(err, bus.ErrLoanOver) {
				t.Errorf("%s: got %v, want ErrLoanOver", name, err)
			}
			if err := over.PublishContext(t.Context(), 0); !errors.Is(err, bus.ErrLoanOver) {
				t.Errorf("%s: PublishContext: got %v, want ErrLoanOver", name, err)
			}
		}
		must(t, next.PublishContext(t.Context(), 0))
	})
}

func TestLoan_whatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := lender(b, 16)
		tooLarge := (*bus.PublishError)(nil)
		if _, err := p.Loan(1, 4097); !errors.As(err, &tooLarge) || !errors.Is(err, bus.ErrMessageTooLarge) || tooLarge.Limit != 4096 {
			t.Errorf("got %v, want ErrMessageTooLarge with 4096", err)
		}
		if text := tooLarge.Error(); !strings.Contains(text, "4097 bytes, limit 4096: raise PublisherConfig.PageBytes, or use PublishZeroCopy") {
			t.Errorf("got the text %q", text)
		}
		if _, err := p.Loan(1, 8193); !errors.As(err, &tooLarge) || tooLarge.Limit != 8192 {
			t.Errorf("beyond any message: got %v, want the limit 8192", err)
		}
		l, err := p.Loan(9, 10)
		must(t, err)
		if err := l.Publish(0); !errors.Is(err, bus.ErrUnknownTag) || l.Data() == nil {
			t.Errorf("another tag: got %v, want ErrUnknownTag, and the loan as it was", err)
		}
		l.Abort()
		left := mustLend(t, p, make([]byte, 4096))
		must(t, p.Close())
		left.Data()[0] = 1 // it is the user's until it ends
		if err := left.Publish(0); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("after Close: got %v, want ErrClosed", err)
		}
		left.Abort()
		if _, err := p.Loan(1, 1); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("Loan after Close: got %v, want ErrClosed", err)
		}
	})
}

func TestLoan_allocatesNothing(t *testing.T) {
	b := newBed(t)
	p := lender(b, 64)
	data := make([]byte, 1000)
	if n := testing.AllocsPerRun(1000, func() {
		l, err := p.Loan(1, len(data))
		if err != nil {
			t.Fatal(err)
		}
		copy(l.Data(), data)
		if err := l.Publish(0); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations for each loan, want none", n)
	}
}

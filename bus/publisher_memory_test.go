// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/netio"
	"tagbus/tags"
)

// The Go heap ends the program when the system has no more: a publisher with a
// large cache died with a stack.
func TestNewPublisher_memoryThatTheMachineDoesNotHaveIsAnError(t *testing.T) {
	const kept, most = min(511<<30, math.MaxInt), min(1<<40, math.MaxInt)
	tests := []struct {
		name string
		cfg  bus.PublisherConfig
		want []string // of the error
	}{
		{"cache", bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1, CacheBytes: kept}}, []string{fmt.Sprintf("CacheBytes is %d", kept)}},
		{"pool", bus.PublisherConfig{Sending: bus.Sending{PoolBytes: most}}, []string{fmt.Sprintf("PoolBytes is %d", most)}},
		{"pool of small pages", bus.PublisherConfig{Sending: bus.Sending{PageBytes: 256, PoolBytes: most}}, []string{fmt.Sprintf("PoolBytes is %d", most)}},
		{"queue", bus.PublisherConfig{Sending: bus.Sending{QueueBytes: most - 1<<20}}, []string{fmt.Sprintf("QueueBytes is %d, so PoolBytes is %d", most-1<<20, most-1<<20+130900)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if netio.CheckMemory(int64(test.cfg.CacheBytes)+int64(test.cfg.PoolBytes)+int64(test.cfg.QueueBytes)) == nil {
				t.Skip("this machine has so much memory")
			}
			test.cfg.Tags = tags.Of(1)
			open := func(netio.Handler) (netio.Backend, error) { return nil, errors.New("no backend is opened") }
			_, err := bus.NewPublisher(open, memory.New(), test.cfg)
			if !errors.Is(err, netio.ErrNoMemory) {
				t.Fatalf("got %v, want ErrNoMemory", err)
			}
			if errors.Is(err, bus.ErrInvalidConfig) {
				t.Errorf("got %v, want no ErrInvalidConfig: another machine may have it", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
			_, err = bus.NewSender(open, memory.New(), bus.SenderConfig{
				Sending: bus.Sending{
					PageBytes: test.cfg.PageBytes, QueueBytes: test.cfg.QueueBytes, PoolBytes: test.cfg.PoolBytes,
					CacheMessages: test.cfg.CacheMessages, CacheBytes: test.cfg.CacheBytes,
				},
			})
			if !errors.Is(err, netio.ErrNoMemory) {
				t.Errorf("sender: got %v, want ErrNoMemory", err)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// comes makes the storage answer: the directory writes what it was told meanwhile.
func (d *stubborn) comes() error {
	d.fail(nil)
	d.mu.Lock()
	late := d.late
	d.mu.Unlock()
	if late == nil {
		return nil
	}
	return late()
}

// The storage is behind the link that goes: the loss of the address cannot be announced, and
// the directory keeps it to write it later. The same address comes back before the storage
// does.
func TestPublisher_anAddressComesBackBeforeTheStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		m := b.member()
		dir, host := &stubborn{Directory: memory.New()}, newAddresses("10.1.0.1", "127.0.0.1")
		cfg := bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: everywhere}, Common: bus.Common{OnEvent: m.note}}
		bus.SetPublisherHost(&cfg, host)
		p, err := bus.NewPublisher(b.net.Opener(m.loop, memnet.Config{}), dir, cfg)
		must(t, err)
		defer m.loop.Close()
		dir.fail(errors.New("no route to the storage"))
		host.set("127.0.0.1")
		time.Sleep(time.Second)
		host.set("10.1.0.1", "127.0.0.1")
		time.Sleep(time.Second)
		must(t, dir.comes())
		time.Sleep(time.Minute)
		if got := announced(t, dir); got != "[10.1.0.1:7000 127.0.0.1:7000] invalid AddrPort" {
			t.Errorf("got %s, want the address that the host has", got)
		}
		must(t, p.AddTags(tags.Of(2)))
		if got := announced(t, dir); got != "[10.1.0.1:7000 127.0.0.1:7000] invalid AddrPort" {
			t.Errorf("after AddTags: got %s, want the address that the host has", got)
		}
		if told := m.of(bus.Announced); len(told) != 0 {
			t.Errorf("got the events %v, want none: what others see is as before", told)
		}
		must(t, p.Close())
	})
}

package bus

import (
	"net/netip"
	"testing"

	"tagbus/bus/directory/memory"
	"tagbus/netio/memnet"
	"tagbus/tags"
)

// A publisher whose last new tag has made the map of its tags grow looks each of
// them up once, as soon as the loop has had some turns.
func TestAPublishersMapOfTagsIsMovedWithoutFurtherTags(t *testing.T) {
	loop := memnet.NewLoop()
	t.Cleanup(loop.Close)
	host := netip.MustParseAddr("10.0.0.1")
	p, err := NewPublisher(memnet.New().Opener(loop, memnet.Config{Host: host}), memory.New(),
		PublisherConfig{Tags: tags.Everything(), Listen: netip.AddrPortFrom(host, 0)})
	must(t, err)
	defer func() { must(t, p.Close()) }()
	moving := func() bool {
		p.fan.mu.Lock()
		defer p.fan.mu.Unlock()
		return p.fan.tags.Moving()
	}
	loop.Freeze()
	for tag := tags.Tag(0); !moving(); tag++ {
		must(t, p.Publish(tag, nil))
	}
	loop.Thaw()
	for turns := 0; moving(); turns++ {
		if turns == 10 {
			t.Fatal("got a map that is still being moved after 10 turns of the loop")
		}
		loop.Do(func() {})
	}
}

// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

// signedBy is a directory that shows the signer of an entry, as package signed does.
type signedBy struct {
	directory.Directory
	signer string
}

func (s signedBy) Announce(e directory.Entry) (directory.Registration, error) {
	e.Signer = s.signer
	return s.Directory.Announce(e)
}

const open = `{"rules":[{"who": "*", "publish": "*", "subscribe": "*", "send": "*", "receive": "*"}, {"who": "anonymous", "publish": "*"}]}`

// wantSignerError fails the test unless a member was told that another peer answers.
func (m *member) wantSignerError(t *testing.T, instance, text string) {
	t.Helper()
	e := m.wantRefused(t, text)
	wrong := (*bus.SignerError)(nil)
	if !errors.As(e.Err, &wrong) || !errors.Is(e.Err, bus.ErrWrongSigner) || wrong.Instance != instance {
		t.Errorf("got %v, want a SignerError about %s", e.Err, instance)
	}
}

// TestAccess_anotherPeerAnswersThanTheSigner than the one that has signed the entry.
func TestAccess_anotherPeerAnswersThanTheSigner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(open)
		wrong, wrongMember := b.openPublisher(signedBy{b.dir, "cn:q"}, bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Access: x.as("cn:p")}})
		right, _ := b.openPublisher(signedBy{b.dir, "cn:p"}, bus.PublisherConfig{Tags: tags.Of(2), Common: bus.Common{Access: x.as("cn:p")}})
		x.as("")
		plain, _ := b.openPublisher(signedBy{b.dir, "cn:p"}, bus.PublisherConfig{Tags: tags.Of(3)})
		got := newCollector()
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:s")}})
		_, err := s.Subscribe(tags.Of(1, 2, 3), got.handle)
		must(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		for tag, p := range map[tags.Tag]*bus.Publisher{1: wrong, 2: right, 3: plain} {
			must(t, p.Publish(tag, []byte("x")))
			p.Flush()
		}
		synctest.Wait()
		for tag, want := range map[tags.Tag]int{1: 0, 2: 1, 3: 1} {
			if n := len(got.data[tag]); n != want {
				t.Errorf("got %d messages of tag %v, want %d", n, tag, want)
			}
		}
		s.wantSignerError(t, wrong.Instance(), "the entry of "+wrong.Instance()+" was signed by cn:q, and cn:p answers")
		if n := len(wrongMember.of(bus.Connected)); n != 0 {
			t.Errorf("got %d connections at the publisher, want none: it is told nothing", n)
		}
		if n := len(s.of(bus.Refused)); n != 1 {
			t.Errorf("got %d refusals, want 1 for all tries", n)
		}
	})
}

// TestAccess_anotherReceiverAnswersASender a sender.
func TestAccess_anotherReceiverAnswersASender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(open)
		x.as("cn:r")
		m := b.member()
		defer m.loop.Close()
		r, err := bus.NewReceiver(b.opener(m), signedBy{b.dir, "cn:q"}, bus.ReceiverConfig{Tags: tags.Of(2), Listening: bus.Listening{Listen: anyPort(m.host)}},
			func(m bus.Message) { t.Errorf("got %v, want nothing", m) })
		must(t, err)
		defer func() { must(t, r.Close()) }()
		s := b.sender(bus.SenderConfig{Common: bus.Common{Name: "s", Access: x.as("cn:s")}})
		if err := s.Send(2, []byte("x")); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("got %v, want ErrNoReceiver", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		s.wantSignerError(t, r.Instance(), "was signed by cn:q, and cn:r answers")
		if err := s.Send(2, []byte("x")); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("got %v, want ErrNoReceiver", err)
		}
	})
}

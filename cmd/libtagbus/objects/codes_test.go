// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/cmd/libtagbus/objects"
	"tagbus/internal/testkit"
)

func TestCodesOfErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		want objects.Code
	}{
		{nil, objects.OK},
		{bus.ErrClosed, objects.Closed},
		{fmt.Errorf("x: %w", bus.ErrOnLoop), objects.WouldDeadlock},
		{bus.ErrNoResources, objects.NoRoom},
		{&bus.PublishError{Err: bus.ErrUnknownTag}, objects.UnknownTag},
		{&bus.PublishError{Err: bus.ErrMessageTooLarge}, objects.TooLarge},
		{&bus.PublishError{Err: fmt.Errorf("%w: %w", bus.ErrNoReceiver, context.DeadlineExceeded)}, objects.NoReceiver},
		{&bus.PublishError{Err: context.DeadlineExceeded}, objects.Timeout},
		{&bus.AckError{Err: context.DeadlineExceeded}, objects.Unacked},
		{&bus.NoReplyError{Err: context.DeadlineExceeded}, objects.NoReply},
		{&bus.NoPublisherError{}, objects.NoPublisher},
		{&bus.NoPublisherError{Err: bus.ErrPolicyRefused}, objects.Denied},
		{&bus.AccessError{}, objects.Denied},
		{bus.ErrRetainLimit, objects.Limit},
		{bus.ErrSubscriberBytes, objects.Limit},
		{bus.ErrTooManySubscribers, objects.Limit},
		{fmt.Errorf("refused: %w", &bus.SizeError{}), objects.TooLarge}, // for ever: TAGBUS_ESYSTEM may pass
		{bus.ErrUndelivered, objects.Undelivered},
		{bus.PublisherConfig{}.Validate(), objects.Invalid},
		{os.ErrNotExist, objects.System},
		{errors.Join(&objects.Error{Code: objects.Load}), objects.Load},
	} {
		if got := objects.CodeOf(test.err); got != test.want {
			t.Errorf("%v: got %d, want %d", test.err, got, test.want)
		}
	}
}

// TestTextsAreInTheWordsOfOptions: a program in C has no fields and no goroutines.
func TestTextsAreInTheWordsOfOptions(t *testing.T) {
	ofGo := regexp.MustCompile(`\b[A-Z][a-z]+[A-Z]\w*|goroutine|\bnil\b`)
	for _, err := range []error{
		bus.ErrOnLoop, bus.ErrHasHandler, bus.ErrNotBatches, bus.ErrRetainLimit, bus.ErrDuplicate, bus.ErrTooSlow, bus.ErrPublisherMemory, bus.ErrQueueFull,
		bus.ErrEventsDropped, bus.ErrSubscriberBytes, bus.ErrPolicyRefused, bus.ErrNoReceiver, bus.ErrTooManyRequests, &bus.EventsDroppedError{Events: 3},
		bus.PublisherConfig{Sending: bus.Sending{QueueBytes: 1, PoolBytes: 1, PageBytes: 1, MaxMessageBytes: 1, CacheMessages: -1, CacheBytes: 1}}.Validate(),
	} {
		for name, text := range map[string]string{
			"error": objects.TextOf(err), "event": objects.Describe(bus.Event{Kind: bus.Problem, Err: err}).Text, "cause": objects.Describe(bus.Event{Kind: bus.Gap, Err: err}).Cause,
		} {
			if found := ofGo.FindString(text); found != "" {
				t.Errorf("%s has %q: %s", name, found, text)
			}
		}
	}
}

// TestCodesAreThoseOfTheHeader compares with tagbus.h, and the kinds of events, too.
func TestCodesAreThoseOfTheHeader(t *testing.T) {
	header, err := os.ReadFile(filepath.Join("..", "..", "..", "bindings", "c", "tagbus.h"))
	testkit.Must(t, err)
	found := make(map[string]int)
	for _, m := range regexp.MustCompile(`(?m)^\tTAGBUS_(\w+) = (-?\d+)`).FindAllSubmatch(header, -1) {
		n, err := strconv.Atoi(string(m[2]))
		testkit.Must(t, err)
		found[string(m[1])] = n
	}
	codes := map[string]objects.Code{
		"OK": objects.OK, "EINVAL": objects.Invalid, "ECLOSED": objects.Closed, "ETIMEOUT": objects.Timeout, "ENOROOM": objects.NoRoom,
		"EUNKNOWNTAG": objects.UnknownTag, "ETOOLARGE": objects.TooLarge, "ENORECEIVER": objects.NoReceiver, "EDENIED": objects.Denied,
		"EFORKED": objects.Forked, "EWOULDDEADLOCK": objects.WouldDeadlock, "ELOAD": objects.Load, "ELIMIT": objects.Limit, "END": objects.End,
		"EUNDELIVERED": objects.Undelivered, "EUNACKED": objects.Unacked, "ENOREPLY": objects.NoReply, "ESYSTEM": objects.System,
		"EINTERNAL": objects.Internal, "ENOPUBLISHER": objects.NoPublisher,
	}
	for name, code := range codes {
		if got, ok := found[name]; !ok || got != int(code) {
			t.Errorf("TAGBUS_%s: got %d, want %d", name, got, code)
		}
		delete(found, name)
	}
	for k := bus.Connected; k <= bus.Announced; k++ {
		name := strings.ToUpper(k.String())
		if got, ok := found[name]; !ok || got != int(k) {
			t.Errorf("TAGBUS_%s: got %d, want %d", name, got, k)
		}
		delete(found, name)
	}
	if len(found) > 0 {
		t.Errorf("the header has others: %v", found)
	}
}

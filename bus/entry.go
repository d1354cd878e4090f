// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"net/netip"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/announce"
	"tagbus/bus/internal/tagset"
	"tagbus/internal/sanitize"
	"tagbus/internal/validate"
	"tagbus/subscription"
	"tagbus/tags"
)

// EntryLimitError says that a set of tags has more ranges or masks than a directory
// entry may have. The limits are those of a subscription: a reader of the entry works
// with the set as a publisher does with a subscription. It is an ErrEntryTooLarge.
type EntryLimitError struct {
	Instance, Name string // of the entry; empty for one's own
	Ranges, Masks  int    // that it has
}

// Error names the entry, the numbers and their limits.
func (e *EntryLimitError) Error() string {
	of := ""
	if e.Instance != "" {
		of = sanitize.Linef(" of %s (%s)", e.Name, e.Instance) // in full: it names the file of the entry
	}
	return fmt.Sprintf("%v%s: %d ranges and %d masks, limits %d together and %d masks: use ranges instead of single tags and masks",
		ErrEntryTooLarge, of, e.Ranges, e.Masks, subscription.MaxParts, subscription.MaxMasks)
}

// Unwrap returns ErrEntryTooLarge.
func (*EntryLimitError) Unwrap() error { return ErrEntryTooLarge }

// checkEntry refuses a set that is too large for a directory entry.
//
// Errors: *EntryLimitError.
func checkEntry(set tags.Set) error { return entryLimit(directory.Entry{Tags: set}) }

// entryLimit returns why an entry of the directory is too large, or nil.
//
// Errors: *EntryLimitError.
func entryLimit(e directory.Entry) error {
	if tagset.Fits(e.Tags) {
		return nil
	}
	masks := tagset.Masks(e.Tags)
	return &EntryLimitError{Instance: e.Instance, Name: e.Name, Ranges: e.Tags.Parts() - masks, Masks: masks}
}

// AdvertiseError says what is wrong with PublisherConfig.Advertise or
// ReceiverConfig.Advertise. It is an ErrInvalidConfig.
type AdvertiseError struct {
	Addr   netip.AddrPort // that cannot be announced; the zero value: it is about all of them
	Reason string         // and what to announce instead
}

// Error names the address and the reason.
func (e *AdvertiseError) Error() string {
	if !e.Addr.Addr().IsValid() {
		return sanitize.Linef("%v: Advertise: %s", ErrInvalidConfig, e.Reason)
	}
	return sanitize.Linef("%v: Advertise: %v %s", ErrInvalidConfig, e.Addr, e.Reason)
}

// Unwrap returns ErrInvalidConfig.
func (*AdvertiseError) Unwrap() error { return ErrInvalidConfig }

// WayError is the cause of a Problem event of a publisher or a receiver that is not reached by one
// of its backends. Peers reach it by the others.
type WayError struct {
	Backend string
	Err     error // why
}

// Error names the backend and the reason.
func (e *WayError) Error() string {
	return sanitize.Linef("bus: no peer connects by %s, and all use other transports: %v", e.Backend, e.Err)
}

// Unwrap returns the reason.
func (e *WayError) Unwrap() error { return e.Err }

// checkAdvertise adds what is wrong with the addresses to be announced.
func checkAdvertise(v *validate.Violations, addresses []netip.AddrPort) {
	for _, fault := range advertise.Check(addresses) {
		v.Join((*AdvertiseError)(&fault))
	}
}

// AddressLimitError is the cause of a Problem event of a publisher or a receiver that
// announces all addresses of a host with more of them than an entry names.
type AddressLimitError struct {
	Has   int // addresses of the host that others may dial
	Named int // that the entry has: the first of each network first
}

// Error says how many there are, and what to do.
func (e *AddressLimitError) Error() string { return announce.LeftOut(*e).Text() }

// AddressGoneError is the cause of a Problem event of a publisher or a receiver whose address, of
// Listen or Advertise, was one of this host and is no more. The event comes once, and once more
// when the host has it again. In between no program connects by that address.
type AddressGoneError struct {
	Addr   netip.AddrPort
	Over   bool          // the host has it again
	Lasted time.Duration // if Over: for how long it had not
}

// Error names the address, and what to do.
func (e *AddressGoneError) Error() string { return announce.Gone(*e).Text() }

// entryEvent returns the event of what has become of the entry of this side.
func entryEvent(news announce.News) Event {
	switch news := news.(type) {
	case announce.Moved:
		return Event{Kind: Announced, Addresses: news.Addresses}
	case announce.LeftOut:
		return Event{Kind: Problem, Err: (*AddressLimitError)(&news)}
	case announce.Gone:
		return Event{Kind: Problem, Err: (*AddressGoneError)(&news)}
	case announce.Failing:
		return Event{Kind: Problem, Err: (*EntryError)(&news)}
	}
	panic(fmt.Sprintf("bus: news of an entry of a type that is not known: %T", news))
}

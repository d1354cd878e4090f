// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tagbus/tags"
)

// Limits of an Entry, checked by Validate.
const (
	MaxInstanceBytes = 64        // length of Entry.Instance
	MaxTextBytes     = 255       // length of Entry.Name, Host and Backend
	MaxAddresses     = 64        // number of Entry.Addresses, and of those of a Way
	MaxWays          = 8         // number of Entry.Ways
	MaxProofBytes    = 16 << 10  // length of Entry.Proof
	MaxWaysProof     = 2 << 10   // length of Entry.WaysProof
	MaxSizeBytes     = 1<<30 - 1 // largest PageBytes and MaxMessageBytes: sizes have 30 bits in a page
	maxZoneBytes     = 200       // length of the zone of an address: a network interface's name, or the address on a fabric that has others than IP
	shownBytes       = 80        // how much of a refused value an error shows
)

// Role is what the program of an Entry does with its tags. Roles that a program
// does not know are kept as they are, and none of its business.
type Role string

// The roles.
const (
	Publisher Role = ""         // it publishes them: subscribers dial it
	Receiver  Role = "receiver" // it receives what is sent to them: senders dial it

	Subscriber Role = "subscriber" // it subscribes to them: a client, see ClientsOf
	Sender     Role = "sender"     // it sends them: a client
)

// IsClient reports whether an entry of the role is about a client: a program that dials, and
// that no other program has to find.
func (r Role) IsClient() bool { return r == Subscriber || r == Sender }

// Entry is what a publisher, a receiver or a client says of itself. The zero value is not
// valid. It may be copied; the copies share Addresses, Ways, Proof and WaysProof.
type Entry struct {
	Instance        string           // id of the publisher, from nuid: unique per process start; 1..64 letters, digits, - and _
	Name            string           // what people call the publisher; may be empty; at most 255 bytes of printable text
	Host            string           // host name, for people; may be empty; at most 255 bytes of printable text
	PID             int              // process id on Host, for people; 0 if unknown
	Backend         string           // what to dial with at Addresses: "tcp", "rdma:verbs"; 1..255 bytes of printable text without blanks; of a client, all that it has, with commas between them
	Addresses       []netip.AddrPort // where to dial, in order of preference; 1..64, each specified, unicast and with a port; of a client, none
	Ways            []Way            // other ways to dial, by other backends, the best first; at most 8; programs that know of none dial Addresses
	Mirror          string           // id of the tagbus mirror that has copied the entry from another directory, as an Instance; "" where the program itself has announced it
	Role            Role             // zero for a publisher; at most 255 bytes of printable text without blanks
	Tags            tags.Set         // what the publisher serves or the receiver takes, or some of what a client wants; may be empty
	PageBytes       int              // page that the publisher sends, bytes: sizes the buffers of subscribers; at a receiver, the most that it takes at once; 1..1<<30-1; of a client, 0
	MaxMessageBytes int              // largest message that the publisher sends or the receiver takes, bytes; 1..1<<30-1; of a client, 0
	Since           time.Time        // by the publisher's clock, when it announced what was last added to Tags; 1970..2262, or zero if unknown
	Monitor         netip.AddrPort   // where its process serves metrics and its state by HTTP; zero if it does not, otherwise as one of Addresses
	Proof           []byte           // what shows which process announced the entry, as package signed writes it; at most 16 KiB; may be empty
	WaysProof       []byte           // the same for Ways, of which programs that do not know them verify nothing; at most 2 KiB; may be empty
	Signer          string           // the principal that the Proof is of, once package signed has verified it; never stored, and "" in what is announced
}

// Way is how to dial a publisher or a receiver by one backend.
type Way struct {
	Backend   string           `json:"backend"`   // as Entry.Backend, and another one
	Addresses []netip.AddrPort `json:"addresses"` // as Entry.Addresses; of a backend within the host they are names there
}

// AllWays returns how to dial e: its Ways, and its Backend with its Addresses as the last one.
func (e Entry) AllWays() []Way {
	return append(slices.Clip(e.Ways), Way{e.Backend, e.Addresses})
}

// Validate returns nil if e may be announced.
//
//   - Errors: one *FieldError for each violation, joined; each matches
//     ErrInvalidEntry.
func (e Entry) Validate() error {
	var errs []error
	refuse := func(field, value, reason string) {
		errs = append(errs, &FieldError{Field: field, Value: value, Reason: reason})
	}
	if !ValidInstance(e.Instance) {
		refuse("Instance", shown(e.Instance), "must be 1 to 64 letters, digits, - and _, such as nuid.Next() gives")
	}
	if e.Mirror != "" && !ValidInstance(e.Mirror) {
		refuse("Mirror", shown(e.Mirror), "must be empty, or 1 to 64 letters, digits, - and _, such as nuid.Next() gives")
	}
	for _, text := range []struct{ field, value string }{{"Name", e.Name}, {"Host", e.Host}} {
		if !printable(text.value) {
			refuse(text.field, shown(text.value), "must be at most 255 bytes of printable UTF-8")
		}
	}
	if !printable(string(e.Role)) || hasBlank(string(e.Role)) {
		refuse("Role", shown(string(e.Role)), "must be at most 255 bytes of printable UTF-8 without blanks")
	}
	if len(e.Proof) > MaxProofBytes {
		refuse("Proof", fmt.Sprintf("(%d bytes)", len(e.Proof)), "must be at most 16384 bytes")
	}
	if len(e.WaysProof) > MaxWaysProof {
		refuse("WaysProof", fmt.Sprintf("(%d bytes)", len(e.WaysProof)), "must be at most 2048 bytes")
	}
	if e.PID < 0 {
		refuse("PID", strconv.Itoa(e.PID), "must not be negative; 0 stands for unknown")
	}
	least, addresses, sizes := 1, "must be 1 to 64 addresses", "must be 1 to 1073741823 bytes"
	if e.Role.IsClient() { // nothing dials it
		least, addresses, sizes = 0, "must be at most 64 addresses", "must be at most 1073741823 bytes"
	}
	Way{e.Backend, e.Addresses}.validate("", least, addresses, refuse)
	e.validateWays(refuse)
	for _, size := range []struct {
		field string
		value int
	}{{"PageBytes", e.PageBytes}, {"MaxMessageBytes", e.MaxMessageBytes}} {
		if size.value < least || size.value > MaxSizeBytes {
			refuse(size.field, strconv.Itoa(size.value), sizes)
		}
	}
	if e.Monitor != (netip.AddrPort{}) {
		if reason := Undialable(e.Monitor); reason != "" {
			refuse("Monitor", shown(e.Monitor.String()), reason)
		}
	}
	if y := e.Since.UTC().Year(); !e.Since.IsZero() && (y < 1970 || y >= 2262) {
		refuse("Since", e.Since.String(), "must be in 1970 to 2262, or zero if unknown")
	}
	return errors.Join(errs...)
}

// validateWays refuses what the ways besides Backend must not be.
func (e Entry) validateWays(refuse func(field, value, reason string)) {
	if n := len(e.Ways); n > MaxWays {
		refuse("Ways", fmt.Sprintf("(%d ways)", n), "must be at most 8 ways")
		return
	}
	for i, way := range e.Ways {
		way.validate(fmt.Sprintf("Ways[%d].", i), 1, "must be 1 to 64 addresses", refuse)
		if others := e.AllWays()[i+1:]; slices.ContainsFunc(others, func(w Way) bool { return w.Backend == way.Backend }) {
			refuse(fmt.Sprintf("Ways[%d].Backend", i), shown(way.Backend), "stands twice; a backend has one way, with all addresses")
		}
	}
}

// validate refuses what a way must not have.
//
//   - prefix: of the names of its fields.
//   - least: so many addresses, otherwise number says what is wrong.
func (w Way) validate(prefix string, least int, number string, refuse func(field, value, reason string)) {
	if w.Backend == "" || !printable(w.Backend) || hasBlank(w.Backend) {
		refuse(prefix+"Backend", shown(w.Backend), "must be 1 to 255 bytes of printable UTF-8 without blanks, such as tcp")
	}
	if n := len(w.Addresses); n < least || n > MaxAddresses {
		refuse(prefix+"Addresses", fmt.Sprintf("(%d addresses)", n), number)
		return
	}
	for i, address := range w.Addresses {
		if reason := Undialable(address); reason != "" {
			refuse(fmt.Sprintf("%sAddresses[%d]", prefix, i), shown(address.String()), reason)
		}
	}
}

// equal reports whether both say the same.
func (w Way) equal(other Way) bool {
	return w.Backend == other.Backend && slices.Equal(w.Addresses, other.Addresses)
}

// ValidateUpdate returns nil if the announced entry of instance may be replaced
// by e. It is for implementations of Directory.
//
//   - Errors: *FieldError joined, as Validate.
func ValidateUpdate(instance string, e Entry) error {
	err := e.Validate()
	if e.Instance != instance {
		err = errors.Join(err, &FieldError{
			Field: "Instance", Value: shown(e.Instance),
			Reason: "cannot change from " + shown(instance) + " by an update; withdraw and announce instead",
		})
	}
	return err
}

// Equal reports whether e and other say the same, the order of addresses
// included.
func (e Entry) Equal(other Entry) bool {
	return e.Instance == other.Instance && e.Name == other.Name && e.Host == other.Host &&
		e.PID == other.PID && e.Mirror == other.Mirror && e.Role == other.Role && e.Backend == other.Backend &&
		slices.Equal(e.Addresses, other.Addresses) && slices.EqualFunc(e.Ways, other.Ways, Way.equal) && e.Tags.Equal(other.Tags) &&
		e.PageBytes == other.PageBytes && e.MaxMessageBytes == other.MaxMessageBytes && e.Since.Equal(other.Since) &&
		e.Monitor == other.Monitor && bytes.Equal(e.Proof, other.Proof) && bytes.Equal(e.WaysProof, other.WaysProof) && e.Signer == other.Signer
}

// Clone returns a copy that shares nothing that can be changed.
func (e Entry) Clone() Entry {
	e.Addresses, e.Ways = slices.Clone(e.Addresses), slices.Clone(e.Ways)
	for i := range e.Ways {
		e.Ways[i].Addresses = slices.Clone(e.Ways[i].Addresses)
	}
	e.Proof, e.WaysProof = slices.Clone(e.Proof), slices.Clone(e.WaysProof)
	return e
}

// ValidInstance reports whether s can be the Instance of an Entry: 1 to 64
// letters, digits, - and _ of ASCII, so that it is a file name, a path element
// and a word of a log everywhere.
func ValidInstance(s string) bool {
	if len(s) == 0 || len(s) > MaxInstanceBytes {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// Undialable returns why no program could dial address, or "".
func Undialable(address netip.AddrPort) string {
	ip := address.Addr()
	switch {
	case !address.IsValid():
		return "is no address"
	case address.Port() == 0:
		return "has no port; announce the port that the listen endpoint got"
	case ip.IsUnspecified():
		return "cannot be dialled; announce the addresses of this host's interfaces"
	case ip.IsMulticast(), ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "must be unicast"
	case len(ip.Zone()) > maxZoneBytes || !printable(ip.Zone()):
		return "has a zone that is too long or cannot be printed"
	}
	return ""
}

// printable reports whether s is short and safe to print on a terminal: entries
// come from strangers, and an escape sequence in a name must not reach one.
func printable(s string) bool {
	if len(s) > MaxTextBytes || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

func hasBlank(s string) bool { return strings.ContainsFunc(s, unicode.IsSpace) }

// shown quotes s for an error, shortened.
func shown(s string) string {
	if len(s) > shownBytes {
		return strconv.Quote(s[:shownBytes]) + "..."
	}
	return strconv.Quote(s)
}

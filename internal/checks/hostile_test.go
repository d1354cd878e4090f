// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"tagbus/acl"
	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/directory/signed"
	"tagbus/bus/observer"
	"tagbus/identity"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/recording"
	"tagbus/subscription"
	"tagbus/tags"
)

// hostile is what a stranger may call itself: it clears the screen, forges a line,
// turns the direction of the text, and is no UTF-8.
const hostile = "x\x1b[2J\nsubscriber: all is well\r\x00\u202e\u2066\u0085\u2028\x9b\xff\x7f"

// shownErrors has one of each exported error type of the packages that users
// import.
var shownErrors = []error{
	&acl.PolicyError{},
	&bus.PublishError{}, &bus.RowError{}, &bus.AckError{}, &bus.NoReplyError{}, &bus.DuplicateError{}, &bus.NoPublisherError{},
	&bus.UnconfirmedError{}, &bus.SilentError{}, &bus.StallError{}, &bus.OwnStallError{}, &bus.PageError{}, &bus.BackendError{}, &bus.PanicError{}, &bus.EntryError{}, &bus.SizeError{},
	&bus.EntryLimitError{}, &bus.AdvertiseError{}, &bus.AddressLimitError{}, &bus.AddressGoneError{}, &bus.WayError{}, &bus.EventsDroppedError{}, &bus.PeerFailedError{}, &bus.LoopbackError{}, &bus.AccessError{}, &bus.SignerError{},
	&directory.FieldError{}, &directory.UnknownSchemeError{}, &file.PathError{}, &observer.VersionError{},
	&signed.RefusedError{}, &identity.NameError{}, &identity.ChainError{}, &identity.FileError{},
	&subscription.VersionError{}, &subscription.ControlError{},
	&netio.OpError{}, &netio.ViaError{},
	&reactor.Panic{}, &reactor.OpError{}, &reactor.ConfigError{}, &reactor.GoexitError{},
	&recording.DamageError{},
	&tags.FieldError{}, &tags.ParseError{}, &tags.DecodeError{},
}

// TestTheTextOfErrorsIsSafeToShow: whatever the fields of an error hold, its text
// is one line of printable characters.
func TestTheTextOfErrorsIsSafeToShow(t *testing.T) {
	inRoot(t)
	known := make(map[string]bool)
	for _, zero := range shownErrors {
		kind := reflect.TypeOf(zero).Elem()
		known[strings.TrimPrefix(kind.PkgPath(), "tagbus/")+"."+kind.Name()] = true
		for _, cause := range hostileCauses() {
			for _, number := range []int64{0, 1} { // some say other things if a number is 0
				value := reflect.New(kind)
				fill(value.Elem(), cause, number)
				wantSafe(t, fmt.Sprintf("%v", kind), value.Interface().(error).Error())
			}
		}
	}
	for _, name := range exportedErrors(t) {
		if !known[name] {
			t.Errorf("%s is not in shownErrors: add it", name)
		}
	}
}

// TestTheTextOfEventsIsSafeToShow: of all kinds, the unknown ones too.
func TestTheTextOfEventsIsSafeToShow(t *testing.T) {
	inRoot(t)
	kinds := 0
	for kind := bus.EventKind(0); kind <= bus.EventKind(kinds)+1; kind++ {
		if kind > 0 && !strings.HasPrefix(kind.String(), "event ") {
			kinds++
		}
		for _, cause := range append(hostileCauses(), shownErrors...) {
			if value := reflect.ValueOf(cause); value.Kind() == reflect.Pointer && value.Type().Elem().Kind() == reflect.Struct && value.Elem().IsZero() {
				full := reflect.New(value.Type().Elem())
				fill(full.Elem(), errors.New(hostile), 1)
				cause = full.Interface().(error)
			}
			var e bus.Event
			fill(reflect.ValueOf(&e).Elem(), cause, 1)
			e.Kind = kind
			wantSafe(t, kind.String(), e.String())
			wantSafe(t, "the peer", e.Peer.String())
		}
	}
	if kinds < 13 {
		t.Errorf("got %d kinds of events, want all", kinds)
	}
	for kind := directory.EventKind(0); kind <= directory.Problem+1; kind++ {
		var e directory.Event
		fill(reflect.ValueOf(&e).Elem(), errors.New(hostile), 1)
		e.Kind = kind
		wantSafe(t, "directory: "+kind.String(), e.String())
	}
}

// hostileCauses returns what an error may wrap: none, each sentinel after which a
// text depends, a joined one.
func hostileCauses() []error {
	causes := []error{nil, errors.New(hostile), errors.Join(errors.New(hostile), errors.New("another"))}
	for _, sentinel := range []error{bus.ErrMessageTooLarge, bus.ErrUnknownTag, bus.ErrNoReceiver, file.ErrUnwritable, netio.ErrClosed} {
		causes = append(causes, fmt.Errorf("%s: %w", hostile, sentinel))
	}
	return causes
}

// fill gives all that is exported in a value a hostile content.
func fill(v reflect.Value, cause error, number int64) {
	switch v.Interface().(type) {
	case netip.AddrPort:
		v.Set(reflect.ValueOf(netip.AddrPortFrom(netip.MustParseAddr("fe80::1").WithZone(hostile), 80)))
		return
	case tags.Set:
		v.Set(reflect.ValueOf(tags.Of(1)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Int, reflect.Int64:
		v.SetInt(number)
	case reflect.Bool:
		v.SetBool(number != 0)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(hostile))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), cause, number)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), cause, number)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), cause, number)
			}
		}
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(hostile))
			return
		}
		if cause != nil { // else it is to be shown without
			v.Set(reflect.ValueOf(cause))
		}
	default: // numbers without a sign: they say nothing by being large
	}
}

func wantSafe(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s: got %q, want UTF-8", what, text)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			t.Errorf("%s: got %q, want no %U in it", what, text, r)
			return
		}
	}
}

// exportedErrors returns the exported types with a method Error of the packages
// that users import, as path.Type.
func exportedErrors(t *testing.T) (names []string) {
	t.Helper()
	module := os.DirFS(".")
	err := fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, own := fs.Stat(module, path.Join(name, "go.mod"))
			switch base := entry.Name(); {
			case name == ".":
			case own == nil, slices.Contains(notOurs, name), base == "internal", base == "testdata", base == "netiotest", name == "cmd", name == "examples", strings.HasPrefix(base, "."):
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Error" || len(f.Type.Params.List) > 0 {
				continue
			}
			receiver := f.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			if id, ok := receiver.(*ast.Ident); ok && id.IsExported() {
				names = append(names, path.Dir(name)+"."+id.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

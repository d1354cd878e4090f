// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	// ErrUnknownScheme is returned by Open for a URL of a kind of directory that the
	// program does not have. Its text names the programs and the package that have it.
	ErrUnknownScheme = errors.New("directory: this program does not have this kind of directory")

	// ErrInvalidURL is returned by Open for a URL that makes no sense.
	ErrInvalidURL = errors.New("directory: invalid URL")
)

// folderScheme is that of URLs of folders, which may be named by their paths, too.
const folderScheme = "file"

// Opened is a directory with what belongs to the process that has opened it.
type Opened interface {
	Directory

	// Close withdraws what was announced through it, stops all watchers, which are not
	// told Gone, and lets go of everything. Idempotent.
	//
	//   - Errors: the storage's, when an entry could not be withdrawn.
	//   - Blocks: for the storage, a bounded time.
	Close() error
}

// Settings are what all kinds of directories understand. The zero value has the defaults.
type Settings struct {
	// Expiry is how long an instance may give no sign of life before its entry is gone.
	// Default: that of the kind.
	Expiry time.Duration

	// Logger gets what is worth a line and no Problem. Default: slog.Default().
	Logger *slog.Logger
}

// Opener opens the directory that a URL names.
//
//   - url: with its scheme. It need not be as net/url takes it: several hosts may stand
//     where one does.
//   - Errors: ErrInvalidURL, wrapped, and those of the kind. Servers that are away are
//     no error.
type Opener func(url string, settings Settings) (Opened, error)

// openers are the kinds of directories of this program, by scheme.
var openers = struct {
	sync.Mutex
	of map[string]Opener
}{of: make(map[string]Opener)}

// Register makes a kind of directory known to Open. A package calls it when it is
// initialized, so that a program has what it imports.
//
//   - scheme: of its URLs, in lower case. It panics if another has it: two packages of
//     one program cannot both have it.
//   - Threads: any.
func Register(scheme string, open Opener) {
	openers.Lock()
	defer openers.Unlock()
	if _, taken := openers.of[scheme]; taken || scheme == folderScheme || scheme == "" {
		panic(fmt.Sprintf("directory: Register: the scheme %q is taken", scheme))
	}
	openers.of[scheme] = open
}

// Schemes returns the schemes that Open knows, in order. Threads: any.
func Schemes() []string {
	openers.Lock()
	defer openers.Unlock()
	schemes := make([]string, 0, len(openers.of))
	for scheme := range openers.of {
		schemes = append(schemes, scheme)
	}
	slices.Sort(schemes)
	return schemes
}

// Open opens the directory that a URL names, of a kind that was registered. For a folder
// see Folder: package file opens it.
//
//   - Errors: ErrUnknownScheme, *UnknownSchemeError; those of the Opener.
//   - Threads: any. Blocks: as the Opener does.
func Open(url string, settings Settings) (Opened, error) {
	scheme := Scheme(url)
	openers.Lock()
	open := openers.of[scheme]
	openers.Unlock()
	if open == nil {
		return nil, &UnknownSchemeError{Scheme: scheme, URL: url}
	}
	return open(url, settings)
}

// Scheme returns the scheme of a URL, in lower case, and "" for the path of a folder: what
// has no "://", and no "file:" in front, is a path.
func Scheme(bus string) string {
	scheme, _, found := strings.Cut(bus, ":")
	scheme = strings.ToLower(scheme)
	switch {
	case !found || !isScheme(scheme):
		return ""
	case scheme == folderScheme, strings.HasPrefix(bus[len(scheme):], "://"):
		return scheme
	}
	return ""
}

// isScheme reports whether s, in lower case, can be a scheme: RFC 3986, section 3.1.
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// Folder returns the path of the folder that bus names, as a path or as a URL with the
// scheme file, and reports whether it names one.
//
//   - Errors: ErrInvalidURL, wrapped, for a URL of a folder that makes no sense.
func Folder(bus string) (path string, ok bool, err error) {
	switch Scheme(bus) {
	case "":
		return bus, true, nil
	case folderScheme:
	default:
		return "", false, nil
	}
	u, err := url.Parse(bus)
	switch {
	case err != nil:
		return "", true, fmt.Errorf("%w: %w", ErrInvalidURL, err)
	case u.Host != "" && u.Host != "localhost":
		return "", true, fmt.Errorf("%w: %s names the host %q: want file:///path, the path of a folder as this host sees it", ErrInvalidURL, shown(bus), u.Host)
	case u.Opaque != "":
		path, err = url.PathUnescape(u.Opaque) // file:some/path
	default:
		path = u.Path
	}
	if err != nil || path == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", true, fmt.Errorf("%w: %s: want file:///path, the path of a folder and nothing behind it", ErrInvalidURL, shown(bus))
	}
	return path, true, nil
}

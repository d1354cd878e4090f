// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"tagbus/bus/directory"
)

// errUser is what is wrong with a URL that has a user in it. Neither is shown.
var errUser = errors.New("the URL has a user in it, whose password all users of the host would see: leave USER:PASSWORD@ out")

// CheckBus reports what is wrong with a value of --bus: the path of a folder, or a URL.
// What is wrong with the rest of a URL is known when it is opened; see NameBus.
//
//   - Errors: directory.ErrInvalidURL and directory.ErrUnknownScheme, wrapped, with the
//     name of the flag.
func CheckBus(bus string) error {
	_, isFolder, err := directory.Folder(bus)
	scheme := directory.Scheme(bus)
	switch {
	case err != nil || isFolder:
	case hasUser(bus):
		err = fmt.Errorf("%w: %w", directory.ErrInvalidURL, errUser)
	case !slices.Contains(directory.Schemes(), scheme):
		err = &directory.UnknownSchemeError{Scheme: scheme, URL: bus}
	}
	return NameBus(err)
}

// hasUser reports whether a URL has a user in front of its hosts.
func hasUser(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	hosts, _, _ := strings.Cut(rest, "/")
	return strings.Contains(hosts, "@")
}

// NameBus adds the name of the flag to an error about the URL of a bus.
func NameBus(err error) error {
	if errors.Is(err, directory.ErrInvalidURL) || errors.Is(err, directory.ErrUnknownScheme) {
		return fmt.Errorf("--bus: %w", err)
	}
	return err
}

// BusUser is implemented by Flags with a bus.
type BusUser interface {
	// BusOf returns the bus that the program looks for when it runs a command, nil if it
	// has none; "" if it looks for none.
	BusOf(command any) string
}

// checkBus checks the bus of a command line. If the program lacks its kind of directory, and
// another program beside it has it, that one runs instead, and checkBus does not return.
func checkBus(p Program, flags Flags, read *kong.Context) error {
	user, ok := flags.(BusUser)
	if !ok {
		return nil
	}
	err := CheckBus(user.BusOf(selected(read)))
	if lacks := (*directory.UnknownSchemeError)(nil); errors.As(err, &lacks) {
		return bySystem.handOver(p, lacks)
	}
	return err
}

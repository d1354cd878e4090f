// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

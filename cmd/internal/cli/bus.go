// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"

	"github.com/alecthomas/kong"

	"tagbus/bus/directory"
	"tagbus/cmd/internal/options"
)

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
	err := options.CheckBus(user.BusOf(selected(read)))
	if lacks := (*directory.UnknownSchemeError)(nil); errors.As(err, &lacks) {
		return bySystem.handOver(p, lacks)
	}
	return err
}

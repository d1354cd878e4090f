// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"strconv"

	"tagbus/bus"
)

// Status is the status of every message.
type Status bus.Status

// UnmarshalText reads a number as Go writes it, for example 3 or 0x03.
func (s *Status) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 8)
	if err != nil {
		return fmt.Errorf("%q is no status: want 0 to 255, for example 3 or 0x03", text)
	}
	*s = Status(n)
	return nil
}

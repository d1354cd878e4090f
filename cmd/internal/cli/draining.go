// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"tagbus/bus"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
)

// maxDraining is how many subscribers Draining names.
const maxDraining = 3

// Draining says what the Drain of a publisher waits for now.
//
//   - directory: as --bus has it.
func Draining(st bus.PublisherStats, directory string) string {
	switch late := st.Subscribers; { // those that have all of it have left
	case len(late) > 0:
		var names []string
		for _, s := range late[:min(len(late), maxDraining)] {
			names = append(names, s.Peer.String())
		}
		if more := len(late) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("%d others", more))
		}
		return fmt.Sprintf("%s to take what is left: %s", units.FormatNumber(len(late), "subscriber"), strings.Join(names, ", "))
	case st.Awaited > 0:
		return units.FormatNumber(st.Awaited, "lost subscriber") + " to come back"
	default:
		return "the directory, to take the entry of this program out of " + sanitize.Text(directory)
	}
}

// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text returns the survey for people: tables and sentences.
func (s Survey) Text() string {
	var b strings.Builder
	s.writeFabrics(&b)
	s.writeDevices(&b)
	fmt.Fprintf(&b, "\nmemory that may be locked: %s\n", bytesText(s.MemlockBytes))
	if len(s.Problems) == 0 {
		fmt.Fprintf(&b, "nothing is missing\n")
		return b.String()
	}
	fmt.Fprintf(&b, "\nmissing:\n")
	for _, p := range s.Problems {
		fmt.Fprintf(&b, "- %s\n", p)
	}
	return b.String()
}

// writeFabrics writes a table of the fabrics, with their names as a backend if they have
// one.
func (s Survey) writeFabrics(b *strings.Builder) {
	if s.Libfabric == "" {
		fmt.Fprintf(b, "libfabric: not built in\n")
	} else {
		fmt.Fprintf(b, "libfabric %s\n", s.Libfabric)
	}
	fmt.Fprintf(b, "\n")
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "backend\tdomain\tlink\tendpoints\tlargest message\tshared receive\taddresses\n")
	fmt.Fprintf(table, "tcp\tany\t-\tconnected\t2 GiB\tyes\tany\n")
	for _, f := range s.Fabrics {
		name := "none (" + f.Provider + ")"
		if f.Usable {
			name = "rdma:" + f.Provider
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, f.Domain, f.link(), kindsText(f.Kinds),
			bytesText(f.MaxMessageBytes), yesNo(f.SharedReceive), addressesText(f))
	}
	_ = table.Flush() // a strings.Builder takes everything
}

func (s Survey) writeDevices(b *strings.Builder) {
	if len(s.Devices) == 0 {
		return
	}
	fmt.Fprintf(b, "\n")
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "device\tport\tstate\trate\n")
	for _, d := range s.Devices {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", d.Name, d.Port, d.State, d.Rate)
	}
	_ = table.Flush()
}

// link returns "100 Gbit/s", "down" or "?".
func (f Fabric) link() string {
	switch {
	case f.Down:
		return "down"
	case f.BitsPerSecond == 0:
		return "?"
	case f.BitsPerSecond < 1e9:
		return fmt.Sprintf("%g Mbit/s", float64(f.BitsPerSecond)/1e6)
	default:
		return fmt.Sprintf("%g Gbit/s", float64(f.BitsPerSecond)/1e9)
	}
}

// kindsText returns the kinds of endpoints in the words of the documents.
func kindsText(kinds []string) string {
	var words []string
	for _, k := range kinds {
		switch k {
		case "FI_EP_MSG":
			words = append(words, "connected")
		case "FI_EP_RDM":
			words = append(words, "connectionless")
		case "FI_EP_DGRAM":
			words = append(words, "datagram")
		}
	}
	return orDash(strings.Join(words, ", "))
}

func addressesText(f Fabric) string {
	var all []string
	for _, a := range f.Addresses {
		all = append(all, a.String())
	}
	return orDash(strings.Join(all, " "))
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func yesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}

// bytesText returns a size, rounded down to a unit.
func bytesText(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	switch {
	case n == Unlimited || n >= 1<<62: // some providers say so instead
		return "unlimited"
	case n == 0:
		return "none"
	}
	i := 0
	for ; i < len(units)-1 && n >= 1<<10; i++ {
		n >>= 10
	}
	return fmt.Sprintf("%d %s", n, units[i])
}

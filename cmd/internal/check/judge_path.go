// SPDX-License-Identifier: Apache-2.0

package check

// judgePath says which connections carry small messages only.
func judgePath(s *seen) []Finding {
	f := &findings{group: "path"}
	carried := 0
	for _, e := range s.living() {
		switch {
		case e.second.state == nil || e.local():
		case e.small:
			f.of(&e.Entry, Error, "mtu", "find the largest packet that passes by ping -M do -s 1472 and less; correct the MTU of the interfaces, or let routers and firewalls pass ICMP \"fragmentation needed\"",
				"it answers small questions, and not one of %d KiB, or one for much: the network between drops large packets (MTU)", largeQuestion>>10)
		default:
			carried++
		}
	}
	if carried > 0 {
		f.ok(s.bus, "messages of %d KiB reach %s of other hosts", largeQuestion>>10, count(carried, "instance", "instances"))
	}
	return f.sorted()
}

// local reports whether the address that works first leads to this host, where packets have no
// limit to be found.
func (e *entrySeen) local() bool {
	way := e.way()
	return way == nil || way.local
}

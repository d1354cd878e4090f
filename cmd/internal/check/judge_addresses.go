// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/observer"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/node"
)

// slowGreeting is what a dial and a hello take at most where nothing is wrong.
const slowGreeting = time.Second

// judgeAddresses says which entries cannot be reached from this host, and why.
func judgeAddresses(s *seen) []Finding {
	f := &findings{group: "addresses"}
	if errors.Is(s.backend, syscall.EMFILE) || errors.Is(s.backend, syscall.ENFILE) {
		f.add(Error, "backend-unusable", s.us.backend, "raise it: LimitNOFILE= of the service, or ulimit -n", "the limit of open files of this command is too low for it, so no entry was dialed: %v", s.backend)
		return f.all
	}
	if s.backend != nil {
		f.add(Error, "backend-unusable", s.us.backend, "give the --backend of the bus, in a program that has it, on a host that has its devices",
			"this host cannot use it, so no entry was dialed: %v", s.backend)
		return f.all
	}
	if !s.asked {
		return nil
	}
	reached, slowest := 0, time.Duration(0)
	living := s.living()
	outward := false // an entry is meant for other hosts
	for _, e := range living {
		outward = outward || !onlyLoopback(&e.Entry)
	}
	for _, e := range living {
		f.reach(s, e, outward)
		if e.reached() {
			reached++
		}
		for _, g := range e.greets {
			if g.err == nil {
				slowest = max(slowest, g.Took)
			}
		}
	}
	if len(living) > 0 {
		f.ok(s.bus, "%s at every address, in %v at most", count(reached, "entry answers", "entries answer"), short(slowest))
	}
	return f.sorted()
}

// reach says what is wrong with the addresses of an entry.
func (f *findings) reach(s *seen, e *entrySeen, outward bool) {
	for _, g := range e.greets {
		if differs := (*bus.BackendError)(nil); errors.As(g.err, &differs) {
			f.of(&e.Entry, Error, "backend-differs", backendDo(differs),
				"it speaks %s, and this command %s: programs of the one do not connect to those of the other", differs.Theirs, differs.Ours)
			return
		}
	}
	foreign := onlyLoopback(&e.Entry) && s.us.elsewhere(&e.Entry)
	switch {
	case foreign && e.reached():
		f.of(&e.Entry, Warning, "loopback-address", listenDo(&e.Entry),
			"it is on host %s and announces only %v; this host, %s, reaches that because both share a network, and no other host does",
			e.Entry.Host, e.Entry.Addresses[0], s.us.host)
	case foreign:
		f.of(&e.Entry, Error, "loopback-address", listenDo(&e.Entry),
			"it is on host %s and announces only %v, which leads each host to itself: only programs of its own host reach it", e.Entry.Host, e.Entry.Addresses[0])
		return
	case onlyLoopback(&e.Entry) && outward:
		f.of(&e.Entry, Warning, "loopback-only", listenDo(&e.Entry),
			"it announces only %v, and others of this bus are there for more hosts: only programs of this host reach it", e.Entry.Addresses[0])
	}
	for _, g := range e.greets {
		if g.done {
			f.greet(s, e, g)
		}
	}
}

// secure reports whether a program with these backends has certificates.
func secure(backends string) bool { return slices.Contains(strings.Split(backends, ","), "tls") }

// backendDo is what to do about two backends that differ. No flag is called as the one with
// certificates.
func backendDo(e *bus.BackendError) string {
	switch {
	case secure(e.Theirs):
		return "give this command --cert, --key and --ca, as that program has them: the backend tls is tcp with certificates"
	case secure(e.Ours):
		return "start that program with --cert, --key and --ca, as this command has them; or leave them out here, if no program of the bus has some"
	default:
		return "let both have a transport in common: --backend auto, or the same list"
	}
}

// listenDo is what to do about a program that announces loopback.
func listenDo(e *directory.Entry) string {
	return "start this " + string(overview.RoleOf(e)) + " with --listen at an address that the other hosts reach, or with --advertise; if it has --listen 0.0.0.0, its host has no address now that others reach: look after its network"
}

// greet says what is wrong with one address.
func (f *findings) greet(s *seen, e *entrySeen, g greetSeen) {
	if g.right(&e.Entry) {
		if g.Took > slowGreeting {
			f.of(&e.Entry, Warning, "address-slow", "look at the network, and whether its host is overloaded",
				"%v says hello after %v only: connections begin late", g.addr, short(g.Took))
			f.differs(g.addr.String())
		}
		return
	}
	if g.addr.Addr().Unmap().IsLoopback() && s.us.elsewhere(&e.Entry) {
		return // of another host: it is there for programs of that one
	}
	level, means := Error, "programs of this host cannot connect to it"
	if e.reached() {
		level, means = Warning, "programs of this host connect later, by another address"
	}
	r := reasonOf(&g)
	if why, do := e.process.trouble(); why != "" {
		r.text, r.do = r.text+", as "+why, do
	}
	if g.err != nil && g.Connected == 0 && !g.local && s.us.host != "" && e.Entry.Host == s.us.host {
		r = reason{
			"address-gone", "is no address of this host, on which the program runs, and " + r.text,
			"give the host the address again, or start the program with --listen 0.0.0.0, which follows what the host has; or correct --advertise",
		}
	}
	f.of(&e.Entry, level, r.id, r.do, "%v %s: %s", g.addr, r.text, means)
	f.differs(g.addr.String())
}

// reason is why an address does not serve.
type reason struct{ id, text, do string }

// reasonOf explains what came of a greeting, if it is not what was wanted.
func reasonOf(g *greetSeen) reason {
	const release = "use one release of publishers and subscribers"
	switch {
	case g.err != nil:
		return reasonFor(g.err, g.Connected > 0)
	case g.Protocol != observer.ProtocolVersion:
		return reason{"address-other-protocol", fmt.Sprintf("speaks version %d of the protocol, and this release %d", g.Protocol, observer.ProtocolVersion), release}
	default:
		return reason{
			"address-other-instance",
			"is now that of another instance, " + sanitize.Text(cmp.Or(g.Name, g.Instance)), "remove the entry if its program has ended; or correct --advertise",
		}
	}
}

// reasonFor explains an error of a dial, or of what came after it.
func reasonFor(err error, connected bool) reason {
	isAny := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
	}
	switch {
	case isAny(node.ErrCertificateRefused):
		return reason{"certificate-refused", "does not take the certificate of this command: " + handshakeText(err), "give --cert a certificate that is valid, of a CA of that program; its log says what is wrong with this one"}
	case isAny(node.ErrHandshake):
		return reason{"address-insecure", "is not let in: " + handshakeText(err), "give --ca the CA of that program, and let it have a valid certificate; both ends use one --backend"}
	case isAny(syscall.ECONNREFUSED):
		return reason{"address-refused", "refuses connections", "look whether the program runs, and correct its --advertise if it has one"}
	case isAny(syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EHOSTDOWN):
		return reason{"address-unreachable", "cannot be reached: " + cause(err).Error(), "look after its host and the routes to it; or let it announce an address of the network that carries the data"}
	case isAny(syscall.EINVAL, syscall.EADDRNOTAVAIL, netio.ErrInvalidAddress):
		return reason{"address-undialable", "cannot be dialed: " + cause(err).Error(), "let it announce addresses that other hosts can dial, by --advertise"}
	case isTimeout(err):
		return reason{"address-timeout", "does not answer", "look whether its host is up, and whether a firewall drops what is sent there"}
	case isAny(io.EOF, syscall.ECONNRESET):
		return reason{"address-closes", "closes connections without a hello", "look whether the program is just ending, and that it is one of tagbus"}
	case connected && isAny(observer.ErrNotTagbus) && !isAny(netio.ErrMessageLength, netio.ErrTruncated):
		return reason{"address-silent", "takes connections and says nothing", "look whether the program is stopped (SIGSTOP, a debugger) or overloaded, and that it is one of tagbus"}
	case isAny(observer.ErrNotTagbus):
		return reason{"address-other-protocol", "is that of something else than tagbus", "look which program listens there; correct --advertise"}
	default:
		return reason{"address-failed", "fails: " + err.Error(), "look at the log of the program"}
	}
}

// handshakeText returns what is wrong between two certificates.
func handshakeText(err error) string {
	text := err.Error()
	for _, known := range []error{node.ErrHandshake, node.ErrCertificateRefused} {
		if _, rest, found := strings.Cut(text, known.Error()+": "); found {
			text = rest
		}
	}
	return text
}

// isTimeout reports whether an error means that nothing came in time.
func isTimeout(err error) bool {
	return errors.Is(err, netio.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT) ||
		errors.Is(err, observer.ErrTimeout)
}

// isLocal reports whether an address leads to this host.
func isLocal(a netip.Addr, own map[netip.Addr]bool) bool {
	a = a.Unmap().WithZone("")
	return a.IsLoopback() || own[a]
}

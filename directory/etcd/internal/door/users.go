// SPDX-License-Identifier: Apache-2.0

package door

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// tables are where the kernel lists connections, with the users of the processes that made them.
var tables = []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"}

// established is the state of a connection, as the tables have it. In no other one is it certain
// that the line is about the connection that this process has the other end of.
const established = "01"

// userOf returns the user whose process has the other end of a connection on this host.
//
//   - from, to: the addresses of the connection; from is the other end.
//   - ok: false if the kernel does not say, as when the other end was closed.
func userOf(from, to netip.AddrPort) (uid int, ok bool) {
	for _, table := range tables {
		file, err := os.Open(table)
		if err != nil {
			continue
		}
		uid, ok = userIn(file, from, to)
		_ = file.Close()
		if ok {
			return uid, true
		}
	}
	return 0, false
}

// userIn is userOf for one table.
func userIn(table io.Reader, from, to netip.AddrPort) (uid int, ok bool) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		const local, remote, state, user = 1, 2, 3, 7
		words := strings.Fields(lines.Text())
		if len(words) <= user || words[state] != established || endOf(words[local]) != from || endOf(words[remote]) != to {
			continue
		}
		uid, err := strconv.Atoi(words[user])
		return uid, err == nil
	}
	return 0, false
}

// endOf returns an address as the tables write it: 32 bits at a time in the order of the
// machine, a colon, and the port. The zero value: it is none.
func endOf(text string) netip.AddrPort {
	address, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	bytes, hexErr := hex.DecodeString(address)
	if err != nil || hexErr != nil || len(bytes)%4 != 0 {
		return netip.AddrPort{}
	}
	for i := 0; i < len(bytes); i += 4 {
		binary.NativeEndian.PutUint32(bytes[i:], binary.BigEndian.Uint32(bytes[i:]))
	}
	at, _ := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(at.Unmap(), uint16(n))
}

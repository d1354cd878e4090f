// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/binary"
	"net"
)

// Command is the publisher of a yardstick whose subscriber does all the work: it tells it
// to begin, and reports how many messages it says.
func Command() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(err)
	Listening(listener.Addr().String())
	conn, err := listener.Accept()
	Must(err)
	AwaitGo()
	result := PubResult{StartNS: Now()}
	_, err = conn.Write([]byte{0})
	Must(err)
	Must(binary.Read(conn, binary.LittleEndian, &result.Sent))
	result.EndNS = Now()
	result.Report()
	AwaitQuit()
}

// Commanded is the side of the subscriber: it returns when the publisher says so. Call the
// result with how many messages there were.
func Commanded(o Options) (done func(messages uint64)) {
	conn, err := net.Dial("tcp", o.Addr)
	Must(err)
	Ready()
	_, err = conn.Read(make([]byte, 1))
	Must(err)
	return func(messages uint64) { Must(binary.Write(conn, binary.LittleEndian, messages)) }
}

package netiotest

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutineID returns the number of the calling goroutine. The runtime shows
// it only in stack traces; reading it there takes about a microsecond, which a
// test can afford to learn whether it is on the loop.
func goroutineID() uint64 {
	var mem [64]byte
	line := mem[:runtime.Stack(mem[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	digits, _, _ := bytes.Cut(line, []byte(" "))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		panic("netiotest: the runtime's stack traces have a new form: " + string(mem[:]))
	}
	return id
}

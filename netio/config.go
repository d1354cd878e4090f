// SPDX-License-Identifier: Apache-2.0

package netio

import (
	"fmt"

	"tagbus/internal/validate"
)

// Mode is the kind of network under a backend.
//
// Source: netio3 NetworkMode.
type Mode int

// Modes.
const (
	ModeDefault Mode = iota // that for which the backend was made
	ModeTCP
	ModeRDMA
)

// String returns "default", "TCP" or "RDMA".
func (m Mode) String() string { return name(int(m), "mode", "default", "TCP", "RDMA") }

// ThreadSafety says from where the methods of a backend, its listen endpoints,
// its endpoints and their buffers may be called.
//
// Source: netio3 ThreadSafetyModel.
type ThreadSafety int

// Thread-safety models.
const (
	// Safe allows every goroutine.
	Safe ThreadSafety = iota

	// Unsafe allows only the loop, or, while that does not run, one goroutine
	// at a time. It saves the locks. Backend.Name, Loop, Stats and Close may
	// still be called from everywhere. A build with the tag invariants panics
	// when it sees a call from elsewhere; without the tag the backend is
	// corrupted.
	Unsafe
)

// String returns "safe" or "unsafe".
func (s ThreadSafety) String() string { return name(int(s), "thread safety", "safe", "unsafe") }

// name returns the name of value i of a kind.
func name(i int, kind string, names ...string) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("%s %d", kind, i)
	}
	return names[i]
}

// SharedBuffers is a fixed number of buffers that many endpoints share, so that
// memory does not grow with their number. One that is busy can keep the others
// waiting. The zero value means that nothing is shared.
type SharedBuffers struct {
	// Buffers is how many there are, up to 2^20. 0: none, and BufferBytes is
	// ignored.
	Buffers int

	// BufferBytes is the size of each, 1 to 2^31-1. Default 1 MiB for receive
	// buffers, 64 KiB for send buffers.
	BufferBytes int
}

// Enabled reports whether there are shared buffers.
func (s SharedBuffers) Enabled() bool { return s.Buffers != 0 }

// Config holds the settings of every backend. The zero value is a backend that
// any goroutine may call and that shares nothing.
//
// Source: netio3 NetworkConfig.
type Config struct {
	// Mode asks for a kind of network. netio/tcp uses TCP whatever it says;
	// netio/rdma uses it to choose a provider.
	Mode Mode

	// ThreadSafety says on which goroutines calls are allowed. Default: any.
	ThreadSafety ThreadSafety

	// SharedReceive are receive buffers for all endpoints of the backend. With
	// them Params must not ask for receive buffers, nor for messages that are
	// larger than a buffer.
	SharedReceive SharedBuffers

	// SharedSend are send buffers for all endpoints of the backend. With them
	// every endpoint sends buffered, and Params must not ask for send buffers.
	SharedSend SharedBuffers
}

// maxSharedBuffers is the largest number of buffers of one pool.
const maxSharedBuffers = 1 << 20

// WithDefaults returns c with every zero field replaced by its default.
func (c Config) WithDefaults() Config {
	validate.Default(&c.SharedReceive.BufferBytes, defaultMaxMessageBytes)
	validate.Default(&c.SharedSend.BufferBytes, defaultBufferBytes)
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c Config) Validate() error {
	c = c.WithDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	validate.Within(&v, "Mode", int(c.Mode), int(ModeDefault), int(ModeRDMA))
	validate.Within(&v, "ThreadSafety", int(c.ThreadSafety), int(Safe), int(Unsafe))
	shared := func(field string, s SharedBuffers) {
		if s.Enabled() {
			validate.Within(&v, field+".Buffers", s.Buffers, 1, maxSharedBuffers)
			validate.Within(&v, field+".BufferBytes", s.BufferBytes, 1, maxMessageBytesLimit)
		}
	}
	shared("SharedReceive", c.SharedReceive)
	shared("SharedSend", c.SharedSend)
	return v.Err()
}

// ListenParams returns p, with defaults, for a listen endpoint of a backend
// with this configuration.
//
// Errors: all violations of p and all conflicts with c, joined; each wraps
// ErrInvalidParams.
//
// Source: netio3 InvalidConnectionParameters.
func (c Config) ListenParams(p Params) (Params, error) {
	return c.endpointParams(p, &validate.Violations{Kind: ErrInvalidParams})
}

// EndpointParams is ListenParams for an endpoint that is to be opened.
func (c Config) EndpointParams(p Params) (Params, error) {
	v := &validate.Violations{Kind: ErrInvalidParams}
	if p.Receive.Shared {
		v.Add("Receive.Shared is true for an endpoint to be opened, want false: only those that a listen endpoint accepts can share")
	}
	return c.endpointParams(p, v)
}

func (c Config) endpointParams(p Params, v *validate.Violations) (Params, error) {
	c = c.WithDefaults()
	if c.SharedReceive.Enabled() {
		if p.Receive.Buffers != 0 || p.Receive.Shared {
			v.Add("Receive.Buffers is %d and Receive.Shared is %t, want 0 and false: the backend shares its receive buffers between all endpoints",
				p.Receive.Buffers, p.Receive.Shared)
		}
		if p.Receive.MaxMessageBytes == 0 {
			p.Receive.MaxMessageBytes = c.SharedReceive.BufferBytes
		}
		if p.Receive.MaxMessageBytes > c.SharedReceive.BufferBytes {
			v.Add("Receive.MaxMessageBytes is %d, want at most %d: so large are the receive buffers that the backend shares",
				p.Receive.MaxMessageBytes, c.SharedReceive.BufferBytes)
		}
	}
	if c.SharedSend.Enabled() && p.Buffered != (BufferedParams{}) {
		v.Add("Buffered is %+v, want none: the backend shares its send buffers between all endpoints", p.Buffered)
	}
	v.Join(p.Validate())
	return p.WithDefaults(), v.Err()
}

// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"fmt"
	"net/netip"

	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

// Opener returns an opener of RDMA backends on loop, which need not run yet. A
// backend is closed before its loop is.
//
// The errors of the opener: those of Config.Validate; ErrNoDevice, wrapped, if
// libfabric has nothing for the provider, or not the device, or that has no address; the system's if a descriptor cannot be
// made. The first call in a process takes some 100 ms: libfabric looks for
// devices.
func Opener(loop *reactor.EventLoop, cfg Config) netio.Opener {
	return func(h netio.Handler) (netio.Backend, error) {
		cfg, at, info, err := prepare(cfg)
		if err != nil {
			return nil, err
		}
		defer info.Free()
		return open(loop, cfg, at, h, info, &siblings{})
	}
}

// prepare returns cfg with its defaults, where its backend listens and dials from, and what the provider
// has, which is to be freed. Errors: as of the opener.
func prepare(cfg Config) (_ Config, at place, info *fi.Info, err error) {
	if err = cfg.Validate(); err != nil {
		return cfg, at, nil, err
	}
	cfg = cfg.withDefaults()
	if info, err = offer(cfg); err != nil {
		return cfg, at, nil, noDevice(err, cfg.Provider, "any address")
	}
	if at, err = findPlace(cfg, info); err != nil {
		info.Free()
		return cfg, at, nil, err
	}
	return cfg, at, info, nil
}

// offer returns what the provider has: endpoints with connections if it has them,
// unless the others are asked for. Errors: *fi.Error.
func offer(cfg Config) (*fi.Info, error) {
	if !cfg.Connectionless {
		info, err := fi.GetInfo(fi.Hints{Provider: cfg.Provider})
		if !errors.Is(err, fi.ENODATA) {
			return info, err
		}
	}
	return fi.GetInfo(fi.Hints{RDM: true, Provider: cfg.Provider})
}

// noDevice says what it means that libfabric offers nothing.
func noDevice(err error, provider string, where any) error {
	if errors.Is(err, fi.ENODATA) {
		return fmt.Errorf("%w of libfabric's provider %s for %v: see docs/rdma.md", ErrNoDevice, provider, where)
	}
	return err
}

// noDevice is the same for a backend, which may have one device only.
func (b *backend) noDevice(err error, addr netip.AddrPort) error {
	if b.place.name == "" {
		return noDevice(err, b.config.Provider, addr)
	}
	return noDevice(err, b.config.Provider, fmt.Sprintf("%v by the device %q", addr, b.place.name))
}

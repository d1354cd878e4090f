// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"fmt"
	"net/netip"

	"tagbus/netio/rdma/internal/fi"
)

// offered returns libfabric's version and all that it offers, with one kind of
// endpoint and at most one address each. Errors: *fi.Error.
func offered() (version string, all []Fabric, err error) {
	major, minor := fi.Version()
	version = fmt.Sprintf("%d.%d", major, minor)
	list, err := fi.List()
	if errors.Is(err, fi.ENODATA) {
		return version, nil, nil
	}
	if err != nil {
		return version, nil, err
	}
	defer list.Free()
	ofVerbs := verbsAddresses()
	for i := range list.All() {
		f := Fabric{
			Provider: i.Provider(), Domain: i.Domain(),
			MaxMessageBytes: i.Limits().MessageBytes, SharedReceive: i.SharesReceives() && !i.IsIWARP(),
		}
		if kind := i.EPType(); kind != "" {
			f.Kinds = []string{kind}
			f.Usable = (kind == fi.EPMsg || kind == fi.EPRDM && !i.NeedsContext()) && (Config{Provider: f.Provider}).Validate() == nil
			f.SharedReceive = f.SharedReceive || kind == fi.EPRDM && f.Usable // through a hub they always do
		}
		if addr := i.LocalAddr(); addr.IsValid() {
			f.Addresses = []netip.Addr{addr.Addr()}
		}
		if own, ok := ofVerbs[f.Domain]; ok && f.Provider == ProviderVerbs {
			f.Addresses = own
		}
		speed, up, known := i.Link()
		f.BitsPerSecond, f.Down = speed, known && !up
		all = append(all, f)
	}
	return version, all, nil
}

// verbsAddresses returns the addresses of the devices of verbs.
func verbsAddresses() map[string][]netip.Addr {
	offers, err := fi.GetInfo(fi.Hints{Provider: ProviderVerbs})
	if err != nil {
		return nil // there are none
	}
	defer offers.Free()
	return domains(ProviderVerbs, offers)
}

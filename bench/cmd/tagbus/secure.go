// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"

	"tagbus/access"
	"tagbus/bench/internal/certs"
	"tagbus/bench/internal/load"
	"tagbus/identity"
)

// policy lets each process of a measurement do everything.
const policy = `{"rules":[{"who":"` + certs.Name + `","publish":"*","subscribe":"*","describe":"*"}]}`

// secured returns certificates and a policy, which the publisher has made.
func secured(o load.Options) *access.Access {
	file := filepath.Join(os.TempDir(), "policy.json")
	if o.Role == load.RolePub {
		load.Must(certs.Make())
		load.Must(os.WriteFile(file, []byte(policy), 0o600))
	}
	at := certs.Files()
	a, err := access.Open(access.Config{
		Identity: identity.Config{Certificate: at.Certificate, Key: at.Key, CA: at.CA}, Policy: file,
	})
	load.Must(err)
	return a
}

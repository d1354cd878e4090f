// SPDX-License-Identifier: Apache-2.0

// Package cert is the command tagbus cert, with which a site without a PKI makes its
// certificates.
//
// A folder has a CA: ca.pem is its certificate, which all processes get, ca.key its private key,
// which stays where it is, ca.crl the list of what it has revoked, and issued/ a copy of each
// certificate that it has issued, by serial number. Keys are ECDSA P-256, their files have mode
// 600, and a file is either there as a whole or not at all.
package cert

import (
	"time"
)

// Commands are those of tagbus cert.
type Commands struct {
	Init   Init   `cmd:"" help:"Make a CA: a certificate that all processes of a site get, and the private key with which others are issued."`
	Issue  Issue  `cmd:"" help:"Issue a certificate and a private key for a process."`
	Show   Show   `cmd:"" help:"Show what is in files of certificates, keys and lists of revoked certificates."`
	Check  Check  `cmd:"" help:"Say when certificates and lists end. Ends with status 1 if one ends soon, or is not as it should be."`
	Revoke Revoke `cmd:"" help:"Revoke certificates: write the list of all that are revoked, which processes get as they get the CA."`
}

// backdated is how long before it is made a certificate is valid, for hosts whose clocks are late.
const backdated = 5 * time.Minute

const day = 24 * time.Hour

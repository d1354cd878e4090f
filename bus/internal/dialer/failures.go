// SPDX-License-Identifier: Apache-2.0

package dialer

import (
	"errors"
	"fmt"
	"strings"

	"tagbus/netio"
)

// failures are the errors of a try. A host may have 64 addresses, of which none answers for one
// and the same cause: that is one line.
type failures struct{ all []Failure }

// namedAddresses is how many addresses are named of more that failed for one cause. Up to as many
// have a line each.
const namedAddresses = 3

// Unwrap returns all errors.
func (fs *failures) Unwrap() []error {
	errs := make([]error, len(fs.all))
	for i, f := range fs.all {
		errs[i] = f.Err
	}
	return errs
}

// Error returns a line for each error, or for each cause that many have.
func (fs *failures) Error() string {
	of := make(map[string][]Target)
	for _, f := range fs.all {
		of[f.cause()] = append(of[f.cause()], f.Target)
	}
	var lines []string
	for _, f := range fs.all {
		cause := f.cause()
		same := of[cause]
		switch {
		case len(same) <= namedAddresses:
			lines = append(lines, f.Err.Error())
		case f.Target != same[0]: // it has its line
		case strings.Contains(cause, anyAddress):
			lines = append(lines, strings.Replace(cause, anyAddress, few(same), 1))
		default:
			lines = append(lines, few(same)+": "+cause)
		}
	}
	return strings.Join(lines, "\n")
}

// anyAddress stands for the address in a cause.
const anyAddress = "\x00"

// elsewhere reports whether the peer is on another host.
func (f Failure) elsewhere() bool { return errors.Is(f.Err, netio.ErrElsewhere) }

// cause returns the text of an error without its address.
func (f *Failure) cause() string {
	return strings.ReplaceAll(f.Err.Error(), f.String(), anyAddress)
}

// few names the first addresses, and how many more there are.
func few(all []Target) string {
	var b strings.Builder
	for _, addr := range all[:namedAddresses] {
		fmt.Fprintf(&b, "%v, ", addr)
	}
	return fmt.Sprintf("%s and %d more", strings.TrimSuffix(b.String(), ", "), len(all)-namedAddresses)
}

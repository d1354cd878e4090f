// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tagbus/internal/sanitize"
)

// Prefix is what the text of each refusal begins with, so that it differs from those of etcd.
const Prefix = "tagbus-directory: "

// errNotEnabled is what etcd says while its own authentication is off.
var errNotEnabled = rpctypes.ErrGRPCAuthNotEnabled

// noRule is why a caller is refused that the policy lets do nothing.
const noRule = "no rule of the policy lets it announce anything"

// refuse returns the error for a request that a caller may not make.
//
//   - why: what is missing, and what gives the right.
func (g *Guard) refuse(caller Caller, method, why string) error {
	who := "a stranger"
	if caller != nil {
		who = caller.String()
	}
	return status.Error(codes.PermissionDenied, Prefix+sanitize.Line(who+" may not call "+strings.TrimPrefix(method, "/")+" as it did: "+why))
}

// tell tells of a refusal, and returns it.
func (g *Guard) tell(err error) error {
	if g.Refused != nil && status.Code(err) == codes.PermissionDenied {
		g.Refused(status.Convert(err).Message())
	}
	return err
}

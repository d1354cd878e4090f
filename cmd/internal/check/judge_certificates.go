// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"time"

	"tagbus/access"
	"tagbus/acl"
	"tagbus/identity"
)

// soon is how long before its end a certificate is warned about.
const soon = 30 * 24 * time.Hour

// shownRights is how much of a set of tags is shown.
const shownRights = 100

// selfSeen is what the certificate and the policy of this command say of it.
type selfSeen struct {
	name  string        // as peers know it
	label string        // of the certificate; empty: it has none
	ends  time.Duration // from now
	at    time.Time     // of that end
	wrong error         // why peers with the same files would not take it
	rules int           // of the policy; 0: there is none, or it has none
	may   []string      // what it may do, in words
	named bool          // there is a policy
}

// lookAtSelf returns what files say of this command.
func lookAtSelf(a *access.Access, now time.Time) *selfSeen {
	s := &selfSeen{name: a.Self().String()}
	if id := a.Identity(); id != nil {
		own := id.Certificate()
		s.label, s.at, s.ends = identity.Label(own), own.NotAfter, own.NotAfter.Sub(now)
		_, s.wrong = a.Identify(id.Chain())
	}
	if p := a.Policy(); p != nil {
		s.named, s.rules = true, p.Rules()
		for _, action := range acl.Actions() {
			set := p.Allowed(a.Self(), action)
			if set.IsEmpty() {
				continue
			}
			text, all := set.Short(shownRights)
			if !all {
				text += ", …"
			}
			s.may = append(s.may, action.With(text))
		}
	}
	return s
}

// judgeCertificates says as which peer this command is known, when that ends, and what the
// policy that it was given lets it do.
func judgeCertificates(s *seen) []Finding {
	if s.self == nil {
		return nil
	}
	f := &findings{group: "certificates"}
	self := s.self
	const renew = "issue another one, for example with tagbus cert issue --force"
	switch {
	case self.label == "":
		f.add(Note, "anonymous", "this command", "give --cert and --ca, if it is to be known", "it has no certificate: peers see it as anonymous")
	case self.ends <= 0:
		f.add(Error, "certificate-expired", self.name, renew, "the certificate of this command ended at %s: peers refuse it", self.at.UTC().Format(time.RFC3339))
	case self.wrong != nil:
		f.add(Error, "certificate-unusable", self.name, "issue another one, of a CA in the file of --ca", "peers with the same files do not take it: %v", self.wrong)
	case self.ends < soon:
		f.add(Warning, "certificate-ends", self.name, renew, "the certificate of this command ends in %s, at %s", days(self.ends), self.at.UTC().Format(time.RFC3339))
	default:
		f.add(OK, "certificates", self.name, "", "this is what peers know this command as; its certificate is good for %s", days(self.ends))
	}
	switch {
	case !self.named:
	case len(self.may) == 0:
		f.add(Note, "no-rights", self.name, "add a rule for it", "none of the %d rules of --acl lets it do anything", self.rules)
	default:
		f.add(OK, "rights", self.name, "", "the policy of --acl lets it %s", strings.Join(self.may, "; "))
	}
	return f.sorted()
}

// days says a long time.
func days(d time.Duration) string {
	if d < 48*time.Hour {
		return short(d).String()
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

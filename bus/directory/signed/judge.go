// SPDX-License-Identifier: Apache-2.0

package signed

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/identity"
	"tagbus/tags"
)

// known is an entry of the directory that was wrapped.
type known struct {
	entry directory.Entry // as it is stored
	made  time.Time       // its proof
	peer  *identity.Peer  // the signer; nil: none has signed it
	err   error           // why not
	ways  error           // why its ways are not shown, or nil
}

// verify returns which peer has signed an entry, as far as that does not depend on the time.
// The lock is held.
func (d *Directory) verify(e directory.Entry) *known {
	k := &known{entry: e}
	if len(e.Proof) == 0 {
		k.err = ErrUnsigned
		return k
	}
	p, err := parseProof(e.Proof)
	if err != nil {
		k.err = err
		return k
	}
	peer, err := d.signer(p)
	if err == nil {
		err = p.check(peer.Chain[0], &e)
	}
	if err != nil {
		k.err = err
		return k
	}
	k.peer, k.made, k.ways = peer, p.made(), p.checkWays(peer.Chain[0], &e)
	return k
}

// signer returns the peer whose certificates are in a proof. The lock is held.
//
//   - Errors: *identity.ChainError; ErrDamaged, wrapped.
func (d *Directory) signer(p *proof) (*identity.Peer, error) {
	key := sha256.Sum256(p.signed[headBytes-1:])
	if peer := d.peers[key]; peer != nil {
		if err := d.cfg.Identity.Check(peer); err == nil {
			return peer, nil
		}
		delete(d.peers, key)
	}
	shown, err := p.certificates()
	if err != nil {
		return nil, err
	}
	peer, err := d.cfg.Identity.Verify(shown, x509.ExtKeyUsageAny)
	if err != nil {
		return nil, err
	}
	if len(d.peers) >= maxPeers {
		clear(d.peers)
	}
	d.peers[key] = peer
	return peer, nil
}

// judge returns an entry as it is shown.
//
//   - ok: it is shown; why is then about tags, or ways, that are left out, or nil.
//   - The lock is held.
func (d *Directory) judge(k *known) (shown directory.Entry, ok bool, why *RefusedError) {
	shown = k.entry
	shown.Proof, shown.WaysProof, shown.Signer = nil, nil, ""
	if k.ways != nil {
		shown.Ways = nil
	}
	err := k.err
	if err == nil {
		err = d.cfg.Identity.Check(k.peer)
	}
	now := d.cfg.Now()
	switch {
	case err != nil:
	case k.made.After(now.Add(MaxSkew)):
		err = fmt.Errorf("%w (signed at %s)", ErrFuture, stamp(k.made))
	case k.made.Before(now.Add(-MaxAge - MaxSkew)):
		err = fmt.Errorf("%w (signed at %s)", ErrStale, stamp(k.made))
	case k.made.UnixNano() < d.seen[seenKey(k)]:
		err = fmt.Errorf("%w (signed at %s)", ErrReplayed, stamp(k.made))
	}
	if err != nil {
		return shown, false, refused(&k.entry, k.peer, err)
	}
	shown.Signer = k.peer.Principal.String()
	action := acl.Publish
	switch k.entry.Role {
	case directory.Publisher:
	case directory.Receiver:
		action = acl.Receive
	default: // the tags of a role that is not known mean nothing here
		return shown, true, k.withoutWays()
	}
	may, mayNot := d.cfg.Access.Split(k.peer.Principal, action, k.entry.Tags)
	if mayNot.IsEmpty() {
		return shown, true, k.withoutWays()
	}
	shown.Tags = may
	why = refused(&k.entry, k.peer, d.notCovered(k.peer.Principal, action, mayNot))
	why.Tags, why.Partly = mayNot, !may.IsEmpty()
	return shown, why.Partly, why
}

// withoutWays returns why an entry is shown without its ways, or nil.
func (k *known) withoutWays() *RefusedError {
	if k.ways == nil {
		return nil
	}
	why := refused(&k.entry, k.peer, k.ways)
	why.Tags, why.Partly = tags.Set{}, true
	return why
}

// notCovered returns the error about tags that no rule lets a signer announce.
func (d *Directory) notCovered(who identity.Principal, action acl.Action, mayNot tags.Set) error {
	const most = 200 // bytes of the tags
	text, all := mayNot.Short(most)
	if !all {
		text += " and others"
	}
	for tag := range mayNot.All() {
		if rule := d.cfg.Access.Explain(who, action, tag); rule != "" {
			return fmt.Errorf("%w: %v %s: %s", ErrNotCovered, action, text, rule)
		}
		break
	}
	return fmt.Errorf("%w: %v %s", ErrNotCovered, action, text)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// seenKey returns by what the newest proof is remembered: a signer cannot make the proofs of another
// one look old.
func seenKey(k *known) string { return k.entry.Instance + "\n" + k.peer.Principal.String() }

// remember notes how new the proof of an entry is. The lock is held.
func (d *Directory) remember(k *known) {
	key := seenKey(k)
	if _, ok := d.seen[key]; !ok && len(d.seen) >= maxSeen {
		d.forgetSeen()
	}
	d.seen[key] = max(d.seen[key], k.made.UnixNano())
}

// forgetSeen forgets the oldest part of the proofs, beginning with those that are too old to
// be shown.
func (d *Directory) forgetSeen() {
	d.pruneSeen()
	if len(d.seen) < maxSeen {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(d.seen), func(a, b string) int { return cmp.Compare(d.seen[a], d.seen[b]) })
	for _, key := range oldest[:len(oldest)/8] {
		delete(d.seen, key)
	}
}

// pruneSeen forgets what is refused without being remembered. The lock is held.
func (d *Directory) pruneSeen() {
	first := d.cfg.Now().Add(-MaxAge - 2*MaxSkew).UnixNano()
	maps.DeleteFunc(d.seen, func(_ string, nanos int64) bool { return nanos < first })
}

// glance judges an entry that List has found, which may be newer or older than what the watch
// has told so far.
func (d *Directory) glance(e directory.Entry) (shown directory.Entry, ok bool, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known[e.Instance]
	if k == nil || !k.entry.Equal(e) {
		fresh := d.verify(e)
		entry, ok, refusal := d.judge(fresh)
		if k == nil || refusal == nil || !errors.Is(refusal, ErrReplayed) {
			return entry, ok, asError(refusal)
		} // the watch has told of a newer one meanwhile
	}
	entry, ok, refusal := d.judge(k)
	return entry, ok, asError(refusal)
}

// asError keeps a nil pointer from becoming an error.
func asError(r *RefusedError) error {
	if r == nil {
		return nil
	}
	return r
}

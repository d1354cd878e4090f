// SPDX-License-Identifier: Apache-2.0

// Package directory tells where a tag lives: which instances serve it, and at which addresses.
//
// A publisher announces an [Entry]: who it is, which tags it serves and at
// which addresses it listens. A subscriber watches the entries and dials the
// publishers that serve its tags. No message crosses a directory, and a bus
// that has found its publishers goes on working when the directory fails.
//
// The package has the contract and no storage. bus/directory/file keeps the
// entries in a shared folder and needs no server, bus/directory/memory keeps
// them in the process, and the module tagbus/directory/etcd keeps them on the servers of
// etcd. Each is a [Feed] with something in front that fills it.
// bus/directory/directorytest holds them all to the contract. [Open] finds the
// one that a URL names.
//
//	publisher                      directory                      subscriber
//	Announce(entry) ──────────────►   entry   ──── Appeared ─────►  dial
//	Registration.Update ──────────►   entry'  ──── Changed ──────►  dial or subscribe
//	Registration.Withdraw ────────►     -     ──── Gone ─────────►  forget
//	(killed)                          expiry  ──── Gone, Err ────►  forget
//
// Entries come from other programs: an entry that a Directory reports is valid
// (see [Entry.Validate]), but may be false. The side that dials checks the instance in
// the publisher's hello. That two entries claim the same tag is not the
// directory's affair; the bus decides what to do with them.
package directory

// Directory is a set of entries that publishers share with subscribers.
//
// Threads: any, for all methods; each may be called from a notify function.
type Directory interface {
	// Announce adds e, and keeps it alive until it is withdrawn.
	//
	//   - e: a copy is kept; e.Instance is unique among all entries.
	//   - Result: nil error means that e is visible to all watchers. A directory on
	//     servers returns nil, too, if it cannot reach them for now: e is visible once it
	//     can, and the Registration, a Reporter, has a problem until then.
	//   - Errors: one or more *FieldError joined (errors.Is ErrInvalidEntry),
	//     ErrAnnounced, ErrClosed, and what the storage reports. The entry is
	//     then not announced.
	//   - Blocks: for the storage.
	Announce(e Entry) (Registration, error)

	// Watch reports the entries that are there, and from then on every change.
	//
	//   - notify: called from goroutines of its own, never twice at once; it must
	//     not block. First comes Appeared for each entry that is there, in the order
	//     of their instances, then Problem for each problem that persists.
	//     Events of one instance come in order. When notify falls far behind,
	//     several events of one instance may be merged into one that says the
	//     same.
	//   - stop: returns when notify does not run and will not run again. Called
	//     from within notify it returns at once, and that call of notify is the
	//     last. Idempotent.
	//   - Errors: ErrClosed.
	//   - Blocks: for the first look at the storage.
	Watch(notify func(Event)) (stop func(), err error)

	// List looks once and returns the entries that are there, in the order of
	// their instances.
	//
	//   - Errors: the problems that persist, joined; the entries are valid all
	//     the same. With those of Incomplete some may be missing. ErrClosed
	//     comes without entries.
	//   - Blocks: for a look at the storage.
	List() ([]Entry, error)
}

// Registration is one announced entry, held by the publisher that announced it. One
// whose entry may fail to stay announced is a Reporter too.
//
// Threads: any.
type Registration interface {
	// Update replaces the entry.
	//
	//   - e: a copy is kept; e.Instance must be the announced one.
	//   - Result: nil means that the new entry is visible to all watchers.
	//   - Errors: *FieldError joined (the old entry stays), ErrWithdrawn,
	//     ErrClosed, and what the storage reports: the old entry then stays
	//     visible and the directory tries by itself until the new one is.
	//   - Blocks: for the storage.
	Update(e Entry) error

	// Withdraw removes the entry. It is idempotent: after a failure it tries
	// again, after a success it does nothing.
	//
	//   - Errors: what the storage reports. Even then nothing keeps the entry
	//     alive any more.
	//   - Blocks: for the storage.
	Withdraw() error
}

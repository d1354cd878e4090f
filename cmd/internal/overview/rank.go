// SPDX-License-Identifier: Apache-2.0

package overview

import "slices"

// ranks are the kinds of what is found, the worst first: what keeps all of a bus from working,
// then what has ended, then what stands, what loses, and what is only worth knowing. A cause
// comes before what follows from it: a subscriber that takes nothing before what it loses by
// that.
var ranks = []string{
	DirectoryAway, "folder-missing", "folder-unreadable", "folder-hangs", "backend-unusable", "certificate-expired", "certificate-unusable",
	FolderFull, "disk-full", "folder-unwritable", "folder-clock", "nothing-known",

	StaleEntry, NoAnswer, AccessFailing, EntryFailing, EntryCrowded, "entry-not-renewed",
	"address-gone", "address-silent", "address-refused", "address-timeout", "address-unreachable", "address-other-instance", "address-other-protocol", "address-closes",
	"certificate-refused", "address-insecure", "backend-differs", "loopback-address", "address-undialable", "address-failed", "mtu",
	"two-receivers", "two-publishers", "more-owners", "address-shared",

	PeerStalled, PoolEmpty, PeerCutOff, Losing, PeerGone, Unconfirmed, "not-connected", TagsDenied, "no-receiver", "no-publisher", ConnectionsBreak, Resending,

	DirectoryProblem, "entry-damaged", "clock-differs", "loopback-only", "address-slow", "directory-slow", "folder-slow", "disk-nearly-full",
	"certificate-ends", "open-files", "locked-memory", "unfinished",

	"no-entries", NotAllowed, NotObservable, "anonymous", "no-rights", "folder-read-only",
	LostBefore, QueueFull, Refusing, PoolWasEmpty, PeerQuiet, SilentPeers,
	"same-name", "no-tags", "tags-unchecked", "contacts-unchecked", "version-differs", "folder-names", "folder-nfs", "transport-unused", "socket-buffers", "accept-queue", "congestion-control",
}

// places are those of the kinds in ranks.
var places = func() map[string]int {
	at := make(map[string]int, len(ranks))
	for i, id := range ranks {
		at[id] = i
	}
	return at
}()

// Rank returns the place of a kind of finding among all that have its level, whichever tool
// shows it: the worst has the lowest. Kinds that are not known are the last.
func Rank(id string) int {
	if at, known := places[id]; known {
		return at
	}
	return len(ranks)
}

// Ranked reports whether a kind of finding has its place.
func Ranked(id string) bool { return slices.Contains(ranks, id) }

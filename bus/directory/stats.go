// SPDX-License-Identifier: Apache-2.0

package directory

import "time"

// Stats say how a directory fares: what it knows, and how it gets on with its storage.
// They may be copied; the copies share Requests.
type Stats struct {
	Entries       int            // that are known now, of all instances
	Registrations int            // announced by this process and not withdrawn
	Problems      int            // that persist
	Up            bool           // the storage answered when it was last asked
	LastContact   time.Time      // when it last answered; zero: never
	Looks         uint64         // at all entries of the storage
	WatchRestarts uint64         // how often the notices of changes ended, and began again
	Leases        uint64         // that the servers granted to this process; one is enough while it lives
	Requests      []RequestStats // to the servers, by kind, in the order of their kinds; nil without servers
}

// RequestStats count the requests of one kind.
type RequestStats struct {
	Kind     string // such as put; lower-case letters
	Done     uint64 // that were answered
	Failures uint64 // that were not answered, or refused
}

// StatsReporter is what a Directory also is if it has Stats.
type StatsReporter interface {
	// Stats returns the present ones. Threads: any. Blocks: never.
	Stats() Stats
}

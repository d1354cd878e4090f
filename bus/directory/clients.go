// SPDX-License-Identifier: Apache-2.0

package directory

// WithClients is what a Directory also is if it keeps entries of clients: of subscribers and
// senders, which dial and which no other program has to find. They are for operators, who
// want to see that a program is there though it is connected to nothing.
type WithClients interface {
	// Clients returns the directory of the clients, which is closed with this one. Watchers
	// of this one read nothing of it, and are told nothing of it. What is announced in it
	// may be renewed more seldom, and be gone later after its program was killed.
	//
	//   - Result: always the same; nil if there is none.
	//   - Threads: any. Blocks: never.
	Clients() Directory
}

// ClientsOf returns the directory of the clients of d, or nil.
func ClientsOf(d Directory) Directory {
	if with, ok := d.(WithClients); ok {
		return with.Clients()
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

// Package fanout decides of each published message which subscribers get it, and whether
// all of them have room.
//
// A message goes to every lane that wants its tag, or, if a lane that must not lose it
// has no room, to none. A lane is one queue of pages to one subscriber, with a policy
// and a bound. What wants which tag changes while messages are published.
//
// The package knows tags, messages, queues and netio's endpoints. Sessions, identities
// and the reasons for which a subscriber is let in or thrown out belong to its user.
//
// # The way of a message
//
//	             Publish
//	                |  no lock: tagmap
//	                v
//	tag ---------> route          the lanes that want the tag; mostly one stream
//	                |  atomic pointer, loaded again under stream.mu
//	                v
//	              stream          the tags that the same lanes want
//	                |  stream.mu: the payload is copied, the only time
//	                v
//	               page           under construction; openMu: room at every lane,
//	                |             and memory of the arena
//	                |  sealed: full, due, or asked for; by reference from here on
//	      +---------+---------+
//	      v         v         v   Outbox.mu: the page is queued
//	    lane      lane      lane
//	      |         |         |
//	      +----+----+         |   control messages first, then the lanes in turn
//	           v              v
//	        Outbox         Outbox one for each connection
//	           |              |
//	        endpoint       endpoint   a few pages at a time
//
// Accept: Publish finds the state of the tag in a map that needs no lock, loads its
// route, locks the stream, and looks whether the route is still the same. If the message
// fits into the page under construction, it is copied there. If not, the page is sealed
// and open begins another: under openMu every lossless lane of the stream must have
// room for it, and the arena memory. Then room is taken at all lanes at once, as much as
// the page probably takes, and more when it grows (fits). Otherwise the message is refused
// by ErrNoRoom, and no lane gets it. A lossy lane without room does not get the page, and
// counts its messages as lost. At last the message is counted, which makes its position,
// and goes into the cache.
//
// A route has several streams if a policy decides message by message (solo), or if there
// are too many sets of lanes. Then all streams are locked, in the order of
// compareStreams, and all have a page with room before the first copy. Messages of the
// Sample and Latest policies come into a page when the policy says so.
//
// Seal: a page is sealed when the next message does not fit, when its time has come (pace)
// and a lane is not busy, when Flush asks for it, or when its routes change. It is then
// queued by reference at all lanes of its stream, or sent at once by the goroutine that
// has filled it. Its last message may have a
// Receipt, which the page carries.
//
// Send: pump gives an endpoint as much as keeps it busy: control messages of no lane
// first, then the lanes in turn. The rest waits in the lanes, where a policy can still
// drop it. What a lane loses is a notice in the place of the lost page, which becomes
// control messages when its turn comes. So a subscriber hears of a loss in the order of
// the messages.
//
// Complete: the transport reports that the oldest item has been sent. The lane's room
// is free again. With the last reference the page goes back to the pool, and with a
// lent payload its memory goes back to the user.
//
// # Subscriptions
//
// Group is the job that makes the subscriptions of a connection active, Unsubscribe and
// Leave return those that end them. They move tags from route to route (shift), a few
// at a time. The streams of these are locked and have no page under construction
// meanwhile. So the messages that were published before are queued before, and the order
// of each tag holds. A tag that joins a lane is at a known position at that moment: the
// subscriber is told this position, and the lane holds back its pages (cork) until that
// and the messages to replay are queued. Between two slices of a job anything may
// happen.
//
// Tags that the same lanes want move to a route that is made once, and a tag that moves for
// one lane leaves all others whose connections have ended. So the end of thousands of
// connections costs what each of them had. Until then their lanes always have room.
//
// # Locks
//
// A lock is taken only under those above it:
//
//	Fanout.Mu      the topology: known tags, table, routes, streams, lanes
//	stream.mu      the page under construction, and the counts of the stream's tags;
//	               of several streams in the order of compareStreams
//	Fanout.openMu  the reservation of room and of memory for pages
//	Outbox.mu      the queues of a connection, never of two
//	dueList.mu     the streams that the loop is to send
//	leaves         those of the cache, of a ledger.Lane, of waiters and of loans:
//	               nothing is locked under them
//
// Publish of a known tag does not take Mu. openMu comes before Outbox.mu because a lane
// that drops its oldest pages does so to make room. A route is changed with Mu and the
// mutexes of all its streams held, so either of them is enough to read it.
//
// The endpoint's methods and Loop.Post are called under these locks, which is safe
// because neither calls back from inside. Of the functions of Config only First and
// LossError are called under them, and those of Terms are called with Mu held.
//
// # Wake-ups
//
// A caller that is refused waits for a wake-up (AwaitRoom) or for Config.OnReady. None
// is lost, because the two sides use the same atomic values in opposite order:
//
//   - The publishing goroutine that finds no room sets a flag, and then looks again. The
//     flag is Lane.refuses of each full lane, or dry if there is no memory. A caller of
//     AwaitRoom has entered waiting before. For OnReady, open sets wantReady and then
//     does all that a second time.
//   - Lane.unpin frees room, and release and sealPage free memory. Then they look at the
//     flag. If it is set, they reset it and call roomFreed, which wakes all that wait and
//     looks at wantReady.
//
// So either the last look finds the room, or the goroutine that frees it finds the flag,
// and the caller or wantReady behind it. All looks are under openMu, so that room only
// grows meanwhile: a lane that had room in the first look has it in the last.
//
// unpin tells only once a quarter of the lane is free. A goroutine that is woken for
// each page fills only this one. A lane that holds nothing has room for any message, so
// this quarter always comes, or the end of the connection, which frees everything.
//
// # Threads
//
// Publishing goroutines accept and copy messages, seal full pages, queue them and give
// them to the endpoint, or to the system. They wait for one another as long as it takes to
// copy a message, or about 64 KiB of a Run, and to send a page; for the loop, as long as
// some tags move; and for Mu only with the first message of a tag.
//
// The loop does everything else: completions, Acks, the end of connections, jobs. It
// seals the pages that are due (flushDue), tells what a policy has left out (tellDue),
// gives lent payloads back, and calls OnReady. Methods that say "Loop only" run there.
// Retire and Serve do their work in slices on the goroutine of their caller.
//
// # Bounds
//
//   - A lane holds Config.QueueBytes of pages, or fewer if it asks for that; one larger
//     message may exceed this on an empty lane.
//   - There is a page for each 64 bytes of the pool at most.
//   - All lossy lanes together hold half as many bytes as the pool has, and half of the
//     pages, so that they cannot starve the others.
//   - The transport has MaxInFlight items and 4 pages of a connection, or 16 where the peer reads them
//     in place. More pages would only leave the processor's cache, and out of reach of the policies.
//   - The control messages queued for a connection take 4 MiB, and a position for each
//     known tag. A connection that asks faster than it reads ends with ErrOverflow.
//   - Config.MaxStreams streams have several lanes. The messages for a further set of
//     lanes are copied for each, unless the pages of all copies take a quarter of the pool:
//     then this set has a stream, too.
//   - A job does a slice of its work, and shift holds the locks of at most 256 tags.
package fanout

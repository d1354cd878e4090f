// SPDX-License-Identifier: Apache-2.0

// Package spread makes one backend of several, each on an event loop of its own,
// so that more than one processor sends and receives for its endpoints. All
// callbacks still come on one loop, one at a time.
//
//   - Backend: which worker opens an endpoint, and the end of all of them.
//   - worker: a backend as it is used here; what it reports becomes events.
//   - Arrivals: connections that one worker has accepted for another.
//   - queue: the events on their way to the loop of the callbacks.
//   - endpoint: what the handler has not seen yet, and how far a worker reads ahead.
//
// A received message is not copied on its way from loop to loop: the worker's endpoint
// retains it until the handler returns.
package spread

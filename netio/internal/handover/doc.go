// Package handover is what backends have in common that work on an event loop
// while their users call from any goroutine: how calls become work of the loop,
// and how answers get back. What crosses a network, and how, is the backend's.
//
//   - Backend: the steps of a backend, its addresses, and its Close.
//   - Endpoint, ListenEndpoint: the calls that queue, answer, or leave work.
//   - Queue: which sends are accepted, and which are completed.
//   - Worklist: what is to be done at the end of the turn.
//   - Refusals: who found no room, and is to be told when there is some.
//   - Counters: what has happened.
package handover

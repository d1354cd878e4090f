// SPDX-License-Identifier: Apache-2.0

// Package web shows a bus in a browser.
//
// A [Page] serves static files and a stream of events. A viewer says in the address of its
// stream what it shows: the view, the order, the filter and which rows. It gets what is
// visible and nothing else, once a second, so its cost does not depend on the size of the
// bus:
//
//	browser                        Page                            Source
//	GET /live?view=… ────────────►  viewer
//	                                  │  one look a second for all ──►  every entry
//	                                  ▼
//	                                model   rows, joined; the last hour and day
//	  frame (JSON) ◄──────────────  viewer  filters, sorts, cuts
//
// Looks go on without viewers, for the history, and then ask for sums only. A viewer that reads slowly misses frames.
//
// The static files are in static, without a build step. uPlot (MIT) is in static/uplot, as
// its authors publish it; a test knows its sums.
package web

// SPDX-License-Identifier: Apache-2.0

package top

// helpText is shown by the key ?. Each line fits into 80 columns.
var helpText = []string{
	" s        next order          u l m b  by queue, lost, msgs, bytes",
	" v        instances or links  / text   only rows with it, or with these tags",
	" p        pause or go on      Escape   all rows again",
	" arrows, page up and down, home and end scroll; q ends",
	"",
	" ! red     stalled, or lost messages since the last look",
	" * yellow  has lost messages before",
	" ? bold    does not answer",
	"",
	" SUBS      subscribers, or senders of a receiver",
	" QUEUE%    how full the fullest queue to a subscriber is",
	" STALLED   subscribers that take nothing; of a link: for how long, or now",
	" LOST      because a queue was full, memory was missing, a connection broke;",
	"           + at the end: for other reasons (tagbus losses has all)",
	" REFUSED/S publishing that was held up, because there was no room",
	" Links are the worst of each publisher if there are many.",
}

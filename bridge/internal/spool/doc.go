// SPDX-License-Identifier: Apache-2.0

// Package spool keeps records of a bridge in files of bounded size while a log is slow or away.
//
// The files are recordings, its segments: one that is full is closed, and the next one begins. They are read in the order in
// which they were written, and removed one by one as the log has what is in them. A bridge that was killed leaves them, and the next one
// reads them first. Each is a recording as any other, so the commands of tagbus rec read it, and what is in it can be
// published by hand if its log never comes back.
//
//	Begin     Position: Count is the counter before it
//	Messages  messages
//	Lost      Gap, one for each cause, with the cause as a number of package record; Text
//	End       Ended (goodbye, failed), Vanished (vanished, away) or Lost (stopped), with Tag, the How as Cause,
//	          the counter at which it stands as Count, and Text
//
// In each segment a Position stands in front of the first record of a chain, and wherever a record does not begin where the
// one before has ended. So each record has its place, whatever became of the segments before.
package spool

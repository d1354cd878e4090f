// SPDX-License-Identifier: Apache-2.0

// Package convert makes a recording of a span of a durable log.
//
//	w, err := recording.NewWriter(file, recording.Header{Name: "from the log"}, recording.Config{})
//	if err != nil {
//		return err
//	}
//	report, err := convert.Run(ctx, log, w, convert.Config{Query: durable.Query{Tags: tags.Of(0x1000)}})
//	if err != nil {
//		return err
//	}
//	return w.Close()
//
// The recording has the messages with their publishers, tags, counters, statuses, times and ids of requests, and what is
// missing as one that was made at the source has it:
//
//	begin                    Joined and Position
//	lost                     Gap, one for each cause; what recordings have no cause for has CauseOther, and a text
//	counters in no record    Gap with CauseOther, and a text
//	end: goodbye, failed     Ended, when all tags of the publisher in the span have ended
//	end: vanished, away      Vanished, in the same way
//	end: stopped             nothing: the chain goes on, or the recording ends
//
// It does not say when connections were lost and came back, for a log does not. A chain that begins in the middle, because
// of the span or of what the retention has dropped, has its Position there.
//
// A log has the records of many publishers and tags in the order in which its engine has taken them. The recording has the
// messages in the order of their times, as far as Config.WindowBytes of records reach, and those of one publisher and tag
// in that of their counters always.
package convert

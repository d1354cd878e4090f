// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/table"
)

// programs are the rows of the commands, and those that tests hold.
var programs = []table.Row{
	{
		Number: "page 1", Name: "1,000 connections to the page that say nothing", Inject: "to tagbus web, 8 s", Promise: "no connection of the bus ends, and no message is lost; tagbus web grows by less than 128 MiB",
		Struck: table.Counts{connections: 1000},
		Run:    func(c *table.Case) { viewers(c, "idle") },
	},
	{
		Number: "page 2", Name: "answers of the page are not read", Inject: "1,000 connections to tagbus web, each with 2,000 requests for a file of 14 KB, 8 s", Promise: "as page 1", Quick: true,
		Struck: table.Counts{connections: 1000, "answers that are not read": 100},
		Run:    func(c *table.Case) { viewers(c, "unread") },
	},
	held("15", "a handler blocks", "in the process of a test, 3 s and 8 s with a fake clock", "the watchdog names it while it blocks; what its node receives waits, and beyond the timeout a publisher takes the subscriber for dead",
		"./netio/reactor TestEventLoop_watchdogReportsACallbackWhileItBlocks", "./bus TestHandler_thatBlocksHoldsUpItsNode"),
	held("17", "callbacks call methods of the bus", "in the process of a test", "those that would wait return ErrOnLoop, the others work, and nothing hangs",
		"./bus TestSubscriber_callbacksMayCallEverything", "./bus TestSender_callbacksOfBothEndsMayCallEverything"),
	held("18b", "a listener has no descriptors", "in the process of a test", "it sheds connections, and the log is not flooded",
		"./netio/tcp TestListenEndpoint_acceptSurvivesWithoutDescriptors", "./netio/tcp TestListenEndpoint_withoutDescriptorsDoesNotFloodTheLog"),
	held("21", "descriptors and memory run out in an open", "in the process of a test", "the open fails, and nothing is leaked",
		"./netio/reactor TestNew_leaksNothingWhenDescriptorsRunOut", "./netio/shm TestRegionOfWhoDialsCannotBeCommitted"),
	held("23", "a send takes a part, or nothing", "in the process of a test", "it goes on with the rest, byte by byte as it was",
		"./netio/tcp TestEndpoint_Send_isTriedAgainWhenMemoryIsShort", "./netio/tcp TestRandomRun"),
	held("24b", "the disk of the directory is full", "in the process of a test", "the error is told, and the entry stays as it was", "./bus/directory/file TestDirectory_fullDisk"),
	held("27c", "the file system of the directory does not answer", "in the process of a test, and a FUSE server that goes away",
		"every call ends, it is told, and a publisher ends in order meanwhile", "./bus/directory/file TestDirectory_everyCallEndsWhileTheFileSystemIsAway",
		"./bus/directory/file TestDirectory_Watch_isToldThatTheFileSystemIsAway", "./cmd/internal/scripts TestAPublisherEndsWhileItsFolderIsAway"),
	held("28", "an entry is renewed seldom, and a file system is slow", "in the process of a test, with a fake clock: each 10 s, and a second for each call",
		"the entry is gone 30 s after it was renewed, and not before; a file system that answers each call is not away",
		"./bus/directory/file TestDirectory_waitsForSlowBeats", "./bus/directory/file TestDirectory_waitsForASlowFileSystem"),
	held("29", "clocks differ, or are set", "in the process of a test, with a fake clock",
		"a signed entry from up to 5 minutes ahead counts at once, one from further ahead when that is over; a recording has an event of each step",
		"./bus/directory/signed TestDirectory_clocksThatDiffer", "./cmd/internal/recorder TestAStepOfTheClockIsSeen", "./cmd/internal/recorder TestAStepOfTheClockIsRecorded"),
	held("37", "a peer has another version", "in the process of a test", "the error names both, and which program to upgrade", "./subscription TestDecodeHello_namesAnotherVersion"),
	held("40", "a subscription is asked for twice, or again after its end", "in the process of a test", "the second request changes nothing, and what was published in between is no gap",
		"./bus TestPublisher_doubleSubscribeIsIdempotent", "./bus TestSubscriber_Subscribe_againIsNoGap"),
	held("41", "payloads of zero copies when a publisher ends", "in the process of a test", "each comes back once, however it ends",
		"./bus TestPublisher_PublishZeroCopy_aPayloadComesBackHoweverItEnds", "./bus TestPublisher_PublishZeroCopy_aRefusedPayloadStaysTheCallers"),
	held("42", "a subscriber comes back while its connection is there", "in the process of a test", "one connection stays, and its place",
		"./bus TestPublisher_aSubscriberThatComesBackTakesItsOldPlace", "./bus TestPublisher_aSubscriberComesBackInTheMiddleOfItsEnd"),
	held("43", "a close in callbacks, and twice", "in the process of a test", "it ends, and no callback comes after it",
		"./bus TestPublisher_Close_insideItsEvent", "./bus TestPublisher_Close_noEventAfterIt", "./bus TestPublisher_Close_insideACallbackDuringCloseElsewhere",
		"./bus/internal/closer TestCloseWaitsForTheRunningCallback", "./bus/internal/closer TestALaterCloseWaitsForTheFirst"),
	held("44", "a descriptor is used again", "in the process of a test", "no event of the one before it comes", "./netio/reactor TestRegistration_staleEventsAreDropped"),
	held("45", "sets of tags of strangers never end", "in the process of a test, 32 connections with 3.2 MB each", "less than 16 MiB are kept for all, and within 30 s their connections end",
		"./bus TestPublisher_aSetThatNeverEndsTakesNoMemory"),
	held("46", "one connection never rests", "in the process of a test", "the others have their turn",
		"./netio/tcp TestEndpoint_aFirehoseMakesWay", "./netio/tcp TestEndpoint_firehoseLeavesRoomForOthers"),
	tagged("invariants", held("47", "a program changes a payload that is still being sent", "in the process of a test, in a build with the tag invariants", "that build reports it",
		"./netio/tcp TestEndpoint_Send_reportsMemoryThatChangesTooEarly")),
	held("51c", "every command is to end", "a signal to a real process of each", "it ends in order, and a recording is closed", "./cmd/internal/scripts TestEveryProgramEndsInOrder"),
	held("52", "the reader of an output goes, as head does", "real processes", "a clean end", "./cmd/internal/scripts TestAReaderThatHasGone"),
	held("rec 1", "the disk of messages that are written is full", "a tmpfs for files of tagbus sub, and in the process of a test for a recording", "what is written stays, and no message is there in part",
		"./cmd/internal/scripts TestAFullDiskLeavesNoPartOfAMessage", "./recording TestWriter_aDiskThatIsFullKeepsWhatIsWritten"),
	held("rec 2", "the disk of a recording is slow, or does not answer", "a FIFO that is not read for a while, and a FUSE server that goes away while a recording is replayed",
		"block waits, or what is lost is a hole of the recording, too; of a replay subscribers get what was published and goodbye, and the rest is named",
		"./cmd/internal/scripts TestARecordingOfASlowDisk", "./cmd/internal/scripts TestARecordingThatGoesAway"),
	held("page 3", "a viewer of the page is slow", "in the process of a test", "it misses pictures, and holds up no other viewer",
		"./cmd/internal/web TestASlowViewerMissesFrames", "./cmd/internal/stateapi TestASlowViewerHoldsUpNoOther", "./cmd/internal/web TestTooManyViewersAreToldToComeAgain"),
	held("state 1", "a host asks for the state of instances all the time", "in the process of a test", "it keeps no other host out",
		"./bus/internal/observe TestAHostThatFloodsKeepsNoOtherOut"),
	held("shm 13", "readers of shared memory are killed and stopped at random", "real processes, some seconds", "the others get all, or with a policy that may lose are told the rest, and all memory comes back", "./node TestReadersAreKilledAndStopped"),
	held("shm 14", "a peer in shared memory breaks the rules", "in the process of a test", "its own connection ends alone, and it can write into no segment", "./netio/shm TestPeerThatBreaksTheProtocol", "./netio/shm TestReaderCannotWrite"),
	held("etcd 3", "members of a directory are killed", "real processes: the only one, and the leader of three", "what is announced is found again, and of three nothing waits for the one", "./directory/etcd/cmd/tagbus-directory TestTheOnlyMemberIsKilled",
		"./directory/etcd/cmd/tagbus-directory TestOneOfThreeIsKilled"),
	fabric(held("48", "a fabric has errors", "each call of libfabric fails once, in the process of a test over the provider tcp; make verbs does so over a device", "typed errors, and no memory stays registered",
		"./netio/rdma TestBackend_whateverFailsNoRegistrationIsLeft", "./netio/rdma TestListenEndpoint_reportsRefusedConnectionsInRows")),
	{
		Number: "29b", Name: "the wall clock is set under load", Inject: "date, in a virtual machine", Promise: "nothing happens",
		Missing: never("a namespace has no wall clock of its own: the tests of row 29 have a fake one"),
	},
}

// held returns a row that tests hold.
func held(number, name, inject, promise string, tests ...string) table.Row {
	return table.Row{Number: number, Name: name, Inject: inject, Promise: promise, Held: tests}
}

// tagged builds the tests of a row with tags.
func tagged(tags string, r table.Row) table.Row {
	r.Tags = tags
	return r
}

// fabric builds the tests of a row with the RDMA backend, and so that it checks most.
func fabric(r table.Row) table.Row {
	r.Missing = func() string {
		if exec.Command("pkg-config", "--exists", "libfabric").Run() != nil {
			return "needs libfabric (Debian: libfabric-dev pkg-config gcc libc6-dev)"
		}
		return ""
	}
	return tagged("libfabric,netgo,osusergo,invariants", r)
}

// viewers open connections to the page of a bus.
func viewers(c *table.Case, mode string) {
	publisher, victim, other := c.Begin()
	c.Lossless()
	at := c.Now()
	page := c.Command("web", c.A, filepath.Join(c.Tools.Commands, "tagbus"), "web", "--bus", c.Bus, "--listen", bed.AddressA+":8080")
	c.Until("the page is there", 5*time.Second, func() bool { return page.LogHas("http://") })
	before := rss(c, page)
	s := come(c, "viewers", bed.AddressA+":8080", mode, 1000)
	table.Idle(8 * time.Second)
	memory(c, page, before, 128<<20)
	flow(c.Now(), 5*time.Second, victim, other)
	c.Must(s.Signal(syscall.SIGTERM))
	c.Count("answers that are not read", s.Says("closed").Answered)
	victim.NotTold("lost", at)
	publisher.NotTold("lost", at)
	c.Finish()
}

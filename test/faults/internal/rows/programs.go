// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"path/filepath"
	"time"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/table"
)

// programs are the rows of the commands, and those that tests hold.
var programs = []table.Row{
	{
		Number: "page 1", Name: "1,000 connections to the page that say nothing", Inject: "to tagbus web, 8 s", Promise: "no connection of the bus ends, and no message is lost; tagbus web grows by less than 128 MiB",
		Ways: []string{table.TCP},
		Run:  func(c *table.Case) { viewers(c, "idle") },
	},
	{
		Number: "page 2", Name: "1,000 requests to the page, with answers that are not read", Inject: "to tagbus web, 8 s", Promise: "as page 1", Ways: []string{table.TCP}, Quick: true,
		Run: func(c *table.Case) { viewers(c, "http") },
	},
	held("15", "a handler blocks for ever", "in the process of a test", "the watchdog names it, and its node waits alone",
		"./netio/reactor TestEventLoop_watchdogReportsACallbackWhileItBlocks", "./bus TestHandler_thatBlocksHoldsUpItsNode"),
	held("17", "callbacks call every method", "in the process of a test", "legal, and no deadlock",
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
	held("28", "a file system shows old attributes, as NFS does", "in the process of a test, with a fake clock", "no entry comes and goes",
		"./bus/directory/file TestDirectory_waitsForSlowBeats", "./bus/directory/file TestDirectory_waitsForASlowFileSystem"),
	held("29", "clocks differ, or are set", "in the process of a test, with a fake clock", "entries and certificates count as before; a recording says so",
		"./bus/directory/signed TestDirectory_clocksThatDiffer", "./cmd/internal/recorder TestAStepOfTheClockIsSeen", "./cmd/internal/recorder TestAStepOfTheClockIsRecorded"),
	held("37", "a peer has another version", "in the process of a test", "the refusal names both", "./subscription TestDecodeHello_namesAnotherVersion"),
	held("40", "a subscription is asked for twice", "in the process of a test", "the second one changes nothing",
		"./bus TestPublisher_doubleSubscribeIsIdempotent", "./bus TestSubscriber_Subscribe_againIsNoGap"),
	held("41", "payloads of zero copies when a publisher ends", "in the process of a test", "each comes back once, however it ends",
		"./bus TestPublisher_PublishZeroCopy_aPayloadComesBackHoweverItEnds", "./bus TestPublisher_PublishZeroCopy_aRefusedPayloadStaysTheCallers"),
	held("42", "a subscriber comes back while its connection is there", "in the process of a test", "one connection stays, and its place",
		"./bus TestPublisher_aSubscriberThatComesBackTakesItsOldPlace", "./bus TestPublisher_aSubscriberComesBackInTheMiddleOfItsEnd"),
	held("43", "a close in callbacks, and twice", "in the process of a test", "it ends, and no callback comes after it",
		"./bus TestPublisher_Close_insideItsEvent", "./bus/internal/closer TestCloseWaitsForTheRunningCallback", "./bus/internal/closer TestALaterCloseWaitsForTheFirst"),
	held("44", "a descriptor is used again", "in the process of a test", "no event of the one before it comes", "./netio/reactor TestRegistration_staleEventsAreDropped"),
	held("45", "a peer asks for more than it may", "in the process of a test", "what is kept for it is bounded",
		"./bus TestPublisher_aSetThatNeverEndsTakesNoMemory", "./netio/tcp TestTLS_helloFlood", "./netio/tcp TestTLS_keyUpdateFlood"),
	held("46", "one connection never rests", "in the process of a test", "the others have their turn",
		"./netio/tcp TestEndpoint_aFirehoseMakesWay", "./netio/tcp TestEndpoint_firehoseLeavesRoomForOthers"),
	held("47", "a program changes a payload that is still being sent", "in the process of a test, in a build with the tag invariants", "that build reports it",
		"./netio/tcp TestEndpoint_Send_reportsMemoryThatChangesTooEarly"),
	held("51c", "every command is to end, twice", "signals to real processes", "each ends in order, and at once at the second signal", "./cmd/internal/scripts TestEveryProgramEndsInOrder"),
	held("52", "the reader of an output goes, as head does", "real processes", "a clean end", "./cmd/internal/scripts TestAReaderThatHasGone"),
	held("rec 1", "the disk of a recording is full", "a tmpfs", "what is written stays, and no message is there in part",
		"./cmd/internal/scripts TestAFullDiskLeavesNoPartOfAMessage", "./recording TestWriter_aDiskThatIsFullKeepsWhatIsWritten"),
	held("rec 2", "the disk of a recording is slow, or does not answer", "a FUSE server", "it is told, and the bus goes on",
		"./cmd/internal/scripts TestARecordingOfASlowDisk", "./cmd/internal/scripts TestARecordingThatGoesAway"),
	held("page 3", "a viewer of the page is slow", "in the process of a test", "it misses pictures, and holds up no other viewer",
		"./cmd/internal/web TestASlowViewerMissesFrames", "./cmd/internal/stateapi TestASlowViewerHoldsUpNoOther", "./cmd/internal/web TestTooManyViewersAreToldToComeAgain"),
	held("state 1", "a host asks for the state of instances all the time", "in the process of a test", "it keeps no other host out",
		"./bus/internal/observe TestAHostThatFloodsKeepsNoOtherOut"),
	held("shm 13", "readers of shared memory are killed and stopped at random", "real processes, 4 s", "the others get all, and all memory comes back", "./node TestReadersAreKilledAndStopped"),
	held("shm 14", "a peer in shared memory breaks the rules", "in the process of a test", "its own connection ends", "./netio/shm TestPeerThatBreaksTheProtocol", "./netio/shm TestReaderCannotWrite"),
	held("etcd 3", "members of a directory are killed", "real processes", "what is announced is found again", "./directory/etcd/cmd/tagbus-directory TestTheOnlyMemberIsKilled",
		"./directory/etcd/cmd/tagbus-directory TestOneOfThreeIsKilled"),
	{
		Number: "48", Name: "a fabric has errors", Inject: "rxe, in the virtual machine of make verbs", Promise: "typed errors, and each key once",
		Missing: never("needs a device of verbs: make verbs runs the tests of the backend over one"),
	},
	{
		Number: "29b", Name: "the wall clock is set under load", Inject: "date, in a virtual machine", Promise: "nothing happens",
		Missing: never("a namespace has no wall clock of its own: the tests of row 29 have a fake one"),
	},
}

// held returns a row that tests hold.
func held(number, name, inject, promise string, tests ...string) table.Row {
	return table.Row{Number: number, Name: name, Inject: inject, Promise: promise, Held: tests}
}

// viewers open connections to the page of a bus.
func viewers(c *table.Case, mode string) {
	publisher, victim, other := c.Begin()
	c.Lossless()
	at := c.Now()
	page := c.Command("web", c.A, filepath.Join(c.Tools.Commands, "tagbus"), "web", "--bus", c.Bus, "--listen", bed.AddressA+":8080")
	c.Until("the page is there", 5*time.Second, func() bool { return page.LogHas("http://") })
	before := rss(c, page)
	s := c.Strangers("viewers", c.B, bed.AddressA+":8080", "-n", "1000", "-mode", mode)
	s.Says("dialed")
	table.Idle(8 * time.Second)
	memory(c, page, before, 128<<20)
	flow(c.Now(), 5*time.Second, victim, other)
	s.Kill()
	victim.NotTold("lost", at)
	publisher.NotTold("lost", at)
	c.Finish()
}

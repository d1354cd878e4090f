// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package file is a directory in a folder that publishers and subscribers share:
// on one host any folder, between hosts one on a network file system. There is
// nothing to set up and no server to run.
//
// # Folder
//
//	<instance>.jsonl   one publisher or receiver; the name repeats Entry.Instance
//	.<instance>.tmp    the same while it is written; readers pass it over
//	clients            the folder of the clients, if there were any, with files like these; no link
//	anything else      passed over
//
// # File, format 1
//
// UTF-8 text in lines that end with LF (0x0a), each a JSON object. Shown here
// with line breaks that the header does not have:
//
//		┌ header ──────────────────────────────────────────────────────────────────┐
//		│ {"tagbus_directory":1, "revision":1, "instance":"Yr5WtNXHCZ3zXmCHsLzGTk", │  1 line,
//		│  "name":"felix-07", "host":"pc-07", "pid":4711, "backend":"tcp",          │  at most
//		│  "addresses":["10.0.0.7:53100"], "page_bytes":65536,                      │  64 KiB
//		│  "max_message_bytes":1048576, "since_ns":1784000000000000000,             │
//		│  "monitor":"10.0.0.7:9100", "beat_ms":1000,                               │
//		│  "process":{"space":"<boot id>/<pid ns>/<time ns>","pid":4711,"start":9}} │
//		├ tags ────────────────────────────────────────────────────────────────────┤
//		│ {"tags":"0x1000013000118000-0x100001300011800f,0x1000013000190000"}       │  0.. lines
//		├ end ─────────────────────────────────────────────────────────────────────┤
//		│ {"lines":2,"crc32c":"8f0c1d2e"}                                           │  1 line
//		├ beat ────────────────────────────────────────────────────────────────────┤
//		│ {"beat":"000000000000002a","revision":"00000001","crc32c":"5a6b7c8d"}     │  70 bytes
//		└──────────────────────────────────────────────────────────────────────────┘
//
//	  - header: tagbus_directory is the format; readers skip a file of another one
//	    and say so. They pass over fields that they do not know, so a field that
//	    must not be passed over comes with a new format. revision counts the
//	    Updates of the entry, from 1. beat_ms is how often the beat changes.
//	    process is how a reader in the same kernel and namespaces sees that the
//	    publisher ended: boot id, inodes of the pid and time namespaces, process
//	    id, and start time in clock ticks since boot. It may be absent. role is
//	    "receiver" for a receiver and absent for a publisher; mirror is there in a
//	    copy of another directory's entry; readers pass over
//	    entries of other roles. since_ns is nanoseconds since 1970 and may be
//	    absent, and so may monitor. proof is Entry.Proof in base64 (RFC 4648, section 4),
//	    at most 16 KiB before, and absent where entries are not signed; ways_proof is Entry.WaysProof, as proof is, at
//	    most 2 KiB before. The other fields are those of directory.Entry.
//	  - tags: the union of the sets of all lines, in the syntax of tags.ParseSet.
//	    Writers begin a new line after 4 KiB, so that large sets stay readable.
//	  - end: the number of lines before it, and CRC-32C (Castagnoli) of all their
//	    bytes, 8 hexadecimal digits. Exactly these characters; so a truncated file
//	    is always seen.
//	  - beat: the counter of beats, from 1, and the revision again, 16 and 8
//	    hexadecimal digits, then the CRC-32C of the 8 digits of the end line's
//	    CRC followed by those 16 and 8 digits. Exactly these characters.
//
// A changed entry is written to the temporary name, synced, renamed, and the
// folder synced: readers see the old file or the new one. Only the beat line
// is overwritten in place, by one write of 70 bytes. That costs no metadata, so
// a full disk does not make publishers look dead, and a reader of an entry with
// 100,000 tags reads 70 bytes per look. Its CRC shows a read that met a write,
// which is repeated.
//
// # Liveness
//
// A publisher is alive while the reader sees its beat change, on the reader's own
// monotonic clock. Wall clocks decide nothing, so clock jumps and clocks that differ do
// no harm. Time in which the reader itself did not run does not count. A file seen for
// the first time counts as alive, unless it was written long before others, so that subscribers
// start fast; to dial a dead publisher is harmless. If kernel, namespaces and boot are the reader's own, the process is looked
// up too, and an entry whose process has ended is gone after Config.Poll.
//
// # What a look costs
//
// Each Config.Poll a reader asks whether the folder has changed, and whether a process that
// it follows (pidfd) has ended: three calls of the system, however many entries there are.
// All files are opened and read if the folder has changed within the last two seconds.
// Otherwise the reader only asks when each file was written, a fifth of Config.Expiry
// after the last time, or each Poll without notifications. A file that was written since
// has a new beat, as far as can be seen from outside: the beat itself is read at least once
// in twice Expiry, which finds a file that is written by something else. One that was not
// written is read too, from half of the expiry on: times of files make looks cheap, and end
// no entry. A publisher that is silent is Gone after Expiry, a fifth of that, and Poll, at
// the latest.
//
// NFS clients cache attributes for up to 60 s: set Config.Expiry to 90 s or more
// there. NFS has no file notifications from other hosts; polling finds changes.
//
// # Trust
//
// A user that can write the folder can announce anything; Config.TrustedOwners
// narrows that to some users. Files are opened without following links and without
// blocking, and must be regular; size, number of files and number of tags are
// capped. A file that is damaged, of another format, too large, foreign, or no
// file at all is skipped and reported once; the last good entry of that instance
// stays until it expires.
//
// # What is left behind
//
// A file whose publisher has provably ended (see process above) is removed
// when it is older than Config.CollectAfter, by any publisher or subscriber on
// that host. One that has expired is removed by any process that has looked at it for
// Config.CollectAfter and has seen no beat (adr/0029). A publisher whose file or folder was
// removed or damaged writes it again, the folder included. Files that this user may not
// remove are one problem, ErrLeftBehind.
//
// A file that was written Config.CollectAfter and three of its beats before the newest
// file of the folder has expired at first sight: it appears with its next beat. That compares
// times of the file system with each other; those later than the reader's own time do not
// count.
package file

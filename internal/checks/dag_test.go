// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit"
)

// rule lists what the code of a package, its tests left out, may import beside
// the standard library: paths inside the module without their "tagbus/", other
// modules in full. A path that ends in /... stands for itself and all below.
type rule struct {
	pkg     string
	why     string // completes "not allowed, because …"
	imports []string
}

// table is the architecture. The first rule whose pkg matches decides, so that
// an exception stands before the general case.
var table = []rule{
	{".", "the root package holds only documentation", nil},
	{"cmd/internal/screen", "a terminal is asked of the system, and shows whatever it is given", []string{"internal/stream", "golang.org/x/sys/unix", "golang.org/x/term"}},
	{"cmd/internal/acl", "a policy is looked at in its file, on no bus", []string{
		"internal/filewatch", "internal/sanitize", "cmd/internal/cli", "cmd/internal/table", "cmd/internal/tool", "cmd/internal/units", "acl", "identity", "tags",
	}},
	{"cmd/internal/cert", "certificates are files, on no bus", []string{
		"internal/filewatch", "internal/flock", "internal/sanitize", "internal/stuck", "cmd/internal/cli", "cmd/internal/table", "cmd/internal/tool", "cmd/internal/units", "identity",
	}},
	{"cmd/internal/mirror", "a mirror copies entries whatever becomes of messages, and needs an id as instances have", []string{
		"cmd/internal/cli", "cmd/internal/tool", "cmd/internal/units", "bus", "bus/directory", "bus/directory/file", "github.com/nats-io/nuid",
	}},
	{"cmd/internal/tool/tooltest", "command lines of tests are read and run as the program does it", []string{"internal/testkit", "cmd/internal/cli", "cmd/internal/tool", "github.com/alecthomas/kong"}},
	{"cmd/internal/rec/rectest", "recordings of tests are written whatever reads them", []string{"internal/testkit", "bus", "recording", "tags"}},
	{"cmd/internal/jsonline", "how JSON is written does not depend on what it says", nil},
	{"cmd/internal/options", "what a flag says is read alike for a command and a library, and needs nothing that serves one", []string{
		"access", "bus/directory", "cmd/internal/words", "identity", "internal/fileflags", "internal/stuck", "github.com/alecthomas/kong",
	}},
	{"cmd/libtagbus/core", "how C calls a function does not depend on what it does", []string{"C", "bus", "tags", "cmd/libtagbus/objects", "golang.org/x/sys/unix"}},
	{"cmd/libtagbus", "the core is all there is to it", []string{"cmd/libtagbus/core"}},
	{"cmd/libtagbus/objects", "what handles stand for is on a node, and options are read as the commands read them; nothing here knows C", []string{
		"access", "bus", "bus/directory", "bus/state", "cmd/internal/jsonline", "cmd/internal/options", "cmd/internal/units", "cmd/internal/words", "internal/build", "internal/stuck", "node", "tags", "golang.org/x/sys/unix",
	}},
	{"cmd/programs", "the commands as functions add nothing to them", []string{"internal/stuck", "cmd/internal/cli", "cmd/internal/manual", "cmd/internal/pagefiles", "cmd/internal/publish", "cmd/internal/service", "cmd/internal/subscribe", "cmd/internal/tagbus", "cmd/internal/units"}},
	{"cmd/...", "a command reaches backends through node and messages through bus, serves metrics by HTTP, which bus/metrics leaves to programs, and tells by netio which address of its command line is wrong", []string{
		"access", "acl", "identity", "internal/headroom", "internal/fileflags", "internal/filewatch", "internal/flock", "internal/payload", "internal/sanitize", "internal/stuck", "internal/build", "internal/backoff", "internal/signals", "internal/sizelimit", "internal/stream", "internal/syserror", "cmd/internal/...", "cmd/programs", "node", "bus", "netio", "bus/directory/...", "bus/metrics", "bus/observer", "bus/state", "recording", "tags",
		"github.com/alecthomas/kong", "github.com/BurntSushi/toml", "golang.org/x/sys/unix", "golang.org/x/term", "github.com/coreos/go-systemd/v22/daemon",
		"github.com/foxglove/mcap/go/mcap", "github.com/gopacket/gopacket/...", "github.com/HdrHistogram/hdrhistogram-go",
		"github.com/prometheus/client_golang/prometheus", "github.com/prometheus/client_golang/prometheus/collectors",
		"github.com/prometheus/client_golang/prometheus/promhttp", "github.com/prometheus/client_model/go",
	}},
	{"bindings/go/examples/...", "an example shows what a user can import, and its peers in other languages take certificates", []string{
		"bindings/go/examples/...", "access", "identity", "node", "bus", "tags",
	}},
	{"bindings", "it has only tests", nil},
	{"bindings/python", "Go only starts the tests of the Python package", nil},
	{"examples/...", "an example shows what a user can import", []string{
		"node", "bus/...", "subscription", "netio", "netio/reactor", "netio/tcp", "netio/rdma", "tags",
	}},
	{"node", "node only puts loop, backend and directory together; it is the one place that names a backend", []string{
		"access", "netio", "netio/multi", "netio/reactor", "netio/shm", "netio/tcp", "netio/rdma", "bus", "bus/directory", "bus/directory/file", "bus/directory/signed", "bus/observer", "tags",
	}},
	{"access", "what a peer may do follows from its certificate and the policy, as the bus asks it", []string{"acl", "bus", "identity", "internal/sanitize", "tags"}},
	{"bus", "the bus knows the contract in netio, never a backend, a loop or a kind of directory", []string{
		"acl", "identity", "internal/alarm", "internal/goroutine", "internal/validate", "internal/sanitize", "internal/backoff", "subscription", "bus/directory", "bus/internal/...", "bus/state", "netio", "tags",
		"github.com/nats-io/nuid",
	}},
	{"bus/observer", "an observer asks over a connection of the bus, and publishes and subscribes nothing", []string{
		"internal/alarm", "internal/sanitize", "subscription", "bus", "bus/directory", "bus/internal/...", "bus/state", "netio", "tags", "github.com/nats-io/nuid",
	}},
	{"bus/state", "what tools show depends on nothing but tags", []string{"tags"}},
	{"bus/internal/observe", "how observers are answered does not depend on what the answer says", []string{
		"internal/alarm", "internal/sanitize", "subscription", "bus/internal/...", "bus/state", "netio", "tags",
	}},
	{"bus/internal/sendqueue", "what waits for a peer is bounded whatever it says, and comes before the goodbye", []string{"bus/internal/ring", "subscription", "netio"}},
	{"bus/internal/arena", "memory is cut into runs whatever is written into them", []string{"netio"}},
	{"bus/internal/heartbeat", "the silence of a peer is measured alike on both sides, whatever they say", []string{"internal/alarm", "internal/validate", "bus/internal/steady", "netio"}},
	{"bus/internal/toptags", "which tags are busy depends on what was counted of them, and on no session", []string{
		"bus/internal/fanout", "bus/internal/coarseclock", "bus/internal/topk", "bus/state",
	}},
	{"bus/internal/cache", "the cache keeps bytes by line and knows no tags, pages or subscribers", []string{"netio"}},
	{"bus/internal/workqueue", "how work is cut does not depend on the work", []string{"bus/internal/ring"}},
	{"bus/internal/closer", "how a Close is ordered depends only on what it closes", []string{"netio"}},
	{"bus/internal/dialer", "how a connection is tried again does not depend on the backend or on what is said on it", []string{
		"netio", "internal/alarm", "bus/internal/heartbeat", "github.com/cenkalti/backoff/v5",
	}},
	{"bus/internal/fanout", "the way of a message is decided without knowing a session, and beyond the contract of netio no transport", []string{
		"internal/invariants", "bus/internal/arena", "bus/internal/cache", "bus/internal/workqueue", "bus/internal/ledger", "bus/internal/positions", "bus/internal/ring", "bus/internal/coarseclock", "bus/internal/tagmap",
		"bus/internal/tagset", "bus/internal/wire", "internal/alarm", "subscription", "netio", "tags",
	}},
	{"bus/internal/discovery", "what becomes of an entry does not depend on what is kept for it", []string{"bus/directory", "bus/internal/workqueue"}},
	{"bus/internal/events", "how events are told does not depend on what they say, except that losses have causes", []string{"bus/internal/ledger", "bus/internal/ring", "subscription"}},
	{"bus/internal/door", "what a policy is asked of a peer does not depend on what the peer says, or on which side it is", []string{
		"acl", "identity", "internal/alarm", "internal/backoff", "internal/sanitize", "netio", "tags",
	}},
	{"bus/internal/contact", "how a peer is reached, and why it is not, follows from its entry, and not from what is said to it", []string{
		"internal/backoff", "internal/sanitize", "bus/directory", "bus/internal/dialer", "bus/internal/ways", "bus/state", "netio",
	}},
	{"bus/internal/reception", "what becomes of a connection until its peer is known depends on its first message, and not on what the peer then does", []string{
		"acl", "internal/alarm", "internal/sanitize", "bus/internal/admission", "bus/internal/door", "bus/internal/heartbeat", "bus/internal/observe", "bus/internal/snapshot", "bus/state", "netio", "subscription",
	}},
	{"bus/internal/ending", "when a publisher has ended depends on the accounts of its subscribers, and not on what ends them", []string{"bus/internal/ledger"}},
	{"bus/internal/stall", "whether a subscriber takes its messages depends on what waits for it, and not on what that is", []string{"bus/internal/heartbeat", "bus/internal/steady", "subscription"}},
	{"bus/internal/group", "a group is put together from messages alone, before anything of it takes effect", []string{"bus/internal/positions", "bus/internal/tagset", "subscription", "tags"}},
	{"bus/internal/hostaddr", "the addresses of the host depend on the system alone", []string{"golang.org/x/sys/unix"}},
	{"bus/internal/intake", "what arrives of a publisher is found and counted without knowing a session, a handler or the transport", []string{
		"bus/internal/coarseclock", "bus/internal/ledger", "bus/internal/positions", "bus/internal/tagmap", "bus/internal/wire", "bus/internal/workqueue", "subscription", "tags",
	}},
	{"bus/internal/ledger", "what is lost is counted alike at both ends, which know of it by subscription", []string{"bus/internal/positions", "bus/internal/coarseclock", "subscription", "tags"}},
	{"bus/internal/listing", "how a client is listed does not depend on what it does", []string{"bus/directory", "bus/internal/advertise", "bus/internal/announce", "bus/internal/hostaddr", "tags"}},
	{"bus/internal/mailbox", "what a box loses is decided by a policy, whatever its messages are", []string{"bus/internal/ring", "subscription"}},
	{"bus/internal/pull", "what waits for the goroutines of a subscription does not depend on the session in which it has come, or on who takes it", []string{
		"bus/internal/mailbox", "bus/internal/retain", "bus/internal/ring", "bus/internal/wire", "subscription", "netio", "tags",
	}},
	{"bus/internal/offers", "which tags peers have is said by their entries, and what a peer is does not matter", []string{"bus/internal/tagset", "bus/internal/workqueue", "tags"}},
	{"bus/internal/topk", "an order decides, whatever the elements are", nil},
	{"bus/internal/snapshot", "the state of an instance is made of what is counted, and of no session", []string{
		"internal/build", "internal/sanitize", "bus/internal/advertise", "bus/internal/coarseclock", "bus/internal/fanout", "bus/internal/intake", "bus/internal/ledger", "bus/internal/steady", "bus/internal/topk", "bus/internal/toptags", "bus/state", "netio", "subscription", "tags",
	}},
	{"bus/internal/positions", "both ends and every control message write positions alike", []string{"subscription", "tags"}},
	{"bus/internal/request", "what is asked for, and what the answers mean, does not depend on the session in which that is said", []string{
		"bus/internal/group", "bus/internal/positions", "bus/internal/tagset", "bus/internal/workqueue", "subscription", "tags",
	}},
	{"bus/internal/wanted", "what a subscription wants does not depend on who asks for it, or of whom", []string{"bus/internal/tagset", "subscription", "tags"}},
	{"bus/internal/pending", "which request a reply answers does not depend on what they say, or how they travel", nil},
	{"bus/internal/retain", "memory is kept whatever lies in it", []string{"netio"}},
	{"bus/internal/announce", "what keeps an entry true depends on the directory and on the host, and not on what the instance does", []string{
		"internal/sanitize", "bus/directory", "bus/internal/advertise", "bus/internal/hostaddr", "tags",
	}},
	{"bus/internal/listen", "where a program listens follows from its configuration and its backends", []string{"bus/internal/advertise", "bus/internal/dialer", "bus/internal/ways", "netio"}},
	{"bus/internal/advertise", "the addresses of listeners depend on them and on the host alone", []string{"bus/directory"}},
	{"bus/internal/ways", "how a peer is reached follows from its entry and the backends of both", []string{"bus/directory", "bus/internal/dialer", "netio"}},
	{"bus/internal/rights", "what two sides may have of each other is computed, whatever the policy is that says it", []string{"bus/internal/group", "identity", "subscription", "tags"}},
	{"bus/internal/ring", "a queue depends on nothing", nil},
	{"bus/internal/overlap", "which publisher sends a tag is decided by what they announce", []string{"bus/internal/tagset", "bus/internal/workqueue", "tags"}},
	{"bus/internal/steady", "a clock that is never set depends on nothing", nil},
	{"bus/internal/coarseclock", "what time it is depends on a loop, and on nothing that happens", []string{"internal/alarm", "bus/internal/steady"}},
	{"bus/internal/admission", "which connection gives way depends on addresses, and what a connection is does not matter", nil},
	{"bus/internal/tagmap", "a map depends on its keys", []string{"tags"}},
	{"bus/internal/tagset", "the limits of a set are those of a subscription", []string{"subscription", "tags"}},
	{"bus/internal/wire", "the bytes of a page depend on nothing except tags", []string{"tags"}},
	{"bus/internal/wire/wiretest", "tests write and read pages with what the bus does it with", []string{"bus/internal/wire", "tags"}},
	{"bus/directory", "the interface of a directory knows nothing of those who implement or use it", []string{"internal/goroutine", "internal/sanitize", "tags"}},
	{"bus/directory/file", "a directory is used by the bus and does not use it", []string{
		"internal/validate", "internal/sanitize", "internal/backoff", "bus/directory", "tags", "github.com/nats-io/nuid", "golang.org/x/sys/unix",
	}},
	{"bus/directory/codec", "the bytes of an entry do not depend on where they are kept", []string{"internal/sanitize", "bus/directory", "tags"}},
	{"bus/directory/directorytest", "a directory is held to the contract whatever its kind", []string{"bus/directory", "tags"}},
	{"bus/directory/memory", "a directory is used by the bus and does not use it", []string{"bus/directory", "tags"}},
	{"bus/directory/signed", "which entries count depends on signatures and the policy, and neither on the storage nor on the bus", []string{
		"acl", "identity", "internal/sanitize", "internal/backoff", "bus/directory", "tags",
	}},
	{"directory/etcd", "a directory is used by the bus and does not use it; it is a client of etcd, and has no server", []string{
		"internal/validate", "internal/sanitize", "internal/stuck", "bus/directory", "bus/directory/codec", "github.com/nats-io/nuid",
		"go.etcd.io/etcd/api/v3/...", "go.etcd.io/etcd/client/v3", "go.uber.org/zap", "google.golang.org/grpc/...",
	}},
	{"directory/etcd/internal/held", "how much is held for a connection depends on no request; the codec that counts what is written stands in the place of that of etcd, and counts in its metrics", []string{
		"google.golang.org/grpc/...", "github.com/prometheus/client_golang/prometheus",
	}},
	{"directory/etcd/internal/guard", "what a caller may do depends on its request, the policy and what an entry is, and on no connection", []string{
		"internal/sanitize", "acl", "identity", "tags", "bus/directory", "bus/directory/codec", "directory/etcd/internal/held", "go.etcd.io/etcd/api/v3/...", "google.golang.org/grpc/...", "google.golang.org/protobuf/proto",
	}},
	{"directory/etcd/internal/door", "which caller a connection is from depends on certificates, users and addresses, and on no request", []string{
		"acl", "identity", "directory/etcd/internal/guard", "directory/etcd/internal/held",
	}},
	{"directory/etcd/member", "a member is a server of etcd, and what is kept there is the guard's business", []string{
		"internal/sanitize", "internal/stuck", "access", "identity", "directory/etcd/internal/door", "directory/etcd/internal/guard", "go.etcd.io/etcd/...", "go.uber.org/zap/...", "google.golang.org/grpc/...",
	}},
	{"directory/etcd/cmd/...", "a command of this module is one of the others with the directory on etcd linked in, or runs a member", []string{
		"internal/sanitize", "internal/stuck", "internal/build", "internal/fileflags", "internal/signals", "internal/stream", "cmd/...", "directory/etcd/...", "github.com/alecthomas/kong", "github.com/BurntSushi/toml",
		"github.com/coreos/go-systemd/v22/daemon", "go.etcd.io/etcd/api/v3/...", "go.etcd.io/etcd/client/v3",
	}},
	{"directory/etcd/internal/faultload", "a load with the directory on etcd linked in knows nothing else", []string{"directory/etcd", "test/faults/load"}},
	{"directory/etcd/internal/embedded", "a server for tests knows nothing of directories", []string{
		"go.etcd.io/etcd/api/v3/...", "go.etcd.io/etcd/client/...", "go.etcd.io/etcd/server/v3/embed", "go.uber.org/zap", "google.golang.org/grpc",
	}},
	{"bridge/record", "what the bytes of a record mean does not depend on the engine that keeps them", []string{
		"internal/sanitize", "bus", "recording", "tags",
	}},
	{"bridge/durable", "the contract with an engine knows neither what is in a record nor an engine", []string{"internal/sanitize", "tags"}},
	{"bridge/durable/durabletest", "the contract as tests runs against any engine", []string{"tags", "bridge/durable"}},
	{"bridge/jetstream", "an engine knows the contract and its client, and not what is in a record", []string{
		"internal/sanitize", "internal/validate", "tags", "bridge/durable", "bridge/internal/pattern", "github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream",
	}},
	{"bridge/kafka", "an engine knows the contract and its client, and not what is in a record", []string{
		"internal/sanitize", "internal/validate", "tags", "bridge/durable", "bridge/internal/pattern", "github.com/twmb/franz-go/pkg/kerr", "github.com/twmb/franz-go/pkg/kgo",
		"github.com/twmb/franz-go/pkg/kmsg", "github.com/twmb/franz-go/pkg/sasl/...",
	}},
	{"bridge/cmd/...", "a command of the bridge has its flags and its figures, registers etcd://, and has all else from cmd/programs", []string{
		"internal/sanitize", "internal/stuck", "bus", "bus/metrics", "recording", "tags", "cmd/programs", "directory/etcd", "bridge/...",
		"github.com/prometheus/client_golang/prometheus",
	}},
	{"bridge/in", "what is published comes from any engine", []string{
		"internal/flock", "internal/sanitize", "internal/stuck", "internal/validate", "bus", "recording", "tags", "bridge/durable", "bridge/internal/follow", "bridge/record",
	}},
	{"bridge/convert", "a recording is made of any engine", []string{
		"internal/sanitize", "internal/validate", "bus", "recording", "tags", "bridge/durable", "bridge/internal/follow", "bridge/record",
	}},
	{"bridge/internal/follow", "the bounds of a reader hold for any engine, and whatever it makes of what it reads", []string{
		"internal/sanitize", "bridge/durable", "bridge/record",
	}},
	{"bridge/out", "a bridge is a subscriber that writes to any engine", []string{
		"internal/validate", "bus", "recording", "tags", "bridge/durable", "bridge/internal/follow", "bridge/internal/spool", "bridge/internal/writer", "bridge/record",
	}},
	{"bridge/internal/writer", "what is appended next depends on messages and on what became of the last append, and on no session", []string{
		"internal/sanitize", "internal/validate", "bus", "tags", "bridge/durable", "bridge/internal/follow", "bridge/internal/spool", "bridge/record",
	}},
	{"bridge/internal/spool", "what is in files does not depend on what became of the appends", []string{
		"internal/flock", "internal/sanitize", "internal/stuck", "bus", "recording", "bridge/durable", "bridge/record",
	}},
	{"bridge/internal/spool/memdisk", "a disk of tests keeps the contract and knows nothing else", []string{"bridge/internal/spool"}},
	{"bridge/internal/memlog", "a log of tests keeps the contract and knows nothing else", []string{"tags", "bridge/durable"}},
	{"bridge/internal/pattern", "by which pattern keys have names is the same in each engine", []string{"tags"}},
	{"bridge/internal/killable", "a process is killed, whatever it serves", nil},
	{"bridge/internal/natsserver", "servers of tests are processes, whatever is kept in them", []string{"bridge/internal/killable"}},
	{"bridge/internal/kafkaserver", "brokers of tests are in memory, or processes, whatever is kept in them", []string{
		"bridge/internal/killable", "github.com/twmb/franz-go/pkg/kerr", "github.com/twmb/franz-go/pkg/kfake", "github.com/twmb/franz-go/pkg/kgo", "github.com/twmb/franz-go/pkg/kmsg",
	}},
	{"bus/metrics", "metrics read the bus from outside, so that the bus needs no prometheus", []string{
		"internal/sanitize", "bus", "bus/directory", "github.com/prometheus/client_golang/prometheus/...",
	}},
	{"subscription", "which subscriber wants which tag is decided without knowing the bus or a backend", []string{
		"internal/sanitize", "netio", "tags", "github.com/vmihailenco/msgpack/v5/...",
	}},
	{"acl", "which peer may do what depends on its names, on tags and on the file with the rules", []string{
		"internal/sanitize", "internal/filewatch", "identity", "tags",
	}},
	{"identity", "which certificates count is decided by files, whatever is transported", []string{"internal/sanitize", "internal/filewatch"}},
	{"internal/filewatch", "what files say now does not depend on what is made of them", []string{"internal/sanitize", "internal/stuck"}},
	{"internal/fileflags", "that a flag names a file does not depend on the command", []string{"internal/stuck", "github.com/alecthomas/kong"}},
	{"internal/stuck", "that a file is waited for does not depend on what is in it", []string{"internal/sanitize", "internal/sizelimit"}},
	{"internal/build", "which version a program has depends on its build", nil},
	{"internal/alarm", "what is to be done at a time depends on nothing but a timer, which its user brings", nil},
	{"internal/validate", "what is wrong with a configuration is collected alike for all of them", nil},
	{"internal/backoff", "when something is said again depends on nothing", nil},
	{"internal/sizelimit", "which limit a file exceeds is asked of the system", []string{"golang.org/x/sys/unix"}},
	{"internal/stream", "that a reader has gone does not depend on what was written", []string{"internal/sizelimit", "internal/stuck", "internal/syserror", "golang.org/x/term"}},
	{"internal/syserror", "what an error of the system means depends on nothing", nil},
	{"internal/signals", "how a program ends does not depend on what it does", nil},
	{"internal/flock", "a lock is asked of the system", nil},
	{"internal/payload", "what is in a payload is said by a file, whatever becomes of the message", []string{"internal/sanitize", "internal/stuck", "tags"}},
	{"internal/sanitize", "what makes text safe to show depends on nothing", nil},
	{"internal/checks", "the tests of the tree look at files, and no program imports them", nil},
	{"internal/site", "a site is simulated by the tests of this package, and no program imports it", nil},
	{"internal/testkit", "how much tests do depends on nothing", nil},
	{"internal/testkit/away", "a file system of tests depends on nothing", []string{"golang.org/x/sys/unix"}},
	{"internal/testkit/clib", "the C library is built by a script, whatever is in it", []string{"internal/testkit"}},
	{"internal/testkit/cut", "a connection of tests is cut, whatever goes over it", nil},
	{"internal/testkit/extremes", "numbers at the edges of their types are tried alike in all configurations", nil},
	{"internal/testkit/pki", "certificates for tests depend on nothing", nil},
	{"internal/testkit/wallclock", "times of tests depend on nothing", nil},
	{"internal/testkit/pty", "a terminal of tests depends on nothing", []string{"golang.org/x/sys/unix"}},
	{"netio", "the contract depends on nobody who keeps it", []string{"internal/validate", "internal/sanitize", "netio/internal/memgroup", "netio/internal/sealed", "golang.org/x/sys/unix"}},
	{"netio/internal/trouble", "when something is logged depends on nothing", []string{}},
	{"netio/internal/memgroup", "what the system allows is only read", nil},
	{"netio/internal/sealed", "memory for other processes depends on the system only", []string{"netio/internal/memgroup", "golang.org/x/sys/unix"}},
	{"internal/headroom", "which descriptors are the last depends on the system only", []string{"golang.org/x/sys/unix"}},
	{"internal/testkit/backendtest", "the tests of backends drive any of them", []string{
		"internal/testkit", "netio", "internal/invariants", "netio/netiotest", "netio/reactor", "golang.org/x/sys/unix",
	}},
	{"internal/goroutine", "which goroutine is a loop concerns all kinds of loops", nil},
	{"netio/internal/handover", "what backends do alike knows the contract and the loop, not the backends", []string{
		"internal/alarm", "netio", "internal/invariants", "netio/reactor",
	}},
	{"internal/invariants", "what a debug build checks depends on nothing", nil},
	{"netio/internal/mutual", "when a handshake is computed, and what its configuration may say, does not depend on the backend", []string{"internal/validate", "netio", "golang.org/x/sys/unix"}},
	{"netio/internal/spread", "several loops for one backend: it knows the contract and the loop, not the backends", []string{
		"netio", "netio/internal/handover", "internal/invariants", "netio/reactor",
	}},
	{"internal/testkit/memnet", "the network in memory is a backend: it knows the contract, not the suite that tests it", []string{
		"netio", "internal/goroutine", "internal/invariants",
	}},
	{"netio/netiotest", "the conformance suite must run against any backend", []string{
		"internal/testkit", "netio", "internal/goroutine", "internal/invariants", "go.uber.org/goleak", "pgregory.net/rapid",
	}},
	{"netio/reactor", "the event loop serves anything that has a file descriptor", []string{"internal/validate", "internal/sanitize", "internal/goroutine", "golang.org/x/sys/unix"}},
	{"netio/tcp", "a backend knows the contract and the loop, not the other backends nor the bus", []string{
		"internal/alarm", "internal/validate", "netio", "netio/internal/handover", "internal/headroom", "netio/internal/mutual", "netio/internal/trouble", "internal/invariants", "netio/internal/spread", "netio/reactor", "golang.org/x/sys/unix",
	}},
	{"netio/shm", "a backend knows the contract and the loop, not the other backends nor the bus", []string{
		"internal/alarm", "internal/validate", "netio", "netio/internal/handover", "internal/headroom", "netio/internal/mutual", "netio/internal/sealed", "netio/internal/trouble", "internal/invariants", "netio/reactor", "golang.org/x/sys/unix",
	}},
	{"netio/multi", "several backends are one whatever they are", []string{"netio"}},
	{"netio/rdma", "a backend knows the contract and the loop, and leaves cgo to internal/fi", []string{
		"internal/alarm", "internal/validate", "netio", "netio/internal/handover", "netio/internal/spread", "internal/invariants", "netio/reactor", "netio/rdma/internal/fi", "golang.org/x/sys/unix",
	}},
	{"netio/rdma/internal/fi", "fi speaks libfabric's words only; it is the one place for cgo", []string{"C", "internal/invariants", "golang.org/x/sys/unix"}},
	{"recording", "a file of messages depends on what a subscriber gets, and on no session, loop or backend; it compresses its blocks", []string{
		"internal/validate", "internal/flock", "internal/sanitize", "internal/stuck", "bus", "tags", "github.com/klauspost/compress/s2", "github.com/klauspost/compress/zstd",
	}},
	{"test/faults", "a program that tests others from outside chooses rows and prints what became of them", []string{
		"test/faults/load", "test/faults/internal/bed", "test/faults/internal/rows", "test/faults/internal/table",
	}},
	{"test/faults/load", "the load is a user of the public API, and writes down what it did where a checker finds it", []string{
		"access", "bus", "identity", "netio/shm", "node", "tags", "test/faults/internal/check", "test/faults/internal/record", "golang.org/x/sys/unix",
	}},
	{"test/faults/soak", "a soak is a user of what the table of faults is made of, except its rows, and reads recordings as any user does", []string{
		"recording", "tags", "test/faults/load", "test/faults/internal/audit", "test/faults/internal/bed", "test/faults/internal/check", "test/faults/internal/expected",
		"test/faults/internal/flat", "test/faults/internal/pki", "test/faults/internal/record", "golang.org/x/sys/unix",
	}},
	{"test/faults/internal/audit", "the books of hours are those of a row, closed one by one", []string{"test/faults/internal/check", "test/faults/internal/record"}},
	{"test/faults/internal/expected", "which lines a fault explains depends on no program", nil},
	{"test/faults/internal/flat", "a slope is a number, whatever it is of", nil},
	{"test/faults/internal/wire", "a wire is between two hosts, and knows nothing of what they say", []string{"test/faults/internal/bed", "golang.org/x/sys/unix"}},
	{"test/faults/internal/bed", "hosts, processes and wires depend on the system, and not on what is done to them", []string{"golang.org/x/sys/unix"}},
	{"test/faults/internal/check", "whether promises were kept is decided without the bus, which is what is judged", nil},
	{"test/faults/internal/pki", "certificates depend on nothing", nil},
	{"test/faults/internal/record", "what is written down outlives its process, whatever it is", []string{"golang.org/x/sys/unix"}},
	{"test/faults/internal/rows", "a row says what is done and promised, and the table how it is run", []string{
		"test/faults/internal/bed", "test/faults/internal/pki", "test/faults/internal/table", "test/faults/internal/wire", "golang.org/x/sys/unix",
	}},
	{"test/faults/internal/table", "how rows are run does not depend on what they do", []string{
		"test/faults/load", "test/faults/internal/bed", "test/faults/internal/check", "test/faults/internal/pki", "test/faults/internal/record",
	}},
	{"tags", "what messages are called depends on nothing but how text is shown", []string{"internal/sanitize"}},
}

// listed is the part of `go list -json` that the table is about.
type listed struct {
	ImportPath string
	Imports    []string
}

// violations names every import that rules do not allow and every package that
// they do not know.
func violations(packages []listed, rules []rule) []string {
	var found []string
	for _, p := range packages {
		name := inModule(p.ImportPath)
		at := slices.IndexFunc(rules, func(r rule) bool { return matches(r.pkg, name) })
		if at < 0 {
			found = append(found, name+" is not in the table in dag_test.go: add it, with a reason")
			continue
		}
		for _, path := range p.Imports {
			allowed := func(pattern string) bool { return matches(pattern, inModule(path)) }
			if isStandard(path) || slices.ContainsFunc(rules[at].imports, allowed) {
				continue
			}
			found = append(found, fmt.Sprintf("%s imports %s: not allowed by the table in dag_test.go, because %s",
				name, inModule(path), rules[at].why))
		}
	}
	return found
}

// inModule shortens a path inside the module; the root package becomes ".".
func inModule(path string) string {
	if path == "tagbus" {
		return "."
	}
	return strings.TrimPrefix(path, "tagbus/")
}

// isStandard reports whether path is in the standard library. "C" is not: it
// means cgo, which the table allows in one place.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != "tagbus" && first != "C" && !strings.Contains(first, ".")
}

func matches(pattern, path string) bool {
	prefix, below := strings.CutSuffix(pattern, "/...")
	return path == prefix || below && strings.HasPrefix(path, prefix+"/")
}

// TestImportTable holds the module to the table, in each of its build variants.
func TestImportTable(t *testing.T) {
	inRoot(t)
	tests := []struct {
		name  string
		dir   string
		flags []string
	}{
		{"plain", ".", nil},
		{"race detector", ".", []string{"-race"}},
		{"with libfabric and ownership checks", ".", []string{"-tags", "libfabric,invariants"}},
		{"the module of the directory on etcd", "directory/etcd", nil},
		{"the module of the bridge", "bridge", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, violation := range violations(list(t, test.dir, test.flags), table) {
				t.Error(violation)
			}
		})
	}
}

// list runs `go list` over the module in a folder. cgo is on, so that files with import "C"
// count; listing them needs no C compiler. -e keeps a package that does not
// compile in the list: the compiler says better what is wrong with it.
func list(t *testing.T, dir string, flags []string) []listed {
	t.Helper()
	testkit.DependsOnTree()
	args := append([]string{"list", "-e", "-json=ImportPath,Imports"}, flags...)
	command := exec.CommandContext(t.Context(), "go", append(args, "./...")...)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=1")
	command.Stderr = t.Output()
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for decoder := json.NewDecoder(out); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("reading the output of go list: %v", err)
		}
		packages = append(packages, p)
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("go list: %v", err)
	}
	if len(packages) == 0 {
		t.Fatal("go list named no package")
	}
	return packages
}

func TestViolations(t *testing.T) {
	rules := []rule{
		{"bus", "the bus knows no backend", []string{"netio", "example.com/x/..."}},
		{"netio", "the contract stands alone", nil},
	}
	tests := []struct {
		name    string
		pkg     string
		imports []string
		want    []string
	}{
		{"the standard library is allowed", "tagbus/netio", []string{"net/netip", "iter"}, nil},
		{"what the table lists is allowed", "tagbus/bus", []string{"tagbus/netio", "example.com/x", "example.com/x/y"}, nil},
		{
			"a backend is not allowed because its name begins like the contract's", "tagbus/bus",
			[]string{"tagbus/netio/tcp"},
			[]string{"bus imports netio/tcp: not allowed by the table in dag_test.go, because the bus knows no backend"},
		},
		{
			"another module is not allowed", "tagbus/netio",
			[]string{"example.com/x"},
			[]string{"netio imports example.com/x: not allowed by the table in dag_test.go, because the contract stands alone"},
		},
		{
			"cgo is not allowed", "tagbus/netio",
			[]string{"C", "unsafe"},
			[]string{"netio imports C: not allowed by the table in dag_test.go, because the contract stands alone"},
		},
		{
			"a package missing from the table", "tagbus/other",
			[]string{"fmt"},
			[]string{"other is not in the table in dag_test.go: add it, with a reason"},
		},
		{
			"the root package missing from the table", "tagbus", nil,
			[]string{". is not in the table in dag_test.go: add it, with a reason"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := violations([]listed{{test.pkg, test.imports}}, rules)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("violations differ (-want +got):\n%s", diff)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documented are the names in the documents of netio3 and NetIO-next that a
// reader of them looks for here: types, functions, parameters, callbacks,
// status codes and errors.
var documented = map[string]string{
	"backend guide": `
		Netio3Backend NetworkBackend create BackendType ASYNCMSG LIBFABRIC NetworkMode TCP RDMA
		ThreadSafetyModel SAFE UNSAFE NetworkConfig EpollEventLoop run stop
		use_shared_receive_buffers use_shared_send_buffers buf_size num_buf
		OnDataCb on_data_cb OnConnectionEstablishedCb on_connection_established_cb
		OnConnectionClosedKeysCb on_connection_closed_cb OnConnectionRefusedCb on_connection_refused_cb
		OnSendCompleted on_send_completed_cb
		EndPointAddress ConnectionParameters recv_params send_buffered_params send_zero_copy_params mr_start
		EndpointCapabilities open_listen_endpoint close_listen_endpoint open_active_endpoint close_active_endpoint
		NetioStatus OK NO_RESOURCES FAILED
		get_buffer send_buffer NetworkBuffer write send_data send_data_copy header_data key iovec
		InvalidEndpointAddress InvalidConnectionParameters InvalidSendEndpoint
		ListenEndpointAlreadyExists FailedOpenListenEndpoint UnknownListenEndpoint FailedCloseListenEndpoint
		ActiveEndpointAlreadyExists FailedOpenActiveEndpoint UnknownActiveEndpoint FailedCloseActiveEndpoint
		NoBuffersAllocated NotSupported`,
	"ConnectionManager": `
		ConnectionManager BaseEventLoop NetworkConfig ConnectionParametersRecv create init
		open_listen_endpoint open_send_endpoint_buffered open_send_endpoint_zero_copy
		close_listen_endpoint close_send_endpoint get_num_available_buffers
		apply_to_send_socket_buffered apply_to_send_socket_zero_copy SendSocketBuffered SendSocketZeroCopy
		ListenEndpointAlreadyExists FailedOpenListenEndpoint SendEndpointAlreadyExists FailedOpenSendEndpoint
		UnknownListenEndpoint UnknownSendEndpoint FailedCloseSendEndpoint`,
	"NetIO-next architecture": `
		netio_context netio_init netio_eventloop netio_eventloop_init netio_run netio_terminate cb_init
		MAX_EPOLL_EVENTS netio_signal netio_signal_init netio_signal_fire EFD_SEMAPHORE
		netio_timer netio_timer_init netio_timer_start_s netio_timer_start_ms netio_timer_start_us
		netio_timer_start_ns netio_timer_stop data fi_trywait CQ EQ CO MR CC`,
}

// TestGlossaryKnowsTheDocuments holds docs/glossary.md to both sides: each name
// of the documents is in it, and each name in Go that it gives exists.
func TestGlossaryKnowsTheDocuments(t *testing.T) {
	inRoot(t)
	text, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	source := module(t)
	for document, names := range documented {
		for _, mistake := range checkGlossary(source, string(text), strings.Fields(names)) {
			t.Errorf("docs/glossary.md, %s: %s", document, mistake)
		}
	}
}

// word is a name in the left column: "NetioStatus::OK" has two.
var word = regexp.MustCompile(`\w+`)

// checkGlossary returns the names that no row has on its left, and the names in
// Go on the right that no package exports.
func checkGlossary(s *source, text string, names []string) (mistakes []string) {
	known := make(map[string]bool)
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 4 || strings.TrimSpace(cells[2]) == "" {
			continue
		}
		for _, name := range word.FindAllString(cells[1], -1) {
			known[name] = true
		}
		for _, name := range code.FindAllStringSubmatch(cells[2], -1) {
			if !s.mayExport(strings.TrimPrefix(name[1], "*")) {
				mistakes = append(mistakes, "nobody exports "+name[1])
			}
		}
	}
	for _, name := range names {
		if !known[name] {
			mistakes = append(mistakes, "has no row for "+name)
		}
	}
	return mistakes
}

// mayExport reports whether a name in free text, which may leave out package and
// type, can be one of this module. Names of other packages are not looked up.
func (s *source) mayExport(name string) bool {
	first, _, qualified := strings.Cut(name, ".")
	if s.api[name] || !ast.IsExported(first) && (!qualified || !s.hasPackage(first)) {
		return true
	}
	if ast.IsExported(first) {
		for known := range s.api {
			if strings.HasSuffix(known, "."+name) {
				return true
			}
		}
	}
	return false
}

func (s *source) hasPackage(name string) bool {
	for known := range s.api {
		if strings.HasPrefix(known, name+".") {
			return true
		}
	}
	return false
}

func TestCheckGlossary(t *testing.T) {
	const head = "| netio3 | Go |\n|---|---|\n"
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"a name in code", head + "| `send_data` | `Endpoint.Send` |\n", nil},
		{"a name among others", head + "| get_data, `X::send_data` (1) | `netio.Safe` |\n", nil},
		{"names in Go without package or type, and of other packages", head + "| send_data | `Config`, `Validate`, `*netio.Config`, `time.Duration`, a/path, `nil` |\n", nil},
		{"a name that is missing", head + "| send_data_copy | `Endpoint.Send` |\n", []string{"has no row for send_data"}},
		{"a name outside the tables", head + "send_data is Send.\n", []string{"has no row for send_data"}},
		{"a name on the right only", head + "| Send | send_data |\n", []string{"has no row for send_data"}},
		{"a name without counterpart", head + "| send_data |  |\n", []string{"has no row for send_data"}},
		{"a counterpart that does not exist", head + "| send_data | `Endpoint.SendData` |\n", []string{"nobody exports Endpoint.SendData"}},
		{"a counterpart that a package does not have", head + "| send_data | `reactor.Safe` |\n", []string{"nobody exports reactor.Safe"}},
	}
	s := readSource(t, made)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, checkGlossary(s, test.text, []string{"send_data"})); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package kafkaserver

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Main()
	goleak.VerifyTestMain(m)
}

// produce appends a text in a transaction, which is committed or left open.
func produce(t *testing.T, client *kgo.Client, topic, text string, commit bool) {
	t.Helper()
	err := client.BeginTransaction()
	if err == nil {
		err = client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte(text)}).FirstErr()
	}
	if err == nil && commit {
		err = client.EndTransaction(t.Context(), kgo.TryCommit)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// committed reads up to a text.
func committed(t *testing.T, brokers, topic, last string) (all []string) {
	t.Helper()
	client := Client(t, brokers, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer client.Close()
	for len(all) == 0 || all[len(all)-1] != last {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { all = append(all, string(r.Value)) })
	}
	return all
}

// TestServer_Restart_endsOpenTransactions as a real broker does, also when the kill came between the two writes of a batch.
func TestServer_Restart_endsOpenTransactions(t *testing.T) {
	for _, torn := range []bool{false, true} {
		t.Run(fmt.Sprint("torn ", torn), func(t *testing.T) {
			s := Start(t)
			admin := Client(t, s.Brokers)
			Topic(t, admin, "topic", 1)
			id := kgo.TransactionalID("id")
			first := Client(t, s.Brokers, id)
			produce(t, first, "topic", "a", true)
			produce(t, first, "topic", "b", false)
			s.Kill()
			first.Close()
			if torn {
				files, err := filepath.Glob(filepath.Join(s.dir, "partitions", "topic-0", "*.idx"))
				if err != nil || len(files) != 1 {
					t.Fatalf("got %q, %v, want one file", files, err)
				}
				info, err := os.Stat(files[0])
				if err == nil {
					err = os.Truncate(files[0], info.Size()-entryBytes)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, text := range []string{"c", "d", "e"} {
				s.Restart()
				client := Client(t, s.Brokers, id)
				produce(t, client, "topic", text, true)
				client.Close()
			}
			s.Restart()
			if got := fmt.Sprint(committed(t, s.Brokers, "topic", "e")); got != "[a c d e]" {
				t.Errorf("got %s, want what was committed", got)
			}
		})
	}
}

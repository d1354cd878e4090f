// SPDX-License-Identifier: Apache-2.0

package members

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/directory/etcd/member"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// careTime is how long one member may take to put its database in order, or to send it.
const careTime = 10 * time.Minute

// compactFlags are those of compact.
type compactFlags struct {
	asking `embed:""`
}

// compacted is what compact --json prints for each member.
type compacted struct {
	Name   string `json:"name"`
	Before int64  `json:"before"` // bytes of its database
	After  int64  `json:"after"`
}

// run drops the history, gives the space back, and ends the alarm.
func (f *compactFlags) run(ctx context.Context, s Streams) error {
	return f.with(func(client *clientv3.Client) error {
		if _, err := f.list(ctx, client); err != nil {
			return err
		}
		if err := dropHistory(ctx, client); err != nil {
			return err
		}
		before, err := f.look(ctx, client)
		if err != nil {
			return err
		}
		for _, one := range before.Members {
			if !one.Up {
				continue
			}
			if err := f.defragment(ctx, one, s.Out); err != nil {
				return err
			}
		}
		return disarm(ctx, client)
	})
}

// dropHistory compacts to the newest revision, on the disk too.
func dropHistory(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithTimeout(ctx, careTime)
	defer cancel()
	now, err := client.Get(ctx, keys, clientv3.WithPrefix(), clientv3.WithCountOnly())
	switch {
	case member.IsRefusal(err):
		return err
	case err != nil:
		return fmt.Errorf("history: %w: more than half of the members must be up (tagbus-directory status)", err)
	}
	_, err = client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// defragment gives the unused space of one member back to its disk.
func (f *compactFlags) defragment(ctx context.Context, one state, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, careTime)
	defer cancel()
	if _, err := one.client.Defragment(ctx, one.endpoint); err != nil {
		return fmt.Errorf("%s: its space was not given back: %w: its disk needs as much free space as is in use, %s", one.Name, err, size(one.InUse))
	}
	status, err := one.client.Status(ctx, one.endpoint)
	if err != nil {
		return fmt.Errorf("%s: %w", one.Name, err)
	}
	if f.JSON {
		return json.NewEncoder(to).Encode(compacted{one.Name, one.Database, status.DbSize})
	}
	_, err = fmt.Fprintf(to, "%s: %s, was %s\n", sanitize.Text(one.Name), size(status.DbSize), size(one.Database))
	return err
}

// disarm ends alarms about space.
//
//   - Errors: also if it is not known whether there are some.
func disarm(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	alarms, err := client.AlarmList(ctx)
	if err != nil {
		return fmt.Errorf("an alarm NOSPACE goes on if there is one, as the members do not say: %w: run this command again", err)
	}
	for _, alarm := range alarms.Alarms {
		if alarm.Alarm != etcdserverpb.AlarmType_NOSPACE {
			continue
		}
		if _, err := client.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: alarm.MemberID, Alarm: alarm.Alarm}); err != nil {
			return fmt.Errorf("the alarm NOSPACE goes on: %w", err)
		}
	}
	return nil
}

// snapshotFlags are those of snapshot.
type snapshotFlags struct {
	File string `arg:"" placeholder:"FILE" help:"File to write. It must not exist."`

	asking `embed:""`
}

// saved is what snapshot --json prints.
type saved struct {
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	Version string `json:"version"` // of etcd
}

// run writes a snapshot.
func (f *snapshotFlags) run(ctx context.Context, s Streams) error {
	return f.with(func(client *clientv3.Client) (err error) {
		if _, err := f.list(ctx, client); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, careTime)
		defer cancel()
		file, err := stuck.OpenFile(f.File, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists: give another name, or remove it first", sanitize.Text(f.File))
		}
		if err != nil {
			return err
		}
		done := saved{File: f.File}
		if err = done.copy(ctx, client, file); err == nil {
			err = file.Sync()
		}
		if ctx.Err() != nil && err != nil {
			err = context.Cause(ctx) // a signal, where etcd says that something was cancelled
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return errors.Join(fmt.Errorf("no snapshot: %w", err), stuck.Remove(f.File))
		}
		if f.JSON {
			return json.NewEncoder(s.Out).Encode(done)
		}
		_, err = fmt.Fprintf(s.Out, "%s: %s. To restore it: etcdutl snapshot restore, of etcd %s\n", sanitize.Text(f.File), size(done.Bytes), sanitize.Text(done.Version))
		return err
	})
}

// copy writes a snapshot and checks the sum at its end.
func (s *saved) copy(ctx context.Context, client *clientv3.Client, to io.Writer) error {
	answer, err := client.SnapshotWithVersion(ctx)
	if err != nil {
		return err
	}
	sum, tail := sha256.New(), []byte(nil)
	buffer := make([]byte, 64<<10)
	for {
		n, err := answer.Snapshot.Read(buffer)
		if _, err := to.Write(buffer[:n]); err != nil {
			return errors.Join(err, answer.Snapshot.Close())
		}
		s.Bytes += int64(n)
		tail = append(tail, buffer[:n]...)
		if keep := len(tail) - sha256.Size; keep > 0 {
			sum.Write(tail[:keep])
			tail = append(tail[:0], tail[keep:]...)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, answer.Snapshot.Close())
		}
	}
	if !bytes.Equal(sum.Sum(nil), tail) {
		return errors.Join(errors.New("it arrived damaged: try again"), answer.Snapshot.Close())
	}
	s.Version = answer.Version
	return answer.Snapshot.Close()
}

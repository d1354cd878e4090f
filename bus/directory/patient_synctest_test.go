// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
)

func TestPatient_aDirectoryThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := memory.New()
		defer d.Close()
		s := directorytest.NewSilent(d)
		directorytest.RunSilent(t, directory.Patience, directory.Patient(s), s)
	})
}

func TestPatient_keepsTheContract(t *testing.T) {
	directorytest.Run(t, func(*testing.T) directory.Opened {
		d := memory.New()
		return patientMemory{directory.Patient(d), d}
	})
}

// patientMemory is a directory in memory that is waited for.
type patientMemory struct {
	directory.Directory
	d *memory.Directory
}

func (p patientMemory) Close() error { return p.d.Close() }

// TestPatient_whatItReports: that the storage does not answer, and then what it says.
func TestPatient_whatItReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := memory.New()
		defer d.Close()
		s := directorytest.NewSilent(d)
		p := directory.Patient(s)
		if directory.Patient(p) != p {
			t.Error("got another one in front of one that is patient, want the same")
		}
		if _, err := d.Announce(directorytest.Entry("taken", 1)); err != nil {
			t.Fatal(err)
		}
		s.Goes()
		var told []error
		for _, instance := range []string{"a", "taken"} {
			r, err := p.Announce(directorytest.Entry(instance, 1))
			if err != nil {
				t.Fatalf("got %v from Announce, want nil", err)
			}
			r.(directory.Reporter).OnProblem(func(err error) { told = append(told, err) })
		}
		synctest.Wait()
		if len(told) != 2 || !errors.Is(told[0], directory.ErrSilent) || !errors.Is(told[1], directory.ErrSilent) {
			t.Fatalf("got reports %v, want ErrSilent of both", told)
		}
		var problems []error
		stop, err := p.Watch(func(e directory.Event) {
			if e.Kind == directory.Problem {
				problems = append(problems, e.Err)
			}
		})
		if err != nil || len(problems) != 1 || !errors.Is(problems[0], directory.ErrSilent) {
			t.Errorf("got %v from Watch and problems %v, want ErrSilent", err, problems)
		}
		stop()
		if _, err := p.List(); !errors.Is(err, directory.ErrSilent) {
			t.Errorf("got %v from List, want ErrSilent", err)
		}
		s.Comes()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(told) != 3 || told[2] != nil {
			t.Errorf("got reports %v, want one more: the end of that of a", told)
		}
		if len(problems) != 1 {
			t.Errorf("got problems %v after stop, want no more", problems)
		}
	})
}

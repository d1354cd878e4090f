package handover

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// still is a timer whose time the test decides.
type still struct{ starts int }

func (s *still) Start(time.Duration) error     { return nil }
func (s *still) StartOnce(time.Duration) error { s.starts++; return nil }
func (s *still) Stop()                         {}
func (s *still) Close() error                  { return nil }

func TestAlarmsRingInOrderUnlessCancelled(t *testing.T) {
	timer := &still{}
	alarms := Alarms{timer: timer}
	var got []string
	named := func(name string) *Alarm { return &Alarm{F: func() { got = append(got, name) }} }
	early, late, moved, cancelled, far := named("early"), named("late"), named("moved"), named("cancelled"), named("far")
	alarms.Set(late, -1)
	alarms.Set(far, time.Hour)
	alarms.Set(early, -time.Minute)
	alarms.Set(moved, -time.Second)
	alarms.Set(cancelled, -time.Second)
	alarms.Set(moved, -time.Hour)
	alarms.Cancel(cancelled)
	before := timer.starts
	alarms.ring()
	if diff := cmp.Diff([]string{"moved", "early", "late"}, got); diff != "" {
		t.Errorf("alarms differ (-want +got):\n%s", diff)
	}
	if early.IsSet() || cancelled.IsSet() || !far.IsSet() {
		t.Errorf("IsSet: got %t after its time, %t after Cancel, %t before its time, want false, false and true", early.IsSet(), cancelled.IsSet(), far.IsSet())
	}
	if timer.starts != before+1 {
		t.Errorf("starts of the timer for what is left: got %d, want 1", timer.starts-before)
	}
}

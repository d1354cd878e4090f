// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"os/exec"
	"testing"
	"time"

	"tagbus/bus/directory/file"
)

// sleeper returns a process that waits to be killed. It stays a zombie until the test ends.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	command := exec.Command("cat") // for input that never comes
	in, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Process.Kill()
		_ = command.Wait() // says that it was killed
	})
	return command
}

// processOf returns a child of this process.
func processOf(t *testing.T, command *exec.Cmd) file.Process {
	t.Helper()
	p, ok := file.ProcessOf(command.Process.Pid)
	if !ok {
		t.Fatal("got no process, want that of the command")
	}
	return p
}

// Processes are followed, and told when they have ended, also those that stay zombies.
func TestDirectory_followsProcesses(t *testing.T) {
	if file.ThisProcess().Space == "" {
		t.Skip("needs a /proc that shows this process")
	}
	l, command := file.NewLives(), sleeper(t)
	p := processOf(t, command)
	for range 3 {
		if l.Ended(p) || l.Ask() {
			t.Fatal("got a process that lives as ended, want it alive")
		}
	}
	if n := l.Len(); n != 1 {
		t.Errorf("got %d processes followed, want 1", n)
	}
	if l.Ended(endedProcess(t)) != true || l.Len() != 1 {
		t.Errorf("got an ended process as alive, or %d followed, want it ended and 1", l.Len())
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); !l.Ask(); {
		if time.Now().After(deadline) {
			t.Fatal("got no end of a killed process, want one")
		}
	}
	if !l.Ended(p) {
		t.Error("got a killed process as alive, want it ended")
	}
	l.Sweep()
	if l.Sweep(); l.Len() != 0 {
		t.Errorf("got %d processes followed that nothing asks about, want none", l.Len())
	}
	l.Close()
}

// However many processes there are, the descriptors are few.
func TestDirectory_followsFewProcesses(t *testing.T) {
	if file.ThisProcess().Space == "" {
		t.Skip("needs a /proc that shows this process")
	}
	l := file.NewLives()
	l.Limit(1)
	defer l.Close()
	a, b := processOf(t, sleeper(t)), processOf(t, sleeper(t))
	if l.Ended(a) || l.Ended(b) || l.Len() != 1 {
		t.Errorf("got %d followed, or one ended, want both alive and one followed", l.Len())
	}
	if !l.Follows(a) || l.Follows(b) {
		t.Errorf("got %t, %t followed, want the first", l.Follows(a), l.Follows(b))
	}
}

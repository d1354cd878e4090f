// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/bench/internal/scenario"
)

// Machine is the first line of the raw data: where and how it was measured.
type Machine struct {
	Time       string            `json:"time"`
	Commit     string            `json:"commit"`
	Command    string            `json:"command"`
	CPU        string            `json:"cpu"`
	CPUs       int               `json:"cpus"`
	Kernel     string            `json:"kernel"`
	OS         string            `json:"os"`
	Go         string            `json:"go"`
	Compiler   string            `json:"compiler"`
	Congestion string            `json:"congestion"` // the system's
	Fast       string            `json:"fast"`       // what +cc means
	Profile    scenario.Profile  `json:"profile"`
	Skipped    map[string]string `json:"skipped,omitempty"`
}

// Describe tells where it runs.
func Describe(p scenario.Profile) Machine {
	m := Machine{
		Time: time.Now().UTC().Format("2006-01-02 15:04 MST"), Command: strings.Join(os.Args, " "), Profile: p,
		CPUs: runtime.NumCPU(), Go: runtime.Version(), Fast: FastCongestion(),
		Commit:   output("git", "describe", "--always", "--dirty", "--abbrev=12"),
		Compiler: firstLine(output("cc", "--version")),
		CPU:      field("/proc/cpuinfo", "model name", ":"), OS: strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`),
	}
	if text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control"); err == nil {
		m.Congestion = strings.TrimSpace(string(text))
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	return m
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// field returns what stands behind a name in a file.
func field(file, name, separator string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if before, after, found := strings.Cut(line, separator); found && strings.TrimSpace(before) == name {
			return strings.TrimSpace(after)
		}
	}
	return "unknown"
}

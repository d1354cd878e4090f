// SPDX-License-Identifier: Apache-2.0

package state

import "time"

// Process is a program and its instances: what it serves by HTTP, as the commands do with
// --metrics.
type Process struct {
	Version int       `json:"state_version"` // of this form
	Time    time.Time `json:"time"`          // by the clock of its host

	Command string    `json:"command"`        // its name: "publisher"
	Host    string    `json:"host,omitempty"` // name of its host
	PID     int       `json:"pid"`            // process id on that
	Program string    `json:"program"`        // version of tagbus in it; "(devel)" if the build does not say
	Go      string    `json:"go"`             // version of Go that has built it
	Since   time.Time `json:"since"`          // when it began
	Uptime  float64   `json:"uptime_seconds"` // since then

	Instances []State `json:"instances"` // empty while the program starts
}

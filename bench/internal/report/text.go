// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"

	"tagbus/bench/internal/run"
	"tagbus/bench/internal/scenario"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// metricName is the head of a column.
func metricName(m scenario.Metric) string {
	switch m {
	case scenario.Messages:
		return "M msg/s"
	case scenario.Bytes:
		return "GB/s"
	case scenario.P50:
		return "p50 µs"
	case scenario.Memory:
		return "bytes per subscriber"
	case scenario.P99:
		return "p99 µs"
	case scenario.CPU:
		return "CPU s per million"
	case scenario.SubscriberCPU:
		return "ns of CPU per message, subscriber"
	case scenario.SubscriberMemory:
		return "bytes of each subscriber"
	case scenario.IdleCPU:
		return "CPU share, idle"
	case scenario.SubscriberIdle:
		return "CPU share of subscribers, idle"
	case scenario.Connected:
		return "s until all have subscribed"
	case scenario.Dropped:
		return "connections lost or refused"
	case scenario.AllSeen:
		return "s until all see all"
	case scenario.OneSeen:
		return "s until all see one more"
	case scenario.MemberBytes:
		return "MB of a member"
	case scenario.ServersIdle:
		return "CPU share of servers, idle"
	case scenario.ClientsIdle:
		return "CPU share of all clients, idle"
	case scenario.WronglyGone:
		return "entries of the living that were gone"
	}
	return string(m)
}

// amount writes a value in the unit of metricName.
func amount(m scenario.Metric, v float64) string {
	switch m {
	case scenario.Messages:
		return fmt.Sprintf("%.3g", v/1e6)
	case scenario.Bytes:
		return fmt.Sprintf("%.2f", v/1e9)
	case scenario.P50, scenario.P99:
		return fmt.Sprintf("%.1f", v/1e3)
	case scenario.CPU:
		return fmt.Sprintf("%.3f", v/1e3)
	case scenario.Memory, scenario.SubscriberMemory, scenario.SubscriberCPU, scenario.WronglyGone:
		return fmt.Sprintf("%.0f", v)
	case scenario.AllSeen, scenario.OneSeen, scenario.Connected:
		return fmt.Sprintf("%.2f", v)
	case scenario.Dropped:
		return fmt.Sprintf("%.1f", v)
	case scenario.MemberBytes:
		return fmt.Sprintf("%.0f", v/1e6)
	case scenario.IdleCPU, scenario.SubscriberIdle, scenario.ServersIdle, scenario.ClientsIdle:
		return fmt.Sprintf("%.2f %%", 100*v)
	}
	return fmt.Sprintf("%g", v)
}

// Line is a measurement in one line, while it runs.
func Line(s scenario.Scenario, r run.Record) string {
	if r.Error != "" {
		return fmt.Sprintf("%-33s %-20s %d  FAILED: %s", r.Scenario, r.System, r.Round+1, r.Error)
	}
	return fmt.Sprintf("%-33s %-20s %d  %8s %-9s lost %d corrupt %d disordered %d  cpu %.2f s  others %.0f %%",
		r.Scenario, r.System, r.Round+1, amount(s.Metric, r.Figure(s.Metric, s.Size)), metricName(s.Metric), r.Lost, r.Corrupt, r.Disordered,
		r.CPU(), 100*r.Foreign)
}

// SPDX-License-Identifier: Apache-2.0

package web

import (
	"tagbus/bus/state"
	"tagbus/tags"
)

// tagPage is all that is known of one tag.
type tagPage struct {
	Tag     tags.Tag    `json:"tag"`
	Fields  string      `json:"fields"`
	Sum     *tag        `json:"sum,omitempty"` // nil: no message of it yet
	Servers []tagServer `json:"servers"`
	LeftOut int         `json:"left_out"` // of the servers
}

// tagServer is a process that serves a tag, and what it says of it.
type tagServer struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Role    string   `json:"role"`
	Host    string   `json:"host"`
	Status  status   `json:"status"`
	Peers   int      `json:"peers"`
	Count   uint64   `json:"count"`
	Rate    *float64 `json:"rate,omitempty"`
	Bytes   *float64 `json:"bytes,omitempty"`
	Last    int64    `json:"last,omitempty"`
	LeftOut uint64   `json:"left_out,omitempty"`
	Causes  []cause  `json:"causes,omitempty"`
}

// tagPage returns the processes that announce a tag, or have had messages of it.
func (m *model) tagPage(t tags.Tag) *tagPage {
	page := &tagPage{Tag: t, Fields: t.Slashed(), Servers: []tagServer{}}
	for _, p := range m.processes {
		had := tagOf(p.row.State, t)
		if had == nil && !p.row.Entry.Tags.Contains(t) {
			continue
		}
		if len(page.Servers) == maxRows {
			page.LeftOut++
			continue
		}
		server := tagServer{ID: p.ID, Name: p.Name, Role: p.Role, Host: p.Host, Status: p.Status}
		if had != nil {
			sum := tag{}
			sum.add(had)
			server.Peers, server.Count, server.Last, server.LeftOut = had.Peers, had.Messages, millis(had.Last), had.LeftOut
			server.Rate, server.Bytes, server.Causes = sum.Rate, sum.Bytes, causesOf(had.Losses)
		}
		page.Servers = append(page.Servers, server)
	}
	for _, known := range m.tags {
		if known.Tag == t {
			page.Sum = known
		}
	}
	return page
}

// tagOf returns what a state has of a tag; nil if nothing.
func tagOf(s *state.State, t tags.Tag) *state.Tag {
	if s == nil {
		return nil
	}
	for _, list := range [][]state.Tag{s.Asked, s.Busiest} {
		for i := range list {
			if list[i].Tag == t {
				return &list[i]
			}
		}
	}
	return nil
}

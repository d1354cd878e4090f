// SPDX-License-Identifier: Apache-2.0

package stateapi

import (
	"fmt"
	"net/url"
	"strconv"

	"tagbus/bus/state"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// ParameterError reports a parameter of a request that makes no sense.
type ParameterError struct {
	Name   string // "peers"
	Value  string // as it came
	Reason string // what is wanted
}

// Error names the parameter and says what is wanted.
func (e *ParameterError) Error() string {
	return fmt.Sprintf("parameter %s: got %q: %s", sanitize.Text(e.Name), sanitize.Cut(e.Value, maxShown), e.Reason)
}

// maxShown is how much of a wrong value is said, in bytes.
const maxShown = 100

// ParseQuestion returns the question of a request: what its query has of peers=N, busiest=N
// and tags=SET.
//
//   - Errors: *ParameterError for the first parameter that is wrong, unknown or given twice.
func ParseQuestion(query string) (q state.Question, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return q, &ParameterError{"query", query, "it is no query: " + sanitize.Error(err)}
	}
	for name, all := range values {
		if len(all) > 1 {
			return q, &ParameterError{name, all[1], "it is given twice"}
		}
		value := all[0]
		switch name {
		case "peers":
			q.Peers, err = number(name, value, state.MaxPeers)
		case "busiest":
			q.Busiest, err = number(name, value, state.MaxTags)
		case "lost_tags":
			q.LostTags, err = number(name, value, state.MaxLostTags)
		case "tags":
			err = setOf(&q.Tags, value)
		default:
			err = &ParameterError{name, value, "there is no such parameter: want peers, busiest, lost_tags or tags"}
		}
		if err != nil {
			return state.Question{}, err
		}
	}
	return q, nil
}

func number(name, value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > most {
		return 0, &ParameterError{name, value, fmt.Sprintf("want a number from 0 to %d", most)}
	}
	return n, nil
}

func setOf(set *tags.Set, value string) error {
	if value == "" {
		return nil
	}
	if err := set.UnmarshalText([]byte(value)); err != nil {
		return &ParameterError{"tags", value, "want tags, ranges FIRST-LAST and patterns with commas between them: " + sanitize.Error(err)}
	}
	return nil
}

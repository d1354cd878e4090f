// SPDX-License-Identifier: Apache-2.0

package members

import (
	"errors"
	"fmt"

	"tagbus/directory/etcd/member"
)

// judge says what is wrong and what to do.
func (s *survey) judge() {
	wrong := func(format string, args ...any) { s.Wrong = append(s.Wrong, fmt.Sprintf(format, args...)) }
	voters, up := 0, 0
	for _, one := range s.Members {
		if one.Role != learns {
			voters++
		}
		if one.Up && one.Role != learns {
			up++
		}
	}
	for _, one := range s.Members {
		switch {
		case one.endpoint == "":
			wrong("%s was added and has not started: start it again with its --data and --join, or remove it: tagbus-directory remove %s", one.Members, one.ID)
		case errors.Is(one.err, errNoCertificate):
			wrong("%s was not asked: %v", one.Name, one.err)
		case member.IsRefusal(one.err):
			wrong("%s does not tell this command how it is: %v", one.Name, refusal(one.err))
		case !one.Up:
			wrong("%s does not answer at %s: start it, its --data is enough; if its folder is lost, run tagbus-directory remove %s, and join with an empty folder", one.Name, one.Clients, one.Name)
		case one.leader == 0:
			wrong("%s sees no leader: it reaches fewer than half of the others", one.Name)
		}
		if one.Problem != "" {
			wrong("%s: %s", one.Name, one.Problem)
		}
		s.judgeSpace(one, wrong)
	}
	if s.Authentication {
		wrong(authenticationOn)
	}
	for _, alarm := range s.alarms {
		wrong("alarm %s: %s", alarm, member.AlarmHint(alarm))
	}
	switch {
	case up > voters/2 && !s.Authentication: // otherwise that is why
		for _, text := range s.unanswered {
			wrong("%s: ask again; the members may be slow, or not reach each other (their logs say so)", text)
		}
	case up <= voters/2:
		wrong("%d of %d members are up: the directory takes no changes until %d are; connections of the bus go on", up, voters, voters/2+1)
	}
	if voters == 2 {
		s.Notes = append(s.Notes, "2 members survive the loss of none: join a third one")
	}
}

// judgeSpace says what is wrong with the database of a member.
func (s *survey) judgeSpace(one state, wrong func(string, ...any)) {
	if one.Quota > 0 && float64(one.Database) > nearQuota*float64(one.Quota) {
		wrong("the database of %s has %s of %s: run tagbus-directory compact, or raise --quota on all members", one.Name, size(one.Database), size(one.Quota))
	}
	if unused := one.Database - one.InUse; unused > muchUnused && unused > one.Database/2 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s of the database of %s are unused: tagbus-directory compact gives them back to the disk", size(unused), one.Name))
	}
}

// size returns bytes for people.
func size(bytes int64) string {
	const unit = 1 << 10
	value, names := float64(bytes), []string{"B", "KiB", "MiB", "GiB"}
	for len(names) > 1 && value >= unit {
		value, names = value/unit, names[1:]
	}
	if names[0] == "B" || value >= 100 {
		return fmt.Sprintf("%.0f %s", value, names[0])
	}
	return fmt.Sprintf("%.1f %s", value, names[0])
}

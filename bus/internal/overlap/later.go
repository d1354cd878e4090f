// SPDX-License-Identifier: Apache-2.0

package overlap

// compareLater puts off the comparison of a publisher with others; nil: with all.
func (c *Choice[S, U]) compareLater(p *Publisher[S], others []*Publisher[S]) {
	if p == c.meeting {
		c.rest = nil
	}
	if others != nil && c.waiting+len(others) > MaxPairs {
		others = nil
	}
	idle := c.late == nil
	if idle {
		c.late = make(map[*Publisher[S]][]*Publisher[S])
	}
	c.waiting += len(others) - len(c.late[p])
	c.late[p] = others
	if idle {
		c.work.Add(c.compareRest) // which may begin at once
	}
}

// compareRest is the job that does what was put off.
func (c *Choice[S, U]) compareRest(budget int) (steps int, done bool) {
	for steps < budget {
		if n := len(c.rest); n > 0 {
			o := c.rest[n-1]
			c.rest = c.rest[:n-1]
			steps += c.compareOne(c.meeting, o)
			continue
		}
		if p := c.meeting; p != nil && !c.forgotten(p) {
			c.CheckAll(p)
			c.Reconsider(p)
		}
		steps++
		if c.meeting, c.rest = c.nextLate(); c.meeting == nil {
			c.late = nil
			return steps, true
		}
		if c.rest == nil && !c.forgotten(c.meeting) {
			others, n := c.others(c.meeting)
			c.rest, steps = others, steps+n
		}
	}
	return steps, false
}

// nextLate takes a publisher that is to be compared; nil: there is none.
func (c *Choice[S, U]) nextLate() (*Publisher[S], []*Publisher[S]) {
	for p, others := range c.late {
		delete(c.late, p)
		c.waiting -= len(others)
		return p, others
	}
	return nil, nil
}

// compareOne is compare, unless one of the two is forgotten.
func (c *Choice[S, U]) compareOne(a, b *Publisher[S]) (steps int) {
	if c.forgotten(a) || c.forgotten(b) {
		return 1
	}
	return c.compare(a, b)
}

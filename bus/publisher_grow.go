package bus

// movedPerTurn is the number of slots that one turn of the loop moves when the map
// of the publisher's tags has grown: some tenths of a millisecond under mu.
const movedPerTurn = 4096

// finishGrowing makes the loop move the map of the tags that has just grown. Without
// further tags it could stay half moved for ever, and until then each message costs a
// second lookup. mu is held.
func (fan *fanout) finishGrowing() {
	if fan.growing || !fan.tags.Moving() {
		return
	}
	fan.growing = fan.loop.Post(func() {
		fan.mu.Lock()
		defer fan.mu.Unlock()
		fan.growing = false
		fan.tags.Move(movedPerTurn)
		fan.finishGrowing()
	})
}

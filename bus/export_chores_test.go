package bus

// SetSliceSteps changes the budget of the slices of all chores, until restore.
func SetSliceSteps(n int) (restore func()) {
	before := sliceSteps
	sliceSteps = n
	return func() { sliceSteps = before }
}

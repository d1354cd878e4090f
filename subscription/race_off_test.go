//go:build !race

package subscription_test

const raceEnabled = false

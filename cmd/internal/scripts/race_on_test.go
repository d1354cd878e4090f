//go:build race

package scripts_test

const raceEnabled = true

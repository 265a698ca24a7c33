//go:build long

package main

// size is how many of something a test makes: as many as the scenario names.
func size(_, full int) int { return full }

//go:build !long

package main

// size is how many of something a test makes: with the tag long as many as the scenario names, else fewer, because the race
// detector is ten times slower.
func size(small, _ int) int { return small }

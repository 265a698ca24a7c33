// Package depcheck holds the direction in which packages may import each other, as rules_test.go lists it. Its test fails
// when an arrow points the wrong way, when a package has no row, or when a slim program gains a heavy library. The drawing
// is in docs/design/architecture.md.
package depcheck

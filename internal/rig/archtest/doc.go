// Package archtest holds the rules of the house as tests: who may import whom,
// and what every file and package looks like.
//
// The rows of docs/spec that are left are held to their citations and tests, and no comment cites one that is gone
// (spec.go).
//
// The import table is in table.go. A package that is not in it fails the test,
// so that a new package is a decision somebody wrote down.
package archtest

// Package archtest holds the rules of the house as tests: who may import whom,
// and what every file and package looks like.
//
// The import table is in table.go. A package that is not in it fails the test,
// so that a new package is a decision somebody wrote down.
package archtest

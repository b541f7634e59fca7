// Package archtest holds the rules of the house as tests: which way imports run, and what files, pages and workflows
// look like. A new package is put into a layer, so that its place is a decision somebody wrote down.
package archtest

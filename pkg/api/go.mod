// The Go client of ironic-throttle. It is a module of its own and requires no other, so it changes no version of the
// program that requires it. Its releases are tagged pkg/api/vX.Y.Z.
module github.com/ironic-throttle/ironic-throttle/pkg/api

go 1.26.0

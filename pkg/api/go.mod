// The client of ironic-throttle for controllers: a module of its own, without any other, so
// that whoever requires it gets nothing else in another version. Released as pkg/api/vX.Y.Z.
module github.com/ironic-throttle/ironic-throttle/pkg/api

go 1.26.0

// Package ironicsuite is the black-box suite that says what an Ironic is, as
// far as anything here depends on it. The same cases run against a real Ironic
// (make e2e), which is right by definition, and against internal/rig/fakeironic
// (make test), whose every other answer is a defect of the fake.
//
// A case speaks HTTP and compares status, the headers that matter and decoded
// bodies; ids and times are compared by what they mean. Cases share nothing, so
// a target may serve all of them with one Ironic or each with a new one.
package ironicsuite
